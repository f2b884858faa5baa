//! The records of tasks, in a store.

use std::sync::Arc;

use futures_util::FutureExt;
use protomcp_server::{
    MemoryTaskStore, StoreAnswer, StoreError, TaskKey, TaskLimits, TaskRecord, TaskStore, TaskUpdate,
};

use crate::task_writes::TaskWrites;

/// The records of tasks in a Redis or Valkey.
///
/// A process has the records of the tasks that it runs in its memory, within its [`TaskLimits`], and writes those
/// without a session to the store as well. Other processes read them there: the status of a task that runs, and the
/// result of one that has ended, also when its process has ended, until the time of the task is up. Tasks of a session
/// are in the memory of their process alone.
///
/// A task begins when the store has it. A change that the store does not take is sent again, after a second at least,
/// until the time of the task is up; only the last change of a task waits. The store has no limit for the tasks of
/// processes that have ended, other than their time.
#[derive(Debug)]
pub struct RedisTasks {
    own: MemoryTaskStore,
    writes: Arc<TaskWrites>,
}

impl RedisTasks {
    pub(crate) fn new(limits: &TaskLimits, writes: Arc<TaskWrites>) -> Self {
        Self { own: MemoryTaskStore::new(limits), writes }
    }

    fn remove_all(&self, ids: &[String]) {
        for id in ids {
            self.writes.remove(id);
        }
    }
}

impl TaskStore for RedisTasks {
    fn insert(&self, task: TaskRecord) -> StoreAnswer<'static, Option<Vec<String>>> {
        let inserted = now(self.own.insert(task.clone()));
        let Ok(Some(evicted)) = inserted else { return Box::pin(async move { inserted }) };
        self.remove_all(&evicted);
        if is_of_session(&task.key) {
            return Box::pin(async move { Ok(Some(evicted)) });
        }
        let written = self.writes.insert(task);
        Box::pin(async move {
            match written {
                Some(written) => written.await.unwrap_or(Err(StoreError::Unavailable)).map(|()| Some(evicted)),
                None => Err(StoreError::Unavailable),
            }
        })
    }

    fn update(&self, task: TaskRecord) -> TaskUpdate {
        let update = self.own.update(task.clone());
        let (TaskUpdate::Kept { evicted } | TaskUpdate::NoRoom { evicted }) = &update;
        self.remove_all(evicted);
        if matches!(update, TaskUpdate::Kept { .. }) {
            // Without effect for a task that is not kept, and for one of a session.
            self.writes.update(task);
        }
        update
    }

    fn find<'a>(&'a self, id: &'a str, key: &'a TaskKey) -> StoreAnswer<'a, Option<TaskRecord>> {
        let found = now(self.own.find(id, key));
        if is_of_session(key) || matches!(found, Ok(Some(_))) {
            return Box::pin(async move { found });
        }
        Box::pin(async move { Ok(self.writes.find(id).await?.filter(|record| record.key == *key)) })
    }

    fn list<'a>(&'a self, key: &'a TaskKey) -> StoreAnswer<'a, Vec<TaskRecord>> {
        self.own.list(key)
    }

    fn remove(&self, id: &str) {
        self.own.remove(id);
        self.writes.remove(id);
    }
}

/// An answer of a store in memory, which is there.
fn now<T>(answer: StoreAnswer<'_, T>) -> Result<T, StoreError> {
    answer.now_or_never().unwrap_or(Err(StoreError::Unavailable))
}

fn is_of_session(key: &TaskKey) -> bool {
    matches!(key, TaskKey::Session(..))
}
