//! Stateless calls that continue as tasks, and the requests about them (MCP 2026-07-28, extension
//! `io.modelcontextprotocol/tasks`).

use std::sync::Arc;

use protomcp_types::{ErrorObject, TaskRequest};

use crate::context::Context;
use crate::mrtr::StatelessTask;
use crate::server::clock::now;
use crate::server::handle::ServerHandle;
use crate::server::peer::Peer;
use crate::task_store::Belongs;
use protomcp_session::{Reservation, TaskOptions, TaskView};

/// Keeps a call as a task. `None`: there is no room, or the call no longer asks to be one; it then stays with its
/// request.
pub(super) fn detach(sessions: &ServerHandle, peer: &Peer, call: &Context, options: TaskOptions) -> Option<TaskView> {
    let mrtr = call.mrtr().filter(|_| !sessions.is_shut_down())?;
    let now = now();
    let options = TaskOptions { ttl: options.ttl.min(sessions.limits().tasks.max_ttl), ..options };
    let until = now + options.ttl;
    let belongs = Belongs { key: peer.principal.clone(), owner: peer.owner.clone() };
    // The bytes of the request are released when the call has ended.
    let known = call.extensions().without::<Reservation>();
    let task = StatelessTask::new(mrtr, Arc::downgrade(&call.canceller()), known);
    let Some(id) = sessions.keep_task(belongs, now, until, task) else {
        tracing::warn!("too many tasks: a call goes on without being one");
        return None;
    };
    let task = mrtr.detach(&id, options, sessions.task_notifier());
    if task.is_none() {
        sessions.task_store().forget(&id);
    }
    task
}

/// Removes the ids of tasks that do not exist, or that the peer did not begin.
pub(super) fn retain_known(sessions: &ServerHandle, peer: &Peer, ids: &mut Vec<String>) {
    let now = now();
    ids.retain(|id| sessions.task_store().find(id, &peer.principal, now).is_some());
}

/// The status of a task that the peer began.
pub(super) fn view(sessions: &ServerHandle, peer: &Peer, id: &str) -> Option<TaskView> {
    sessions.task_store().find(id, &peer.principal, now())?.mrtr().view()
}

/// Handles a request about a task. Returns the task that answers it; `None`: the answer is an empty result.
pub(super) fn answer(
    sessions: &ServerHandle,
    peer: &Peer,
    request: TaskRequest,
) -> Result<Option<TaskView>, ErrorObject> {
    let Some(task) = sessions.task_store().find(request.task_id(), &peer.principal, now()) else {
        return Err(ErrorObject::invalid_params(format!("unknown task {:?}", request.task_id())));
    };
    match request {
        TaskRequest::Get { .. } => {
            let view = task.mrtr().view().ok_or_else(|| ErrorObject::internal("the task is gone"));
            return view.map(Some);
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
