//! The errors for requests and answers without room in a budget: the reason, then the remedy.
//!
//! Programs find the same in `data` of an error and in `_meta` of a result, under `protomcp/error`.

use protomcp_session::Limits;
use protomcp_types::{CallToolResult, ErrorObject, JsonBuf, ObjectWriter, RawJson};

use crate::records::node::NodeId;

/// For a request without room in the inbound budget. It has not begun, so it can be sent again.
pub(crate) fn request() -> ErrorObject {
    let message = "too many bytes of requests wait for their answers";
    ErrorObject::overloaded(message, "send it again in a moment", Limits::RETRY_AFTER)
}

/// For a request that would listen, when too many of all clients do.
pub(crate) fn listener() -> ErrorObject {
    let message = "too many requests listen for changes";
    ErrorObject::overloaded(message, "send it again in a moment", Limits::RETRY_AFTER)
}

/// A request that comes, or is still open, while the server shuts down. An open one may have had effects.
pub(crate) fn shutting_down() -> ErrorObject {
    let (message, suggestion) = ("the server is shutting down", "call again when it runs");
    let error = error("SHUTTING_DOWN", message, suggestion).boolean("retryable", true);
    ErrorObject::internal(message).with_data(data(error))
}

/// In place of an answer without room in the outbound budget.
pub(crate) fn answer(bytes: usize) -> ErrorObject {
    let (message, suggestion) = dropped(bytes);
    let data = explained(&message, suggestion);
    ErrorObject::internal(format!("{message}; {suggestion}")).with_data(data)
}

/// Like [`answer`], for a tool: a result that the model can read.
pub(crate) fn result(bytes: usize) -> CallToolResult {
    let (message, suggestion) = dropped(bytes);
    CallToolResult::error(format!("{message}; {suggestion}")).with_meta(explained(&message, suggestion))
}

/// A request whose call waits in another process. A router in front of the processes can read the name of the process.
pub(crate) fn in_other_process(node: &NodeId) -> ErrorObject {
    let (message, suggestion) =
        ("the call waits in another process of this server", "send the request to that process");
    let error = error("WRONG_PROCESS", message, suggestion).boolean("retryable", true).text("node", node.as_str());
    ErrorObject::internal(format!("{message}; {suggestion}")).with_data(data(error))
}

/// Like [`in_other_process`], without knowledge of the other processes. The call may have run: a state that was used in
/// its process is the same here as one that waits there. It is not to be sent again: after a restart of
/// a single server, the process has ended, and each repetition is refused until the state expires.
pub(crate) fn parked_elsewhere() -> ErrorObject {
    let message = "the call belongs to another process of this server: it waits there, has run there, or has ended";
    let suggestion = "call again without the state if the call may run twice";
    let error = error("WRONG_PROCESS", message, suggestion).boolean("retryable", false);
    ErrorObject::internal(format!("{message}; {suggestion}")).with_data(data(error))
}

/// A request whose call has ended with its process. It may have had effects.
pub(crate) fn replica_gone() -> ErrorObject {
    let message = "the process that held the call has ended";
    let suggestion = "call again, without the state if there is one";
    let error = error("REPLICA_GONE", message, suggestion).boolean("retryable", true);
    ErrorObject::internal(format!("{message}; {suggestion}")).with_data(data(error))
}

/// A call that has not begun as a task, because the store of tasks does not answer.
pub(crate) fn no_task_store() -> ErrorObject {
    ErrorObject::overloaded("the store of tasks does not answer", "send it again in a moment", Limits::RETRY_AFTER)
}

/// A request whose call waits in another process, while the store that knows the processes does not answer.
pub(crate) fn no_store() -> ErrorObject {
    let message = "the process of this call is not known";
    ErrorObject::overloaded(message, "send it again in a moment", Limits::RETRY_AFTER)
}

fn dropped(bytes: usize) -> (String, &'static str) {
    let message = format!("the answer of {bytes} bytes was dropped: too many bytes wait to be read");
    (message, "read the answers that wait, or ask for less")
}

fn explained(message: &str, suggestion: &str) -> RawJson {
    data(error("OVERLOADED", message, suggestion).boolean("retryable", false))
}

fn error(code: &str, message: &str, suggestion: &str) -> ObjectWriter {
    JsonBuf::object().text("error_code", code).text("message", message).text("suggestion", suggestion)
}

fn data(error: ObjectWriter) -> RawJson {
    JsonBuf::object().body("protomcp/error", &error.finish()).finish().into_raw()
}
