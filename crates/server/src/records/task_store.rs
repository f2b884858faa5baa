//! The records of tasks: of calls that were answered before they have ended, and of ended ones until their time is up.
//!
//! The calls themselves stay in their process (`kept_tasks.rs`). [`MemoryTaskStore`], the default, keeps the records of
//! one process within the limits that callers share.

use std::fmt;
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::records::clock::now;
use crate::records::lease_store::StoreAnswer;
use crate::records::task_record::{TaskKey, TaskRecord};
use crate::records::task_table::{TaskBounds, TaskTable};
use crate::records::task_update::TaskUpdate;
use protomcp_session::TaskLimits;

/// Keeps the records of tasks.
///
/// `insert`, `update` and `remove` enter a write. They are called while calls run, some under the lock of a task, so
/// they must not block: a store in another process has a queue for that, and decides about the limits of results by
/// its own knowledge. The writes of one task take effect in the order in which they were entered, although nothing
/// waits for them, except for the future of `insert`. A process reads its own writes.
///
/// The process that inserts a task also removes it when its time is up. A store that processes share forgets it by
/// itself as well, because that process may have died.
///
/// The bounds of a store are its own. A server limits only the calls that run as tasks in its process.
pub trait TaskStore: fmt::Debug + Send + Sync + 'static {
    /// Enters a new task, whose client is answered with it when the store keeps it. Returns the ids of other tasks that
    /// the store has forgotten for that; `None`: there is no room for it.
    ///
    /// The server waits 5 seconds for the answer. Without one, and after an error, it calls `remove`, because the store
    /// may have the task nevertheless.
    fn insert(&self, task: TaskRecord) -> StoreAnswer<'static, Option<Vec<String>>>;

    /// Enters a change of a task: its new record. The record of a task that the store does not keep is ignored.
    ///
    /// The end of a task is entered before the [`NoticeBus`](crate::NoticeBus) gets the notice of it. If
    /// processes share both, the process that gets the notice reads the end: the notice follows the write.
    fn update(&self, task: TaskRecord) -> TaskUpdate;

    /// The task with this id, if it is kept and this is its key. After an error the caller is told to ask again.
    fn find<'a>(&'a self, id: &'a str, key: &'a TaskKey) -> StoreAnswer<'a, Option<TaskRecord>>;

    /// The tasks with this key, oldest first. Only sessions list their tasks.
    fn list<'a>(&'a self, key: &'a TaskKey) -> StoreAnswer<'a, Vec<TaskRecord>>;

    /// Enters that a task is forgotten.
    fn remove(&self, id: &str);
}

/// Keeps records in memory, within [`TaskLimits`]: the records of sessions together, and as many without a session.
#[derive(Debug)]
pub struct MemoryTaskStore {
    sessions: Mutex<TaskTable>,
    stateless: Mutex<TaskTable>,
}

impl MemoryTaskStore {
    /// No task yet.
    #[must_use]
    pub fn new(limits: &TaskLimits) -> Self {
        let table =
            |of_one| Mutex::new(TaskTable::new(TaskBounds { tasks: limits.max, of_one, bytes: limits.max_bytes }));
        Self { sessions: table(limits.max_per_session), stateless: table(usize::MAX) }
    }

    fn table(&self, key: &TaskKey) -> MutexGuard<'_, TaskTable> {
        let table = match key {
            TaskKey::Session(..) => &self.sessions,
            TaskKey::Principal(_) => &self.stateless,
        };
        table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// With the default limits.
impl Default for MemoryTaskStore {
    fn default() -> Self {
        Self::new(&TaskLimits::default())
    }
}

impl TaskStore for MemoryTaskStore {
    fn insert(&self, task: TaskRecord) -> StoreAnswer<'static, Option<Vec<String>>> {
        Box::pin(ready(Ok(self.table(&task.key).insert(task, now()))))
    }

    fn update(&self, task: TaskRecord) -> TaskUpdate {
        self.table(&task.key).update(task)
    }

    fn find<'a>(&'a self, id: &'a str, key: &'a TaskKey) -> StoreAnswer<'a, Option<TaskRecord>> {
        Box::pin(ready(Ok(self.table(key).find(id, key, now()))))
    }

    fn list<'a>(&'a self, key: &'a TaskKey) -> StoreAnswer<'a, Vec<TaskRecord>> {
        Box::pin(ready(Ok(self.table(key).list(key, now()))))
    }

    fn remove(&self, id: &str) {
        for table in [&self.sessions, &self.stateless] {
            table.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        }
    }
}
