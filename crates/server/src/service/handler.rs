//! The convenient way to write a server: one method per request.

use std::future::Future;
use std::sync::Arc;

use protomcp_types::{
    CallTool, CallToolResult, Complete, CompleteResult, CreateTaskResult, ErrorObject, GetPrompt, GetPromptResult,
    ListPrompts, ListPromptsResult, ListResourceTemplates, ListResourceTemplatesResult, ListResources,
    ListResourcesResult, ListTools, ListToolsResult, Method, Notification, RawJson, ReadResource, ReadResourceResult,
    Subscribe, Unsubscribe,
};

use crate::call::context::Context;
use crate::service::tasks::Tasks;
use protomcp_session::{ServerInfo, SessionId, SessionView};

/// Answers the requests it knows; every other is answered with −32601.
/// [`Server::from_handler`](crate::Server::from_handler) serves it.
///
/// A method is only called when the capability for it is in [`ServerInfo::capabilities`].
pub trait Handler: Send + Sync + 'static {
    /// The description that the server gives of itself.
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

    /// `tools/call`. The failure of a known tool is a result with `is_error`; an error is for an unknown tool. A panic
    /// becomes a result with `is_error`.
    fn call_tool(
        &self,
        call: CallTool,
        context: Context,
    ) -> impl Future<Output = Result<CallToolResult, ErrorObject>> + Send {
        let _ = (call, context);
        async { Err(ErrorObject::method_not_found(CallTool::NAME)) }
    }

    /// `resources/list`
    fn list_resources(
        &self,
        request: ListResources,
        context: Context,
    ) -> impl Future<Output = Result<ListResourcesResult, ErrorObject>> + Send {
        let _ = (request, context);
        async { Err(ErrorObject::method_not_found(ListResources::NAME)) }
    }

    /// `resources/templates/list`
    fn list_resource_templates(
        &self,
        request: ListResourceTemplates,
        context: Context,
    ) -> impl Future<Output = Result<ListResourceTemplatesResult, ErrorObject>> + Send {
        let _ = (request, context);
        async { Err(ErrorObject::method_not_found(ListResourceTemplates::NAME)) }
    }

    /// `resources/read`. An unknown URI is [`ErrorObject::resource_not_found`].
    fn read_resource(
        &self,
        request: ReadResource,
        context: Context,
    ) -> impl Future<Output = Result<ReadResourceResult, ErrorObject>> + Send {
        let _ = (request, context);
        async { Err(ErrorObject::method_not_found(ReadResource::NAME)) }
    }

    /// `resources/subscribe`. Without an error the session keeps the subscription, and
    /// [`crate::ServerHandle::resource_updated`] reaches it.
    fn subscribe(&self, request: Subscribe, context: Context) -> impl Future<Output = Result<(), ErrorObject>> + Send {
        let _ = (request, context);
        async { Err(ErrorObject::method_not_found(Subscribe::NAME)) }
    }

    /// `resources/unsubscribe`. Without an error, as by default, the session forgets the subscription.
    fn unsubscribe(
        &self,
        request: Unsubscribe,
        context: Context,
    ) -> impl Future<Output = Result<(), ErrorObject>> + Send {
        let _ = (request, context);
        async { Ok(()) }
    }

    /// `prompts/list`
    fn list_prompts(
        &self,
        request: ListPrompts,
        context: Context,
    ) -> impl Future<Output = Result<ListPromptsResult, ErrorObject>> + Send {
        let _ = (request, context);
        async { Err(ErrorObject::method_not_found(ListPrompts::NAME)) }
    }

    /// `prompts/get`. An unknown name is [`ErrorObject::unknown_prompt`].
    fn get_prompt(
        &self,
        request: GetPrompt,
        context: Context,
    ) -> impl Future<Output = Result<GetPromptResult, ErrorObject>> + Send {
        let _ = (request, context);
        async { Err(ErrorObject::method_not_found(GetPrompt::NAME)) }
    }

    /// `completion/complete`
    fn complete(
        &self,
        request: Complete,
        context: Context,
    ) -> impl Future<Output = Result<CompleteResult, ErrorObject>> + Send {
        let _ = (request, context);
        async { Err(ErrorObject::method_not_found(Complete::NAME)) }
    }

    /// `tools/call` of a client that wants a task instead of a result. A tool that cannot be one is −32601; a tool that
    /// has to be one refuses a plain call in the same way (MCP 2025-11-25, basic/utilities/tasks).
    ///
    /// [`Tasks::begin`] answers with a task and runs the call in the background. Such a handler has [`Handler::tasks`].
    fn call_tool_as_task(
        &self,
        call: CallTool,
        context: Context,
    ) -> impl Future<Output = Result<CreateTaskResult, ErrorObject>> + Send {
        let _ = (call, context);
        async { Err(ErrorObject::method_not_found(CallTool::NAME)) }
    }

    /// The tasks of sessions. The server answers `tasks/get`, `tasks/result`, `tasks/list` and `tasks/cancel` from
    /// them, and cancels them when their session ends. Without any these four are answered with −32601.
    fn tasks(&self) -> Option<&Tasks> {
        None
    }

    /// The definition of a tool as every client reads it in `tools/list`, for transports that depend on it: over HTTP,
    /// arguments that the schema marks with `x-mcp-header` are repeated in headers, which are compared with the
    /// arguments of each call (MCP 2026-07-28, basic/transports, custom headers).
    fn tool_definition(&self, tool: &str) -> Option<RawJson> {
        let _ = tool;
        None
    }

    /// See [`crate::SessionObserver::opened`].
    fn session_opened(&self, session: &SessionView) {
        let _ = session;
    }

    /// See [`crate::SessionObserver::selection`].
    fn session_selection(&self, session: SessionId) -> Option<RawJson> {
        let _ = session;
        None
    }

    /// See [`crate::SessionObserver::restored`].
    fn session_restored(&self, session: &SessionView, selection: Option<&RawJson>) {
        let _ = selection;
        self.session_opened(session);
    }

    /// See [`crate::SessionObserver::closed`].
    fn session_closed(&self, session: SessionId) {
        let _ = session;
    }

    /// See [`crate::SessionObserver::notified`].
    fn notified(&self, session: SessionId, notification: &Notification) {
        let _ = (session, notification);
    }
}

/// Passes requests on to the handler inside.
macro_rules! pass_on {
    ($($name:ident($request:ident) -> $result:ty),* $(,)?) => {
        $(fn $name(
            &self,
            request: $request,
            context: Context,
        ) -> impl Future<Output = Result<$result, ErrorObject>> + Send {
            H::$name(self, request, context)
        })*
    };
}

/// Lets a handler be shared with other parts of the program.
impl<H: Handler> Handler for Arc<H> {
    fn info(&self) -> ServerInfo {
        H::info(self)
    }

    pass_on!(
        list_tools(ListTools) -> ListToolsResult,
        call_tool(CallTool) -> CallToolResult,
        list_resources(ListResources) -> ListResourcesResult,
        list_resource_templates(ListResourceTemplates) -> ListResourceTemplatesResult,
        read_resource(ReadResource) -> ReadResourceResult,
        subscribe(Subscribe) -> (),
        unsubscribe(Unsubscribe) -> (),
        list_prompts(ListPrompts) -> ListPromptsResult,
        get_prompt(GetPrompt) -> GetPromptResult,
        complete(Complete) -> CompleteResult,
        call_tool_as_task(CallTool) -> CreateTaskResult,
    );

    fn tasks(&self) -> Option<&Tasks> {
        H::tasks(self)
    }

    fn tool_definition(&self, tool: &str) -> Option<RawJson> {
        H::tool_definition(self, tool)
    }

    fn session_opened(&self, session: &SessionView) {
        H::session_opened(self, session);
    }

    fn session_selection(&self, session: SessionId) -> Option<RawJson> {
        H::session_selection(self, session)
    }

    fn session_restored(&self, session: &SessionView, selection: Option<&RawJson>) {
        H::session_restored(self, session, selection);
    }

    fn session_closed(&self, session: SessionId) {
        H::session_closed(self, session);
    }

    fn notified(&self, session: SessionId, notification: &Notification) {
        H::notified(self, session, notification);
    }
}
