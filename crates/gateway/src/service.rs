//! The gateway as a service: the match from requests to methods, and the events of its clients' sessions.

use protomcp_server::{Context, Owner, ServerRequest, ServerResult, Service, SessionId, SessionObserver, SessionView};
use protomcp_types::{ErrorObject, Level, Notification, Params, method};

use crate::gateway::Gateway;
use crate::list::ListKind;

impl Service for Gateway {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        let this = &self.inner;
        match request {
            ServerRequest::CallTool(call) if call.task.is_some() => this.begin_task(call, context).await,
            ServerRequest::CallTool(call) => this.call_tool(call, context).await,
            ServerRequest::ListTools(request) => this.list(ListKind::Tools, request.cursor, &context).await,
            ServerRequest::ListResources(request) => this.list(ListKind::Resources, request.cursor, &context).await,
            ServerRequest::ListResourceTemplates(request) => {
                this.list(ListKind::Templates, request.cursor, &context).await
            }
            ServerRequest::ListPrompts(request) => this.list(ListKind::Prompts, request.cursor, &context).await,
            ServerRequest::ReadResource(request) => this.read_resource(request, &context).await,
            ServerRequest::Subscribe(request) => this.subscribe(request, &context).await.map(|()| ServerResult::Empty),
            ServerRequest::Unsubscribe(request) => {
                this.unsubscribe(&request.uri, &context).await.map(|()| ServerResult::Empty)
            }
            ServerRequest::GetPrompt(request) => this.get_prompt(request, &context).await,
            ServerRequest::Complete(request) => this.complete(request, &context).await,
            ServerRequest::GetTask(_)
            | ServerRequest::GetTaskPayload(_)
            | ServerRequest::ListTasks(_)
            | ServerRequest::CancelTask(_) => this.tasks.answer(request, &context).await,
            ServerRequest::Other { ref method, .. } => match this.only() {
                // Methods that this program does not know.
                Some(pool) => this.pass(pool, request, &context).await,
                None => Err(ErrorObject::method_not_found(method)),
            },
        }
    }
}

impl SessionObserver for Gateway {
    fn closed(&self, session: SessionId) {
        self.inner.tasks.closed(session);
        self.inner.leave(session);
    }

    fn log_level_set(&self, session: SessionId, level: Level) {
        self.inner.set_level(session, level);
    }

    fn opened(&self, session: &SessionView) {
        // A server that asked for the roots before there was a client asks again.
        if session.owner == Owner::Local && session.client.capabilities.has_roots() {
            self.roots_changed(session.id);
        }
    }

    fn notified(&self, session: SessionId, notification: &Notification) {
        if notification.method == method::ROOTS_CHANGED {
            self.roots_changed(session);
        }
    }
}

impl Gateway {
    fn roots_changed(&self, session: SessionId) {
        // In a shared session the server would take the roots of one user for the roots of all.
        let is_only_user = self.inner.clients.sole_owner().is_some();
        let concerned = self.inner.pools.iter().filter_map(|pool| pool.existing(session));
        let concerned = concerned.filter(|upstream| upstream.client.is_some() || is_only_user);
        let sessions = concerned.filter_map(|upstream| upstream.open_session());
        sessions.for_each(|session| session.notify(method::ROOTS_CHANGED, Params::Absent));
    }
}
