//! The process in service.

use std::sync::Arc;

use crate::diagnostics::cause::Cause;
use crate::process::tool_process::ToolProcess;

/// The process that answers requests other than tool calls, also while calls are held.
#[derive(Debug, Clone)]
pub(crate) enum Serving {
    /// None yet, or none at the moment.
    Soon,
    This(Arc<ToolProcess>),
    /// None, finally.
    Down(Cause),
}
