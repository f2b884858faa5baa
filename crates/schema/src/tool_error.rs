//! The machine-readable form of a tool error, in the `_meta` of a result with `isError`.

use protomcp_types::{JsonBuf, RawJson};

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
/// let error = ErrorMeta { code: Some("E7"), message: "disk full", suggestion: None, retryable: true };
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
}

impl ErrorMeta<'_> {
    /// The `_meta` object with the error under [`ERROR_META`].
    #[must_use]
    pub fn to_meta(&self) -> RawJson {
        let error = JsonBuf::object()
            .text_if("error_code", self.code)
            .text("message", self.message)
            .text_if("suggestion", self.suggestion)
            .boolean("retryable", self.retryable)
            .finish();
        JsonBuf::object().body(ERROR_META, &error).finish().into_raw()
    }
}
