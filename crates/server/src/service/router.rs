//! The single match from a request to the handler's method.

use protomcp_types::{CallToolResult, ErrorObject, Notification, RawJson};

use crate::call::catch_unwind::catch_unwind;
use crate::call::context::Context;
use crate::service::Service;
use crate::service::handler::Handler;
use crate::service::observer::SessionObserver;
use protomcp_session::{ServerRequest, ServerResult, SessionId, SessionView};

/// Makes a [`Service`] of a [`Handler`], and the observer that its methods for sessions are. Made by
/// [`Server::from_handler`](crate::Server::from_handler) and
/// [`Server::with_sessions`](crate::Server::with_sessions), which register both.
#[derive(Debug)]
pub struct Router<H>(H);

impl<H: Handler> Router<H> {
    pub(crate) fn new(handler: H) -> Self {
        Self(handler)
    }

    /// The handler.
    pub fn handler(&self) -> &H {
        &self.0
    }
}

impl<H: Handler> Service for Router<H> {
    /// The futures of a handler are large: in boxes, so that the services around this one do not move them.
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        match request {
            ServerRequest::CallTool(call) if call.task.is_none() => {
                let name = call.name.clone();
                match catch_unwind(|| Box::pin(self.0.call_tool(call, context))).await {
                    Ok(outcome) => outcome.map(ServerResult::CallTool),
                    Err(why) => {
                        tracing::error!(tool = name, why, "a tool panicked");
                        Ok(CallToolResult::error(format!("tool {name:?} panicked: {why}")).into())
                    }
                }
            }
            request => Box::pin(self.answer(request, context)).await,
        }
    }
}

impl<H: Handler> Router<H> {
    /// Answers a request that is not a plain call.
    async fn answer(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        match request {
            ServerRequest::ListTools(request) => self.0.list_tools(request, context).await.map(ServerResult::ListTools),
            ServerRequest::CallTool(call) => self.0.call_tool_as_task(call, context).await.map(Into::into),
            ServerRequest::ListResources(request) => self.0.list_resources(request, context).await.map(Into::into),
            ServerRequest::ListResourceTemplates(request) => {
                self.0.list_resource_templates(request, context).await.map(Into::into)
            }
            ServerRequest::ReadResource(request) => self.0.read_resource(request, context).await.map(Into::into),
            ServerRequest::Subscribe(request) => self.0.subscribe(request, context).await.map(|()| ServerResult::Empty),
            ServerRequest::Unsubscribe(request) => {
                self.0.unsubscribe(request, context).await.map(|()| ServerResult::Empty)
            }
            ServerRequest::ListPrompts(request) => self.0.list_prompts(request, context).await.map(Into::into),
            ServerRequest::GetPrompt(request) => self.0.get_prompt(request, context).await.map(Into::into),
            ServerRequest::Complete(request) => self.0.complete(request, context).await.map(Into::into),
            ServerRequest::GetTask(_)
            | ServerRequest::GetTaskPayload(_)
            | ServerRequest::ListTasks(_)
            | ServerRequest::CancelTask(_) => match self.0.tasks() {
                Some(tasks) => tasks.answer(request, &context).await,
                None => Err(ErrorObject::method_not_found(request.method())),
            },
            ServerRequest::Other { method, params: _ } => Err(ErrorObject::method_not_found(&method)),
        }
    }
}

impl<H: Handler> SessionObserver for Router<H> {
    fn opened(&self, session: &SessionView) {
        self.0.session_opened(session);
    }

    fn selection(&self, session: SessionId) -> Option<RawJson> {
        self.0.session_selection(session)
    }

    fn restored(&self, session: &SessionView, selection: Option<&RawJson>) {
        self.0.session_restored(session, selection);
    }

    fn closed(&self, session: SessionId) {
        if let Some(tasks) = self.0.tasks() {
            tasks.closed(session);
        }
        self.0.session_closed(session);
    }

    fn notified(&self, session: SessionId, notification: &Notification) {
        self.0.notified(session, notification);
    }
}
