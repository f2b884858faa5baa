//! Changes in the calls of a process that the core waits for.

use protomcp_types::ToolName;

use crate::generation::Generation;

/// A change in the calls of a process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LoadEvent {
    /// The last call in flight has ended.
    Idle(Generation),
    /// The handler of a call of this tool was given up and has not ended, and other calls wait for it.
    Stuck(Generation, ToolName),
}
