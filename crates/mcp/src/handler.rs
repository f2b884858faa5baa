//! The convenient way to write a server: one method per request.

use std::future::Future;
use std::sync::Arc;

use protomcp_types::{CallTool, CallToolResult, ErrorObject, ListTools, ListToolsResult, Method};

use crate::context::Context;
use crate::info::ServerInfo;
use crate::session::{SessionId, SessionView};

/// Answers the requests it knows; every other is answered with −32601. [`crate::Router`] makes a service of it.
pub trait Handler: Send + Sync + 'static {
    /// What the server says about itself.
    fn info(&self) -> ServerInfo;

    /// `tools/list`
    fn list_tools(
        &self,
        request: ListTools,
        context: Context,
    ) -> impl Future<Output = Result<ListToolsResult, ErrorObject>> + Send {
        let _ = (request, context);
        async { Err(ErrorObject::method_not_found(ListTools::NAME)) }
    }

    /// `tools/call`. What a known tool does wrong is a result with `is_error`; an error is for an unknown tool. A panic
    /// becomes a result with `is_error`.
    fn call_tool(
        &self,
        call: CallTool,
        context: Context,
    ) -> impl Future<Output = Result<CallToolResult, ErrorObject>> + Send {
        let _ = (call, context);
        async { Err(ErrorObject::method_not_found(CallTool::NAME)) }
    }

    /// See [`crate::Service::session_opened`].
    fn session_opened(&self, session: &SessionView) {
        let _ = session;
    }

    /// See [`crate::Service::session_closed`].
    fn session_closed(&self, session: SessionId) {
        let _ = session;
    }
}

/// Lets a handler be shared with whoever else needs it.
impl<H: Handler> Handler for Arc<H> {
    fn info(&self) -> ServerInfo {
        H::info(self)
    }

    fn list_tools(
        &self,
        request: ListTools,
        context: Context,
    ) -> impl Future<Output = Result<ListToolsResult, ErrorObject>> + Send {
        H::list_tools(self, request, context)
    }

    fn call_tool(
        &self,
        call: CallTool,
        context: Context,
    ) -> impl Future<Output = Result<CallToolResult, ErrorObject>> + Send {
        H::call_tool(self, call, context)
    }

    fn session_opened(&self, session: &SessionView) {
        H::session_opened(self, session);
    }

    fn session_closed(&self, session: SessionId) {
        H::session_closed(self, session);
    }
}
