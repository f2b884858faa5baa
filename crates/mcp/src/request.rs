//! What a host may ask a server, and what a server answers: one enum each.
//!
//! Layers wrap these two types and nothing else. A method that has no variant yet travels as [`ServerRequest::Other`],
//! so that a layer can still see it; resources, prompts and completion will get variants of their own.

use std::borrow::Cow;

use protomcp_types::{Body, CallTool, CallToolResult, ErrorObject, ListTools, ListToolsResult, Method, Params};

/// A request that the session does not answer by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerRequest {
    /// `tools/list`
    ListTools(ListTools),
    /// `tools/call`
    CallTool(CallTool),
    /// Any other method.
    Other {
        /// Its name.
        method: Cow<'static, str>,
        /// Its parameters, unread.
        params: Params,
    },
}

/// The answer to a [`ServerRequest`]. It stays typed until it is written, because its shape depends on the revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerResult {
    /// Answers `tools/list`.
    ListTools(ListToolsResult),
    /// Answers `tools/call`.
    CallTool(CallToolResult),
    /// `{}`
    Empty,
    /// Any other object.
    Body(Body),
}

impl ServerRequest {
    /// Reads the parameters of a request.
    ///
    /// # Errors
    /// −32602 when they do not fit the method.
    pub fn read(method: Cow<'static, str>, mut params: Params) -> Result<Self, ErrorObject> {
        match method.as_ref() {
            CallTool::NAME => CallTool::try_from(params).map(Self::CallTool),
            ListTools::NAME => {
                if matches!(params, Params::Positional(_)) {
                    return Err(ErrorObject::invalid_params("invalid params: expected an object"));
                }
                let cursor = params.optional("cursor")?;
                Ok(Self::ListTools(ListTools { cursor, meta: params.take("_meta") }))
            }
            _ => Ok(Self::Other { method, params }),
        }
    }

    /// The name of the method.
    #[must_use]
    pub fn method(&self) -> &str {
        match self {
            Self::ListTools(_) => ListTools::NAME,
            Self::CallTool(_) => CallTool::NAME,
            Self::Other { method, .. } => method,
        }
    }

    /// The name of the tool that is called, if one is.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::CallTool(call) => Some(&call.name),
            Self::ListTools(_) | Self::Other { .. } => None,
        }
    }
}

impl From<ListToolsResult> for ServerResult {
    fn from(result: ListToolsResult) -> Self {
        Self::ListTools(result)
    }
}

impl From<CallToolResult> for ServerResult {
    fn from(result: CallToolResult) -> Self {
        Self::CallTool(result)
    }
}
