//! Changes in the calls of a process that the core waits for.

use protomcp_types::ToolName;

use crate::generation::Generation;

/// A change in the calls of a process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LoadEvent {
    /// The last call in flight has ended.
    Idle(Generation),
    /// A request was given up, of this tool if it is a call; its handler may not have ended, and calls wait for it.
    Stuck(Generation, Option<ToolName>),
}
