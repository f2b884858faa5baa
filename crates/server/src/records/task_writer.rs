//! Writes the changes of one task to the store.

use std::sync::Arc;

use protomcp_types::JsonBuf;

use crate::records::node::NodeId;
use crate::records::task_record::{TaskKey, TaskRecord};
use crate::records::task_store::TaskStore;
use crate::records::task_update::TaskUpdate;
use protomcp_fair::Owner;
use protomcp_session::TaskState;

/// The parts of a record that do not change, and the store that has it.
#[derive(Debug, Clone)]
pub(crate) struct TaskWriter {
    pub(crate) store: Arc<dyn TaskStore>,
    pub(crate) key: TaskKey,
    pub(crate) owner: Owner,
    pub(crate) node: NodeId,
}

impl TaskWriter {
    /// The record of a task that runs, or of one that has ended with a result that needs no room.
    pub(crate) fn record(&self, state: TaskState, questions: Option<JsonBuf>) -> TaskRecord {
        let Self { key, owner, node, .. } = self.clone();
        TaskRecord { key, owner, node, state, questions, size: 0 }
    }

    /// Writes a change that is not the end.
    pub(crate) fn write(&self, state: &TaskState, questions: Option<JsonBuf>) {
        // A result makes room, and there is none.
        let _nothing_is_evicted = self.store.update(self.record(state.clone(), questions));
    }

    /// Writes the end, with a result of this many bytes.
    pub(crate) fn end(&self, state: &TaskState, size: usize) -> TaskUpdate {
        self.store.update(TaskRecord { size, ..self.record(state.clone(), None) })
    }
}
