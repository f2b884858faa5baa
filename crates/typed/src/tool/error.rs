//! Failures of a tool.

use std::any::Any;
use std::fmt;

use protomcp_schema::ErrorMeta;
use protomcp_server::AskError;
use protomcp_types::{CallToolResult, ContentBlock, ErrorObject, RawJson};

/// A failure that the model reads: a result with `isError`. Every error with a `Display` becomes one, so most tools
/// need no more than `Result<_, impl Display>`; this type adds a code, a suggestion and content.
///
/// ```
/// use protomcp_typed::ToolError;
///
/// let error = ToolError::new("disk full").with_code("E7").with_suggestion("free some space").retryable();
/// assert_eq!(error.to_string(), "disk full");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolError {
    message: String,
    code: Option<String>,
    suggestion: Option<String>,
    retryable: bool,
    content: Vec<ContentBlock>,
}

impl ToolError {
    /// With a message for the model.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: None, suggestion: None, retryable: false, content: Vec::new() }
    }

    /// Sets a code, for programs.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Adds a suggestion, for the model.
    #[must_use]
    pub fn with_suggestion(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// Marks the failure as temporary: the same call may succeed later.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// Adds content after the message, such as a picture of the fault.
    #[must_use]
    pub fn with_content(mut self, block: ContentBlock) -> Self {
        self.content.push(block);
        self
    }

    /// The result for the client.
    #[must_use]
    pub fn into_result(self) -> CallToolResult {
        let meta = self.meta();
        let mut text = self.message;
        if let Some(suggestion) = &self.suggestion {
            text.push_str("\nSuggestion: ");
            text.push_str(suggestion);
        }
        let blocks = std::iter::once(ContentBlock::text(text)).chain(self.content);
        let result = CallToolResult { is_error: true, ..CallToolResult::of(blocks) };
        match meta {
            Some(meta) => result.with_meta(meta),
            None => result,
        }
    }

    /// The metadata, if there is more than the message.
    fn meta(&self) -> Option<RawJson> {
        if self.code.is_none() && self.suggestion.is_none() && !self.retryable {
            return None;
        }
        let Self { message, code, suggestion, retryable, .. } = self;
        let error = ErrorMeta {
            code: code.as_deref(),
            message,
            suggestion: suggestion.as_deref(),
            retryable: *retryable,
            retry_after: None,
        };
        Some(error.to_meta())
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ToolError {}

impl From<String> for ToolError {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for ToolError {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

/// Ends a task without a result, as if the server had failed: the work could not be carried out at all. In a call that is
/// not a task it is a [`ToolError`].
///
/// ```
/// use protomcp_typed::TaskError;
///
/// let error = TaskError::new("the machine has gone");
/// assert_eq!(error.to_string(), "the machine has gone");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskError(String);

impl TaskError {
    /// With a message for the client.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TaskError {}

/// The failure of a task (−32603, with `TASK_FAILED` in its data).
impl From<TaskError> for ErrorObject {
    fn from(TaskError(message): TaskError) -> Self {
        let data = ToolError::new(message.as_str()).with_code("TASK_FAILED").meta();
        let error = Self::internal(message);
        data.into_iter().fold(error, Self::with_data)
    }
}

/// The failure of a call that is not a task.
impl From<TaskError> for ToolError {
    fn from(TaskError(message): TaskError) -> Self {
        Self::new(message)
    }
}

/// A question without an answer, which the handler has not caught.
impl From<AskError> for ToolError {
    fn from(error: AskError) -> Self {
        Self::new(error.to_string()).with_code("QUESTION_FAILED")
    }
}

/// Converts an error. A [`ToolError`], a [`TaskError`], an [`AskError`] and an [`ErrorObject`] carry more than their text.
/// The last one fails the request itself, which is right for a fault that is not the tool's, such as a capability that the
/// client lacks.
pub(crate) fn read<E: fmt::Display + 'static>(error: E) -> Result<CallToolResult, ErrorObject> {
    let mut error = Some(error);
    if let Some(error) = taken::<ToolError>(&mut error) {
        return Ok(error.into_result());
    }
    if let Some(error) = taken::<AskError>(&mut error) {
        return Ok(ToolError::from(error).into_result());
    }
    if let Some(error) = taken::<TaskError>(&mut error) {
        return Err(error.into());
    }
    if let Some(error) = taken::<ErrorObject>(&mut error) {
        return Err(error);
    }
    let text = error.map(|error| error.to_string()).unwrap_or_default();
    Ok(CallToolResult::error(text))
}

/// The error, if it is of this type.
fn taken<E: 'static>(error: &mut dyn Any) -> Option<E> {
    error.downcast_mut::<Option<E>>().and_then(Option::take)
}
