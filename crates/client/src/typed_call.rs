//! Calls of tools whose result is a Rust type.

use std::fmt;
use std::future::IntoFuture;
use std::marker::PhantomData;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use protomcp_session::RequestError;
use protomcp_types::{CallTool, CallToolResult, ContentBlock, RawJson};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::request::Request;
use crate::session::ClientSession;

/// A call of a tool whose structured result is read into `R`. `.await` sends it.
///
/// A result without structured content is read from its only text, if that is JSON.
#[must_use = "the request is sent by `.await`"]
pub struct TypedCall<R> {
    request: Request<CallTool>,
    result: PhantomData<fn() -> R>,
}

/// The reason why a typed call has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The request has failed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The tool has failed. The text is all text of its result.
    #[error("the tool failed: {text}")]
    Tool {
        /// The reason, for people and models.
        text: String,
        /// The whole result.
        result: Box<CallToolResult>,
    },
    /// The result has another shape.
    #[error("the result of the tool cannot be read: {0}")]
    Unreadable(String),
}

impl ClientSession {
    /// Calls a tool whose arguments and structured result are Rust types. A tool that fails is an error.
    ///
    /// ```
    /// use protomcp_client::{CallError, ClientSession};
    ///
    /// #[derive(serde::Serialize)]
    /// struct Add {
    ///     a: i64,
    ///     b: i64,
    /// }
    ///
    /// async fn add(session: &ClientSession) -> Result<i64, CallError> {
    ///     session.call_tool_typed::<_, i64>("add", &Add { a: 1, b: 2 }).await
    /// }
    /// ```
    pub fn call_tool_typed<A: Serialize + ?Sized, R: DeserializeOwned>(
        &self,
        name: impl Into<String>,
        arguments: &A,
    ) -> TypedCall<R> {
        TypedCall::new(self.call_tool(name, arguments))
    }
}

impl<R> TypedCall<R> {
    fn new(request: Request<CallTool>) -> Self {
        Self { request, result: PhantomData }
    }

    /// Changes the request, for example its time limits.
    pub fn with(mut self, change: impl FnOnce(Request<CallTool>) -> Request<CallTool>) -> Self {
        self.request = change(self.request);
        self
    }
}

impl<R: DeserializeOwned + 'static> IntoFuture for TypedCall<R> {
    type Output = Result<R, CallError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    /// Sends the request.
    fn into_future(self) -> Self::IntoFuture {
        let answer = self.request.into_future();
        async move { read(answer.await?) }.boxed()
    }
}

fn read<R: DeserializeOwned>(result: CallToolResult) -> Result<R, CallError> {
    let texts = texts(&result);
    if result.is_error {
        return Err(CallError::Tool { text: texts.join("\n"), result: Box::new(result) });
    }
    let structured = match (&result.structured_content, texts.as_slice()) {
        (Some(structured), _) => structured.clone(),
        (None, [text]) => {
            let parsed = RawJson::parse(text.clone());
            parsed.map_err(|_| CallError::Unreadable("it has no structured content".into()))?
        }
        (None, _) => return Err(CallError::Unreadable("it has no structured content".into())),
    };
    structured.to().map_err(|error| CallError::Unreadable(error.to_string()))
}

fn texts(result: &CallToolResult) -> Vec<String> {
    let blocks: Vec<ContentBlock> = result.content.to().unwrap_or_default();
    let text = |block| match block {
        ContentBlock::Text { text, .. } => Some(text),
        ContentBlock::Image { .. } | ContentBlock::Audio { .. } | ContentBlock::Other(_) => None,
    };
    blocks.into_iter().filter_map(text).collect()
}

impl<R> fmt::Debug for TypedCall<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedCall").field("request", &self.request).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_read_from_structure_or_text() {
        let structured = CallToolResult::text("x").with_structured(RawJson::parse("[1,2]").unwrap());
        assert_eq!(read::<Vec<u8>>(structured), Ok(vec![1, 2]));
        assert_eq!(read::<u8>(CallToolResult::text("7")), Ok(7));
        assert!(matches!(read::<u8>(CallToolResult::text("seven")), Err(CallError::Unreadable(_))));
        assert!(matches!(read::<u8>(CallToolResult::text("\"7\"")), Err(CallError::Unreadable(_))));
        let Err(CallError::Tool { text, .. }) = read::<u8>(CallToolResult::error("no")) else { panic!() };
        assert_eq!(text, "no");
    }
}
