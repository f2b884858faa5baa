//! The tasks that this process has begun: their calls and receivers, in addition to the records in the store.
//!
//! A running task is its call; requests about it go to the call, and each change is written to the store. An ended task
//! is its record. An entry stays until the time of the task is up, and then both are removed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use crate::call::mrtr::task::StatelessTask;
use crate::call::session_task::SessionTask;
use crate::records::node::NodeId;
use crate::records::store_future::StoreFuture;
use crate::records::task_record::{TaskKey, TaskRecord};
use crate::records::task_store::TaskStore;
use crate::records::task_writer::TaskWriter;
use protomcp_fair::Owner;
use protomcp_session::{Extensions, TaskEra, TaskOptions, TaskState};

/// The tasks of one process.
#[derive(Debug)]
pub(crate) struct KeptTasks {
    node: NodeId,
    store: Arc<dyn TaskStore>,
    /// The most entries, which only a store without limits reaches.
    max: usize,
    entries: Mutex<HashMap<String, Entry>>,
}

#[derive(Debug)]
struct Entry {
    key: TaskKey,
    until: Instant,
    call: TaskCall,
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
    /// The task has ended.
    Ended,
}

/// A task that begins.
#[derive(Debug)]
pub(crate) struct NewTask {
    pub(crate) key: TaskKey,
    pub(crate) owner: Owner,
    pub(crate) options: TaskOptions,
    pub(crate) known: Extensions,
}

impl KeptTasks {
    pub(crate) fn new(node: NodeId, store: Arc<dyn TaskStore>, max: usize) -> Self {
        Self { node, store, max, entries: Mutex::default() }
    }

    /// Keeps a task, whose call is made for its state; `None`: there is no room.
    pub(crate) fn begin<T>(
        &self,
        task: NewTask,
        now: Instant,
        make: impl FnOnce(&TaskState, TaskWriter) -> (T, TaskCall),
    ) -> Option<T> {
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
        let (made, call) = make(&state, writer);
        // Before the store has it, which may evict it immediately for a task that begins at the same time.
        self.entries().insert(id.clone(), Entry { key, until: now + options.ttl, call, known });
        let evicted = self.store.insert(record);
        self.evict(evicted.as_deref().unwrap_or_default());
        if evicted.is_none() || self.entries().len() > self.max {
            self.forget(&id);
            return None;
        }
        Some(made)
    }

    /// The call of a task that this process has begun, if this is its key.
    pub(crate) fn call(&self, id: &str, key: &TaskKey, now: Instant) -> Option<TaskCall> {
        let entries = self.entries();
        entries.get(id).filter(|entry| entry.until > now && entry.key == *key).map(|entry| entry.call.clone())
    }

    /// The record of a task. One that should run in this process and does not is not found.
    pub(crate) fn find(self: &Arc<Self>, id: &str, key: TaskKey) -> StoreFuture<'static, Option<TaskRecord>> {
        let (tasks, id) = (Arc::clone(self), id.to_owned());
        Box::pin(async move {
            let record = tasks.store.find(&id, &key).await?;
            (record.node != tasks.node || !record.state.is_running()).then_some(record)
        })
    }

    /// The records of all tasks with a key, oldest first.
    pub(crate) async fn list(&self, key: &TaskKey) -> Vec<TaskRecord> {
        self.store.list(key).await
    }

    /// Knowledge of the transport about the request that has begun a task.
    pub(crate) fn known(&self, id: &str, now: Instant) -> Option<Extensions> {
        self.entries().get(id).filter(|entry| entry.until > now).map(|entry| entry.known.clone())
    }

    /// A task has ended, and its record has been written.
    pub(crate) fn ended(&self, id: &str) {
        let ended = self.entries().get_mut(id).map(|entry| std::mem::replace(&mut entry.call, TaskCall::Ended));
        // Outside of the lock.
        drop(ended);
    }

    /// The store has forgotten these tasks: their calls are cancelled.
    pub(crate) fn evict(&self, ids: &[String]) {
        for id in ids {
            let entry = self.entries().remove(id);
            if let Some(entry) = entry {
                tracing::debug!(task = id, "a task is forgotten to make room");
                entry.call.evict();
            }
        }
    }

    /// Forgets a task that has not begun.
    pub(crate) fn forget(&self, id: &str) {
        let entry = self.entries().remove(id);
        self.store.remove(id);
        drop(entry);
    }

    /// Forgets and cancels all tasks with a key.
    pub(crate) fn close(&self, key: &TaskKey) {
        let closed: Vec<_> = self.entries().extract_if(|_, entry| entry.key == *key).collect();
        for (id, entry) in closed {
            self.store.remove(&id);
            entry.call.evict();
        }
    }

    /// Forgets the tasks whose time is up. The calls of sessions watch the time themselves.
    pub(crate) fn expire(&self, now: Instant) {
        let expired: Vec<_> = self.entries().extract_if(|_, entry| entry.until <= now).collect();
        for (id, entry) in expired {
            self.store.remove(&id);
            if let TaskCall::Stateless(task) = entry.call {
                task.cancel();
            }
        }
    }

    /// Cancels the calls of tasks without a session. Their records stay: clients may still ask for them.
    pub(crate) fn cancel_stateless(&self) {
        let calls: Vec<_> = self.entries().values().map(|entry| entry.call.clone()).collect();
        for call in calls {
            if let TaskCall::Stateless(task) = call {
                task.cancel();
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskCall {
    /// The task is no longer kept.
    fn evict(self) {
        match self {
            Self::Session(task) => task.evict(),
            Self::Stateless(task) => task.cancel(),
            Self::Ended => {}
        }
    }
}
