//! Error results of tools, and the machine-readable form of an error in their `_meta`.

use std::iter;
use std::time::Duration;

use protomcp_types::{CallToolResult, ContentBlock, JsonBuf, RawJson, array};

/// The key of `{error_code, message, suggestion, retryable}` in the `_meta` of a failed result.
pub const ERROR_META: &str = "protomcp/error";

/// The code of a call whose arguments do not match the input schema of its tool.
pub const INVALID_ARGUMENTS: &str = "INVALID_ARGUMENTS";

/// The code of a result whose structured content does not match the output schema of its tool.
pub const OUTPUT_SCHEMA_MISMATCH: &str = "OUTPUT_SCHEMA_MISMATCH";

/// A tool error, for programs.
///
/// ```
/// use protomcp_schema::ErrorMeta;
///
/// let error = ErrorMeta { code: Some("E7"), message: "disk full", suggestion: None, retryable: true, retry_after: None };
/// assert_eq!(
///     error.to_meta().as_str(),
///     r#"{"protomcp/error":{"error_code":"E7","message":"disk full","retryable":true}}"#
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorMeta<'a> {
    /// The same text for each error of this kind.
    pub code: Option<&'a str>,
    /// The text that the model reads.
    pub message: &'a str,
    /// The next step.
    pub suggestion: Option<&'a str>,
    /// The same call may succeed later.
    pub retryable: bool,
    /// The time after which that is worth a try, if it is known. In milliseconds on the wire: `retry_after_ms`.
    pub retry_after: Option<Duration>,
}

impl ErrorMeta<'_> {
    /// The `_meta` object with the error under [`ERROR_META`].
    #[must_use]
    pub fn to_meta(&self) -> RawJson {
        let error = JsonBuf::object()
            .text_if("error_code", self.code)
            .text("message", self.message)
            .text_if("suggestion", self.suggestion)
            .boolean("retryable", self.retryable);
        let error = match self.retry_after.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)) {
            Some(milliseconds) => error.value("retry_after_ms", &milliseconds),
            None => error,
        };
        JsonBuf::object().body(ERROR_META, &error.finish()).finish().into_raw()
    }
}

/// The error result in place of `sent`, which does not match the output schema of its tool: `message`, then the content as
/// it was sent.
///
/// The structured content is left out: clients may check it against the schema although the result is an error.
///
/// ```
/// use protomcp_schema::{ErrorMeta, OUTPUT_SCHEMA_MISMATCH, mismatched_result};
/// use protomcp_types::{CallToolResult, RawJson};
///
/// let sent = CallToolResult::text("4 degrees").with_structured(RawJson::EMPTY_OBJECT);
/// let message = "the result does not fit the output schema";
/// let error = ErrorMeta { code: Some(OUTPUT_SCHEMA_MISMATCH), message, suggestion: None, retryable: false, retry_after: None };
/// let result = mismatched_result(&sent, message, error.to_meta());
/// assert!(result.is_error && result.structured_content.is_none());
/// assert!(result.content.as_str().ends_with(r#"{"type":"text","text":"4 degrees"}]"#));
/// ```
#[must_use]
pub fn mismatched_result(sent: &CallToolResult, message: &str, meta: RawJson) -> CallToolResult {
    let content: Vec<RawJson> = sent.content.to().unwrap_or_default();
    let content = array(iter::once(ContentBlock::text(message).to_raw()).chain(content));
    CallToolResult { is_error: true, ..CallToolResult::new(content).with_meta(meta) }
}
