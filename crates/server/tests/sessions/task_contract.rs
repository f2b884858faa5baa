//! The contract of stores of tasks: it holds in memory, and finds the faults of a store.

use std::panic::catch_unwind;
use std::sync::Arc;

use protomcp_server::contract::task_store;
use protomcp_server::{MemoryTaskStore, StoreAnswer, TaskKey, TaskRecord, TaskStore, TaskUpdate};
use protomcp_testing::run_paused;

use super::task_store::Shared;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// A task is inserted when the answer is awaited.
    InsertsLate,
    /// A task without a reason gives way.
    Evicts,
    /// Changes are not written.
    LosesChanges,
    /// The sizes of results are not written.
    LosesSizes,
    /// A change of a task that is not kept inserts it.
    BringsBack,
    /// Callers find the tasks of others.
    IgnoresKeys,
    /// The newest task is the first of the list.
    ListsBackwards,
    /// Nothing is removed.
    KeepsAll,
}

/// A store with a fault.
#[derive(Debug)]
struct Faulty {
    store: Arc<Shared>,
    fault: Fault,
}

impl TaskStore for Faulty {
    fn insert(&self, task: TaskRecord) -> StoreAnswer<'static, Option<Vec<String>>> {
        match self.fault {
            Fault::InsertsLate => {
                let store = Arc::clone(&self.store);
                Box::pin(async move { store.insert(task).await })
            }
            Fault::Evicts => {
                let answer = self.store.insert(task);
                Box::pin(async move { Ok(answer.await?.map(|_| vec!["0".to_owned()])) })
            }
            _ => self.store.insert(task),
        }
    }

    fn update(&self, mut task: TaskRecord) -> TaskUpdate {
        match self.fault {
            Fault::LosesChanges => return TaskUpdate::Kept { evicted: vec![] },
            Fault::LosesSizes => task.size = 0,
            Fault::BringsBack if self.store.number(task.id()).is_none() => drop(self.store.insert(task.clone())),
            _ => {}
        }
        self.store.update(task)
    }

    fn find<'a>(&'a self, id: &'a str, key: &'a TaskKey) -> StoreAnswer<'a, Option<TaskRecord>> {
        if self.fault == Fault::IgnoresKeys {
            return Box::pin(async move { Ok(self.store.read().into_iter().find(|record| record.id() == id)) });
        }
        self.store.find(id, key)
    }

    fn list<'a>(&'a self, key: &'a TaskKey) -> StoreAnswer<'a, Vec<TaskRecord>> {
        Box::pin(async move {
            let mut tasks = self.store.list(key).await?;
            if self.fault == Fault::ListsBackwards {
                tasks.reverse();
            }
            Ok(tasks)
        })
    }

    fn remove(&self, id: &str) {
        if self.fault != Fault::KeepsAll {
            self.store.remove(id);
        }
    }
}

#[test]
fn stores_of_tasks_keep_the_contract() {
    run_paused(async {
        task_store(&MemoryTaskStore::default()).await;
        task_store(&Shared::default()).await;
    });
}

#[test]
fn the_contract_finds_each_fault_of_a_task_store() {
    for fault in [
        Fault::InsertsLate,
        Fault::Evicts,
        Fault::LosesChanges,
        Fault::LosesSizes,
        Fault::BringsBack,
        Fault::IgnoresKeys,
        Fault::ListsBackwards,
        Fault::KeepsAll,
    ] {
        let checked = catch_unwind(|| run_paused(async { task_store(&Faulty { store: Arc::default(), fault }).await }));
        assert!(checked.is_err(), "{fault:?} is not found");
    }
}
