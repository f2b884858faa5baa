//! The tasks that this process has begun: their calls and receivers, in addition to the records in the store.
//!
//! A running task is its call; requests about it go to the call, and each change is written to the store. An ended task
//! is its record. An entry stays until the time of the task is up, and then both are removed.

use std::collections::{HashMap, HashSet};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::Notify;
use tokio::time::{Sleep, sleep, timeout};

use crate::call::mrtr::task::StatelessTask;
use crate::call::session_task::SessionTask;
use crate::records::clock::{LONGEST, now};
use crate::records::lease_store::StoreAnswer;
use crate::records::live_leases::LiveLeases;
use crate::records::node::NodeId;
use crate::records::overload;
use crate::records::store_error::StoreError;
use crate::records::stores::Stores;
use crate::records::task_record::{TaskKey, TaskRecord};
use crate::records::task_store::TaskStore;
use crate::records::task_writer::TaskWriter;
use protomcp_fair::Owner;
use protomcp_session::{Extensions, TaskEra, TaskLimits, TaskOptions, TaskState};

/// The tasks of one process.
#[derive(Debug)]
pub(crate) struct KeptTasks {
    node: NodeId,
    store: Arc<dyn TaskStore>,
    /// `None`: the other processes are not known.
    leases: Option<Arc<LiveLeases>>,
    /// The most entries, which only a store without limits reaches.
    max: usize,
    entries: Mutex<HashMap<String, Entry>>,
    /// Told when a call may have ended.
    ends: Notify,
}

#[derive(Debug)]
struct Entry {
    key: TaskKey,
    until: Instant,
    /// `None`: it has not begun, or has ended.
    call: Option<TaskCall>,
    /// Knowledge of the transport about the request that has begun it.
    known: Extensions,
}

/// The call of a task.
#[derive(Debug, Clone)]
pub(crate) enum TaskCall {
    /// A task of a session.
    Session(Arc<SessionTask>),
    /// A task without a session.
    Stateless(StatelessTask),
}

/// The time that the store may take to keep a task, and the store of leases to name the processes.
const STORE_LIMIT: Duration = Duration::from_secs(5);

/// The time for which a task is kept that asks for this one.
pub(crate) fn granted_ttl(wish: Duration, limits: &TaskLimits) -> Duration {
    wish.min(limits.max_ttl).min(LONGEST)
}

/// A task that begins.
#[derive(Debug)]
pub(crate) struct NewTask {
    pub(crate) key: TaskKey,
    pub(crate) owner: Owner,
    /// With a time that is granted.
    pub(crate) options: TaskOptions,
    pub(crate) known: Extensions,
}

impl KeptTasks {
    /// `store` is the store of tasks among the stores, or the default.
    pub(crate) fn new(stores: &Stores, store: Arc<dyn TaskStore>, max: usize) -> Self {
        let (node, leases) = (stores.node.clone(), stores.leases.clone());
        Self { node, store, leases, max, entries: Mutex::default(), ends: Notify::new() }
    }

    /// Reserves an entry for a task, whose call is made for its state, and enters its record; `None`: this process has
    /// too many.
    pub(crate) fn begin<T>(
        self: &Arc<Self>,
        task: NewTask,
        now: Instant,
        make: impl FnOnce(&TaskState, TaskWriter) -> (T, TaskCall),
    ) -> Option<PendingTask<T>> {
        let NewTask { key, owner, options, known } = task;
        let era = match key {
            TaskKey::Session(..) => TaskEra::Session,
            TaskKey::Principal(_) => TaskEra::Stateless,
        };
        let mut number = [0; 16];
        getrandom::fill(&mut number).ok()?;
        let id = format!("{:032x}", u128::from_be_bytes(number));
        let state = TaskState::new(era, &*id, options, SystemTime::now());
        let store = Arc::clone(&self.store);
        let writer = TaskWriter { store, key: key.clone(), owner, node: self.node.clone() };
        let record = writer.record(state.clone(), None);
        let made = make(&state, writer);
        {
            let mut entries = self.entries();
            if entries.len() >= self.max {
                return None;
            }
            // Before the store has it, which may evict it immediately for a task that begins at the same time.
            entries.insert(id.clone(), Entry { key, until: now + options.ttl, call: None, known });
        }
        let insert = self.store.insert(record);
        Some(PendingTask { tasks: Arc::clone(self), id, made: Some(made), insert, limit: None })
    }

    /// The call of a task that this process has begun, if this is its key.
    pub(crate) fn call(&self, id: &str, key: &TaskKey, now: Instant) -> Option<TaskCall> {
        let entries = self.entries();
        entries.get(id).filter(|entry| entry.until > now && entry.key == *key)?.call.clone()
    }

    /// The record of a task. One that should run in this process and does not is not found, nor is one whose time is up
    /// in this process: the store has counted it from the moment when it got the task.
    pub(crate) fn find(self: &Arc<Self>, id: &str, key: TaskKey) -> StoreAnswer<'static, Option<TaskRecord>> {
        let (tasks, id) = (Arc::clone(self), id.to_owned());
        Box::pin(async move {
            if tasks.has_expired(&id) {
                return Ok(None);
            }
            let Some(record) = tasks.store.find(&id, &key).await? else { return Ok(None) };
            if record.node == tasks.node && record.state.is_running() {
                return Ok(None);
            }
            let gone = tasks.gone(std::slice::from_ref(&record)).await;
            if gone.is_empty() {
                return Ok(Some(record));
            }
            let found = tasks.store.find(&id, &key).await?;
            Ok(found.map(|record| without(&gone, record)))
        })
    }

    /// The records of all tasks with a key, oldest first.
    pub(crate) async fn list(&self, key: &TaskKey) -> Result<Vec<TaskRecord>, StoreError> {
        let mut records = self.store.list(key).await?;
        let gone = self.gone(&records).await;
        if !gone.is_empty() {
            records = self.store.list(key).await?.into_iter().map(|record| without(&gone, record)).collect();
        }
        records.retain(|record| !self.has_expired(record.id()));
        Ok(records)
    }

    /// True if the time of a task that this process has begun is up.
    fn has_expired(&self, id: &str) -> bool {
        self.entries().get(id).is_some_and(|entry| entry.until <= now())
    }

    /// The processes that should run some of these tasks and have ended. Their records are then read again: a process
    /// may have written the end of a task before its own end. Without an answer of the store of leases there are none.
    async fn gone(&self, records: &[TaskRecord]) -> HashSet<NodeId> {
        let Some(leases) = &self.leases else { return HashSet::new() };
        let elsewhere = records.iter().filter(|record| record.state.is_running() && record.node != self.node);
        let nodes: HashSet<_> = elsewhere.map(|record| record.node.clone()).collect();
        if nodes.is_empty() {
            return nodes;
        }
        match timeout(STORE_LIMIT, leases.gone(nodes)).await {
            Ok(Ok(gone)) => gone,
            Ok(Err(_)) | Err(_) => HashSet::new(),
        }
    }

    /// Knowledge of the transport about the request that has begun a task.
    pub(crate) fn known(&self, id: &str, now: Instant) -> Option<Extensions> {
        self.entries().get(id).filter(|entry| entry.until > now).map(|entry| entry.known.clone())
    }

    /// A task has ended, and its record has been written.
    pub(crate) fn ended(&self, id: &str) {
        let ended = self.entries().get_mut(id).and_then(|entry| entry.call.take());
        // Outside of the lock.
        drop(ended);
        self.ends.notify_waiters();
    }

    /// Waits until no task without a session runs.
    pub(crate) async fn stateless_ended(&self) {
        loop {
            let mut end = pin!(self.ends.notified());
            end.as_mut().enable();
            if !self.has_stateless() {
                return;
            }
            end.await;
        }
    }

    /// True if a task without a session runs.
    pub(crate) fn has_stateless(&self) -> bool {
        self.entries().values().any(|entry| matches!(entry.call, Some(TaskCall::Stateless(_))))
    }

    /// The store has forgotten these tasks: their calls are cancelled.
    pub(crate) fn evict(&self, ids: &[String]) {
        for id in ids {
            let entry = self.entries().remove(id);
            if let Some(entry) = entry {
                tracing::debug!(task = id, "a task is forgotten to make room");
                entry.evict();
            }
        }
        self.ends.notify_waiters();
    }

    /// Forgets a task that has not begun.
    pub(crate) fn forget(&self, id: &str) {
        let entry = self.entries().remove(id);
        self.store.remove(id);
        drop(entry);
        self.ends.notify_waiters();
    }

    /// Forgets and cancels all tasks with a key.
    pub(crate) fn close(&self, key: &TaskKey) {
        let closed: Vec<_> = self.entries().extract_if(|_, entry| entry.key == *key).collect();
        for (id, entry) in closed {
            self.store.remove(&id);
            entry.evict();
        }
        self.ends.notify_waiters();
    }

    /// Forgets the tasks whose time is up. The calls of sessions watch the time themselves.
    pub(crate) fn expire(&self, now: Instant) {
        let expired: Vec<_> = self.entries().extract_if(|_, entry| entry.until <= now).collect();
        for (id, entry) in expired {
            self.store.remove(&id);
            if let Some(TaskCall::Stateless(task)) = entry.call {
                task.cancel();
            }
        }
        self.ends.notify_waiters();
    }

    /// Ends the tasks without a session, because the server shuts down. Their records stay: clients may still ask for
    /// them.
    pub(crate) fn end_stateless(&self) {
        let calls: Vec<_> = self.entries().values().filter_map(|entry| entry.call.clone()).collect();
        for call in calls {
            if let TaskCall::Stateless(task) = call {
                task.mrtr().fail(overload::shutting_down());
                task.cancel();
            }
        }
        // One that is about to begin has not ended yet.
        let left: Vec<_> = self.entries().values_mut().filter_map(Entry::take_stateless).collect();
        left.iter().for_each(StatelessTask::cancel);
        self.ends.notify_waiters();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The record of a task after these processes have ended: one that runs there has failed.
fn without(gone: &HashSet<NodeId>, mut record: TaskRecord) -> TaskRecord {
    if gone.contains(&record.node) {
        record.state.end(Err(overload::replica_gone()), SystemTime::now());
    }
    record
}

impl Entry {
    /// The call of a task without a session, which the entry has no more.
    fn take_stateless(&mut self) -> Option<StatelessTask> {
        match self.call.take() {
            Some(TaskCall::Stateless(task)) => Some(task),
            call => {
                self.call = call;
                None
            }
        }
    }

    /// The task is no longer kept.
    fn evict(self) {
        match self.call {
            Some(TaskCall::Session(task)) => task.evict(),
            Some(TaskCall::Stateless(task)) => task.cancel(),
            None => {}
        }
    }
}

/// A task whose record is on its way to the store. It begins when the store keeps the record: the output is what was
/// made for it. `None`: there is no room, or it was forgotten in between. [`StoreError::Unavailable`]: the store has
/// not answered in time. If the task does not begin, dropping this forgets it.
#[must_use = "dropping it forgets the task"]
pub(crate) struct PendingTask<T> {
    tasks: Arc<KeptTasks>,
    id: String,
    /// With its call; `None`: the task has begun.
    made: Option<(T, TaskCall)>,
    insert: StoreAnswer<'static, Option<Vec<String>>>,
    /// `None`: the store was not waited for.
    limit: Option<Pin<Box<Sleep>>>,
}

impl<T> PendingTask<T> {
    fn start(&mut self) -> Option<T> {
        let mut entries = self.tasks.entries();
        let entry = entries.get_mut(&self.id)?;
        let (made, call) = self.made.take()?;
        entry.call = Some(call);
        Some(made)
    }
}

impl<T: Unpin> Future for PendingTask<T> {
    type Output = Result<Option<T>, StoreError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let answer = match this.insert.as_mut().poll(cx) {
            Poll::Ready(answer) => answer,
            Poll::Pending => {
                ready!(this.limit.get_or_insert_with(|| Box::pin(sleep(STORE_LIMIT))).as_mut().poll(cx));
                Err(StoreError::Unavailable)
            }
        };
        Poll::Ready(answer.map(|kept| {
            this.tasks.evict(&kept?);
            this.start()
        }))
    }
}

impl<T> Drop for PendingTask<T> {
    fn drop(&mut self) {
        if self.made.is_some() {
            self.tasks.forget(&self.id);
        }
    }
}
