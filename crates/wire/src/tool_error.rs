//! The error that a process reports, for models and for programs.

use protomcp_envelope::ToolError;
use protomcp_schema::{ErrorMeta, INVALID_ARGUMENTS};
use protomcp_types::{ErrorObject, RawJson};

/// The error of a request that is not a tool call, with its parts as data: −32602 for arguments that do not fit, and
/// otherwise −32603. `what` begins the sentence.
#[must_use]
pub fn to_mcp(what: &str, error: &ToolError) -> ErrorObject {
    let text = match (error.message.as_str(), error.suggestion.as_str()) {
        ("", "") => format!("{what}: the tool process failed with {}", error.error_code),
        (message, "") => format!("{what}: {message}"),
        (message, suggestion) => format!("{what}: {message} ({suggestion})"),
    };
    let found = match error.error_code.as_str() {
        INVALID_ARGUMENTS => ErrorObject::invalid_params(text),
        _ => ErrorObject::internal(text),
    };
    found.with_data(to_meta(error))
}

/// The error as the `_meta` of a result.
#[must_use]
pub fn to_meta(error: &ToolError) -> RawJson {
    let ToolError { error_code, message, suggestion, retryable } = error;
    ErrorMeta {
        code: Some(error_code),
        message,
        suggestion: Some(suggestion),
        retryable: *retryable,
        retry_after: None,
    }
    .to_meta()
}
