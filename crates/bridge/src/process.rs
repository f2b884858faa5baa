//! One registered tool process, as the rest of the bridge sees it.

mod call_failure;
pub(crate) mod deadline;
pub(crate) mod file_system;
pub(crate) mod middleware;
pub(crate) mod request_context;
pub(crate) mod running_calls;
pub(crate) mod sdk;
mod served_owners;
pub(crate) mod tool_process;
