//! The error half of a JSON-RPC response.
//!
//! An `ErrorObject` is data for the peer, for requests that never reached a tool. The failure of a known tool is a
//! result with `isError`, which the model can read.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::json_buf::JsonBuf;
use crate::json_object::JsonObject;
use crate::output::Output;
use crate::quoted::Quoted;
use crate::raw::RawJson;
use crate::version::ProtocolVersion;

/// The `error` member of a response (JSON-RPC 2.0, section 5.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorObject {
    /// One of the constants in [`code`], or a number of the peer.
    pub code: i64,
    /// One short sentence, lower case, without a full stop.
    pub message: Cow<'static, str>,
    /// Details for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<RawJson>,
}

/// The error codes that MCP uses.
pub mod code {
    /// The text is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The JSON is not a valid request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit the method; also an unknown tool, prompt, cursor or log level.
    pub const INVALID_PARAMS: i64 = -32602;
    /// An internal error, or overload.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// There is no such resource (the stateful revisions; 2026-07-28 uses [`INVALID_PARAMS`]).
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// The headers of an HTTP request contradict its body; since 2026-07-28.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The client lacks a capability that the request needs; since 2026-07-28.
    pub const MISSING_CLIENT_CAPABILITY: i64 = -32021;
    /// The server does not support the revision that the request names; since 2026-07-28.
    pub const UNSUPPORTED_PROTOCOL_VERSION: i64 = -32022;
}

impl ErrorObject {
    /// An error with any code.
    #[must_use]
    pub fn new(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Adds data.
    #[must_use]
    pub fn with_data(mut self, data: RawJson) -> Self {
        self.data = Some(data);
        self
    }

    /// −32700: the text is not JSON.
    #[must_use]
    pub fn parse_error(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::PARSE_ERROR, message)
    }

    /// −32600: not a valid request, or not valid now.
    #[must_use]
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    /// −32601, with the message `method not found: "<method>"`.
    #[must_use]
    pub fn method_not_found(method: &str) -> Self {
        Self::new(code::METHOD_NOT_FOUND, format!("method not found: {}", Quoted(method)))
    }

    /// −32602: the parameters do not fit.
    #[must_use]
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// −32602, with the message `unknown tool "<name>"`.
    #[must_use]
    pub fn unknown_tool(name: &str) -> Self {
        Self::invalid_params(format!("unknown tool {}", Quoted(name)))
    }

    /// −32602, with the message `unknown prompt "<name>"`.
    #[must_use]
    pub fn unknown_prompt(name: &str) -> Self {
        Self::invalid_params(format!("unknown prompt {}", Quoted(name)))
    }

    /// −32602, with the message `invalid cursor "<cursor>"`.
    #[must_use]
    pub fn invalid_cursor(cursor: &str) -> Self {
        Self::invalid_params(format!("invalid cursor {}", Quoted(cursor)))
    }

    /// −32603: an internal error, or overload.
    #[must_use]
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(code::INTERNAL_ERROR, message)
    }

    /// −32603 for a request that finds no room: the reason, then the remedy. It has not begun, so it can be sent again
    /// after `retry_after`; `data` says the same, with the milliseconds.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use protomcp_types::ErrorObject;
    ///
    /// let error = ErrorObject::overloaded("the queue is full", "try again", Duration::from_secs(1));
    /// assert_eq!(error.message, "the queue is full; try again");
    /// assert!(error.data.unwrap().as_str().contains(r#""error_code":"OVERLOADED""#));
    /// ```
    #[must_use]
    pub fn overloaded(message: &str, suggestion: &str, retry_after: Duration) -> Self {
        let error = JsonBuf::object()
            .text("error_code", "OVERLOADED")
            .text("message", message)
            .text("suggestion", suggestion)
            .boolean("retryable", true)
            .value("retry_after_ms", &u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX));
        let data = JsonBuf::object().body("protomcp/error", &error.finish()).finish().into_raw();
        Self::internal(format!("{message}; {suggestion}")).with_data(data)
    }

    /// True if the server says that the same request may succeed later: `data` has `retryable` under `protomcp/error`, as
    /// in [`ErrorObject::overloaded`]. Servers of others do not say so.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        let object = |raw: &RawJson| JsonObject::from_raw(raw).ok();
        let error = self.data.as_ref().and_then(object).and_then(|data| object(data.member("protomcp/error")?));
        error.is_some_and(|error| error.member("retryable").is_some_and(|value| value.as_str() == "true"))
    }

    /// −32022 with the supported revisions (MCP 2026-07-28, basic). Revisions with a handshake are not listed: a
    /// request that names one would fail again.
    #[must_use]
    pub fn unsupported_version(requested: &str) -> Self {
        let supported: Vec<_> = ProtocolVersion::STATELESS.iter().map(|version| version.as_str()).collect();
        Self::new(code::UNSUPPORTED_PROTOCOL_VERSION, format!("unsupported protocol version {}", Quoted(requested)))
            .with_data(
                JsonBuf::object().value("supported", &supported).text("requested", requested).finish().into_raw(),
            )
    }

    /// −32002 with the URI as data, as the stateful revisions require (MCP 2025-11-25, server/resources). For
    /// 2026-07-28 a server replies with −32602 instead.
    #[must_use]
    pub fn resource_not_found(uri: &str) -> Self {
        Self::new(code::RESOURCE_NOT_FOUND, "Resource not found")
            .with_data(JsonBuf::object().text("uri", uri).finish().into_raw())
    }

    /// Writes the JSON text.
    pub fn write_to(&self, out: &mut impl Output) {
        JsonBuf::object()
            .value("code", &self.code)
            .text("message", &self.message)
            .raw_if("data", self.data.as_ref())
            .finish()
            .write_to(out);
    }
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for ErrorObject {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_written_as_serde_would() {
        for error in [
            ErrorObject::method_not_found("a\"b"),
            ErrorObject::resource_not_found("file:///x"),
            ErrorObject::internal("out of order"),
        ] {
            let mut text = Vec::new();
            error.write_to(&mut text);
            assert_eq!(text, serde_json::to_vec(&error).unwrap());
            assert_eq!(serde_json::from_slice::<ErrorObject>(&text).unwrap(), error);
        }
        assert_eq!(
            serde_json::to_string(&ErrorObject::resource_not_found("u")).unwrap(),
            r#"{"code":-32002,"message":"Resource not found","data":{"uri":"u"}}"#
        );
    }
}
