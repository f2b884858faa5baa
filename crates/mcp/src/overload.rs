//! Refusals because callers already hold too many bytes: what happened, then what to do.
//!
//! Programs find the same in `data` of an error and in `_meta` of a result, under `protomcp/error`.

use protomcp_types::{Body, ErrorObject, RawJson};

/// A request that finds no room in the inbound budget. It has not begun, so it can be sent again.
pub(crate) fn request() -> ErrorObject {
    let (message, suggestion) = ("too many bytes of requests wait for their answers", "send it again in a moment");
    let data = explained(message, suggestion, true);
    ErrorObject::internal(format!("{message}; {suggestion}")).with_data(data)
}

fn explained(message: &str, suggestion: &str, retryable: bool) -> RawJson {
    let error = Body::object()
        .text("error_code", "OVERLOADED")
        .text("message", message)
        .text("suggestion", suggestion)
        .boolean("retryable", retryable)
        .finish();
    Body::object().body("protomcp/error", &error).finish().into_raw()
}
