//! Stateless calls that continue as tasks, and the requests about them (MCP 2026-07-28, extension
//! `io.modelcontextprotocol/tasks`).
//!
//! A running task is queried and answered in its call, an ended one in its record. The store may have to ask another
//! process for a record, so answers are futures; the ones of the local store are ready immediately.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use protomcp_types::{ErrorObject, SubscriptionFilter, TaskRequest};

use crate::call::context::Context;
use crate::call::kept_tasks::{NewTask, PendingTask, TaskCall, granted_ttl};
use crate::call::mrtr::task::StatelessTask;
use crate::call::session_queue::SessionQueue;
use crate::records::clock::now;
use crate::records::overload;
use crate::records::store_error::StoreError;
use crate::records::store_future::StoreFuture;
use crate::records::task_record::{TaskKey, TaskRecord};
use crate::records::task_writer::TaskWriter;
use crate::serve::peer::Peer;
use crate::state::handle::ServerHandle;
use protomcp_fair::Reservation;
use protomcp_session::{TaskOptions, TaskState, TaskView, Topic};

/// The time for which the store may take to find a task.
const WAIT_LIMIT: Duration = Duration::from_secs(30);

/// The answer to a request about a task: the task, or an empty result.
pub(super) type TaskReply = Result<Option<TaskView>, ErrorObject>;

/// The parts of a task that its call needs to become one.
#[derive(Debug)]
pub(super) struct NewCall {
    id: String,
    options: TaskOptions,
    writer: TaskWriter,
}

/// Reserves a task for a call. `None`: there is no room, and the call stays with its request.
pub(super) fn reserve(
    sessions: &ServerHandle,
    peer: &Peer,
    call: &Context,
    options: TaskOptions,
) -> Option<PendingTask<NewCall>> {
    let mrtr = call.mrtr().filter(|_| !sessions.is_shut_down())?;
    let options = TaskOptions { ttl: granted_ttl(options.ttl, &sessions.limits().tasks), ..options };
    // The bytes of the request are released when the call has ended.
    let known = call.extensions().without::<Reservation>();
    let new = NewTask { key: key(peer), owner: peer.owner.clone(), options, known };
    let task = StatelessTask::new(mrtr, Arc::downgrade(&call.canceller()));
    let make =
        |state: &TaskState, writer| (NewCall { id: state.id().to_owned(), options, writer }, TaskCall::Stateless(task));
    sessions.keep_task(new, now(), make)
}

/// The task that the store has decided to keep.
pub(super) fn kept(task: Result<Option<NewCall>, StoreError>) -> Option<NewCall> {
    match task {
        Ok(Some(task)) => return Some(task),
        Ok(None) => tracing::warn!("too many tasks: a call goes on without being one"),
        Err(error) => tracing::warn!(%error, "a call goes on without being a task"),
    }
    None
}

/// The call becomes the task, which the store keeps. `None`: the call no longer asks to be one.
pub(super) fn detach(sessions: &ServerHandle, call: &Context, task: NewCall) -> Option<TaskView> {
    let NewCall { id, options, writer } = task;
    let task = call.mrtr()?.detach(&id, options, sessions.task_notifier(writer));
    if task.is_none() {
        sessions.tasks().forget(&id);
    } else if sessions.is_shut_down() {
        // The check of the tasks at the shutdown may have come before.
        sessions.sweep();
    }
    task
}

/// Removes the ids of tasks that do not exist, or that the peer did not begin, from a filter. `Some`: the store has not
/// answered yet, and the filter has no tasks until then.
pub(super) fn retain_known(
    sessions: &ServerHandle,
    peer: &Peer,
    filter: &mut SubscriptionFilter,
) -> Option<StoreFuture<'static, Vec<String>>> {
    if filter.task_ids.is_empty() {
        return None;
    }
    let mut known = known(sessions, peer, std::mem::take(&mut filter.task_ids));
    match (&mut known).now_or_never() {
        Some(ids) => {
            filter.task_ids = ids;
            None
        }
        None => Some(known),
    }
}

/// The ones among these ids that belong to tasks that the peer began.
fn known(sessions: &ServerHandle, peer: &Peer, ids: Vec<String>) -> StoreFuture<'static, Vec<String>> {
    let (sessions, key) = (sessions.clone(), key(peer));
    Box::pin(async move {
        let found = join_all(ids.iter().map(|id| find(&sessions, id, &key))).await;
        // Without an answer a task may exist.
        ids.into_iter().zip(found).filter_map(|(id, found)| (!matches!(found, Ok(None))).then_some(id)).collect()
    })
}

/// The status of a task that the peer began.
fn view(sessions: &ServerHandle, peer: &Peer, id: &str) -> StoreFuture<'static, Option<TaskView>> {
    let (sessions, key, id) = (sessions.clone(), key(peer), id.to_owned());
    Box::pin(async move { find(&sessions, &id, &key).await.ok()??.view() })
}

/// The status of a task that has changed, for its listeners; a resource has none. `None`: the store is asked, and the
/// queue gets what it finds.
pub(super) fn changed(
    sessions: &ServerHandle,
    peer: &Peer,
    queue: &Arc<SessionQueue>,
    topic: Topic,
    id: &Arc<str>,
) -> Option<Option<TaskView>> {
    if topic == Topic::Resource {
        return Some(None);
    }
    let mut task = view(sessions, peer, id);
    let found = (&mut task).now_or_never();
    if found.is_none() {
        let (queue, id) = (Arc::clone(queue), Arc::clone(id));
        tokio::spawn(async move { queue.task_found(id, task.await) });
    }
    found
}

/// Carries out a request about a task.
pub(super) fn answer(sessions: &ServerHandle, peer: &Peer, request: TaskRequest) -> StoreFuture<'static, TaskReply> {
    let (sessions, key) = (sessions.clone(), key(peer));
    Box::pin(async move {
        match find(&sessions, request.task_id(), &key).await {
            Ok(Some(Found::Running(task))) => carry_out(&task, request),
            Ok(Some(Found::Kept(record))) => carry_out_kept(&sessions, &record, &request),
            Ok(None) => Err(ErrorObject::invalid_params(format!("unknown task {:?}", request.task_id()))),
            Err(_) => Err(overload::no_task_store()),
        }
    })
}

/// A task that was found.
enum Found {
    /// It runs in this process.
    Running(StatelessTask),
    /// It has ended, or runs in another process.
    Kept(Box<TaskRecord>),
}

impl Found {
    fn view(&self) -> Option<TaskView> {
        match self {
            Self::Running(task) => task.mrtr().view(),
            Self::Kept(record) => Some(record.view()),
        }
    }
}

async fn find(sessions: &ServerHandle, id: &str, key: &TaskKey) -> Result<Option<Found>, StoreError> {
    if let Some(TaskCall::Stateless(task)) = sessions.tasks().call(id, key, now()) {
        return Ok(Some(Found::Running(task)));
    }
    let found = tokio::time::timeout(WAIT_LIMIT, sessions.tasks().find(id, key.clone())).await;
    let Ok(record) = found else {
        tracing::warn!("the store of tasks has not answered within {WAIT_LIMIT:?}");
        return Err(StoreError::Unavailable);
    };
    let may_be_served = |record: &TaskRecord| record.node == *sessions.node() || !sessions.has_own_tasks_only();
    Ok(record?.filter(may_be_served).map(|record| Found::Kept(Box::new(record))))
}

fn carry_out(task: &StatelessTask, request: TaskRequest) -> TaskReply {
    match request {
        TaskRequest::Get { .. } => {
            return task.mrtr().view().ok_or_else(|| ErrorObject::internal("the task is gone")).map(Some);
        }
        TaskRequest::Update { responses, .. } => {
            let responses = responses.into_iter().collect();
            task.mrtr().check(&responses)?;
            task.mrtr().answer(responses);
        }
        TaskRequest::Cancel { .. } => {
            if task.mrtr().cancel() {
                task.cancel();
            }
        }
    }
    Ok(None)
}

/// A task that has ended takes no answers. One that runs in another process is answered and cancelled there.
fn carry_out_kept(sessions: &ServerHandle, record: &TaskRecord, request: &TaskRequest) -> TaskReply {
    match request {
        TaskRequest::Get { .. } => return Ok(Some(record.view())),
        _ if record.state.is_running() => return Err(overload::in_other_process(&record.node)),
        TaskRequest::Update { .. } => sessions.task_changed(record.id()),
        TaskRequest::Cancel { .. } => {}
    }
    Ok(None)
}

fn key(peer: &Peer) -> TaskKey {
    TaskKey::Principal(peer.principal.clone())
}
