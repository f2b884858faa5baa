//! Between the link's messages and MCP's: pure, and the only place where the two meet.

pub(crate) mod completion;
pub(crate) mod content;
pub(crate) mod log;
pub(crate) mod prompt;
pub(crate) mod question;
pub(crate) mod resource;
pub(crate) mod result;

use protomcp_proto::ToolError;
use protomcp_schema::ErrorMeta;
use protomcp_types::{ErrorObject, RawJson};

/// What the process says about a request that failed and is no call of a tool: −32603 with its parts as data.
fn refusal(what: &str, error: &ToolError) -> ErrorObject {
    let ToolError { error_code, message, suggestion, .. } = error;
    let text = match (message.as_str(), suggestion.as_str()) {
        ("", "") => format!("{what}: the tool process failed with {error_code}"),
        (message, "") => format!("{what}: {message}"),
        (message, suggestion) => format!("{what}: {message} ({suggestion})"),
    };
    ErrorObject::internal(text).with_data(error_meta(error))
}

/// The error of a process, for programs.
fn error_meta(error: &ToolError) -> RawJson {
    let ToolError { error_code, message, suggestion, retryable } = error;
    ErrorMeta { code: Some(error_code), message, suggestion: Some(suggestion), retryable: *retryable }.to_meta()
}
