//! The effect of a change of the record of a task.

/// The effect of a change of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskUpdate {
    /// The store keeps the record, if it has kept the task until now.
    Kept {
        /// The ids of other tasks, which it has forgotten for that.
        evicted: Vec<String>,
    },
    /// There is no room for the result. The record is as it was before; the server writes a short result next.
    NoRoom {
        /// The ids of other tasks, which it has forgotten nevertheless.
        evicted: Vec<String>,
    },
}
