//! The handle on one connection, and its server as handlers see it.

use std::sync::Arc;
use std::time::Duration;

use protomcp_session::{ClientLimits, CloseReason, RequestError, ServerRequest, ServerView};
use protomcp_types::{
    CallTool, Complete, CompleteArgument, Discover, GetPrompt, Level, Method, Params, Ping, Progress, ProgressToken,
    RawJson, ReadResource, Reference, SetLevel, Subscribe, Unsubscribe,
};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::cache::Kind;
use crate::command::{Command, Status};
use crate::request::{Forwarded, Request, RequestService};
use crate::shared::Shared;
use crate::subscribing::{Subscribing, Watching};

/// One connection to a server. Cloning is cheap; the connection closes when the last clone and the last request are
/// gone.
#[derive(Debug, Clone)]
pub struct ClientSession {
    pub(crate) shared: Arc<Shared>,
    pub(crate) commands: mpsc::UnboundedSender<Command>,
    /// The layers of the client.
    pub(crate) service: RequestService,
}

impl ClientSession {
    pub(crate) fn new(shared: Arc<Shared>, commands: mpsc::UnboundedSender<Command>, service: RequestService) -> Self {
        Self { shared, commands, service }
    }

    /// The same session, for requests that pass no layer.
    pub(crate) fn without_layers(&self) -> Self {
        Self { service: RequestService::default(), ..self.clone() }
    }

    /// Tells the sessions of one client apart.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.shared.id
    }

    /// The server, as it has described itself, and the revision of the connection.
    #[must_use]
    pub fn server(&self) -> Arc<ServerView> {
        self.shared.server().expect("a session is handed out when its connection is open")
    }

    /// Any request: `.await` sends it.
    ///
    /// ```
    /// use protomcp_client::{ClientSession, RequestError};
    /// use protomcp_types::{ListTools, ListToolsResult};
    ///
    /// async fn page(session: &ClientSession) -> Result<ListToolsResult, RequestError> {
    ///     session.request::<ListTools>(&ListTools::default()).await
    /// }
    /// ```
    pub fn request<M: Method<Params: Serialize>>(&self, params: &M::Params) -> Request<M> {
        Request::of_params(self, Params::of(params))
    }

    /// A request as a server reads it; for proxies. Arguments are sent byte for byte, and `.raw()` sends the request and
    /// returns the result as text.
    pub fn forward(&self, request: ServerRequest) -> Request<Forwarded> {
        Request::new(self, request)
    }

    /// Sends a notification. Revisions without a session have none of the client, and nothing is sent.
    pub fn notify(&self, method: &'static str, params: Params) {
        self.tell(Command::Notify(method, params));
    }

    /// Calls a tool. A tool that fails answers too, with `is_error`.
    pub fn call_tool(&self, name: impl Into<String>, arguments: &(impl Serialize + ?Sized)) -> Request<CallTool> {
        match RawJson::of(arguments) {
            Ok(arguments) => self.call(CallTool::new(name).with_arguments(arguments)),
            Err(error) => Request::failed(self, error.to_string()),
        }
    }

    /// Calls a tool with arguments that are text already, which are sent byte for byte.
    pub fn call(&self, call: CallTool) -> Request<CallTool> {
        Request::new(self, ServerRequest::CallTool(call))
    }

    /// Reads a resource.
    pub fn read_resource(&self, uri: impl Into<String>) -> Request<ReadResource> {
        Request::new(self, ServerRequest::ReadResource(ReadResource::new(uri)))
    }

    /// Gets a prompt; the arguments are an object of strings.
    pub fn get_prompt(&self, name: impl Into<String>, arguments: &(impl Serialize + ?Sized)) -> Request<GetPrompt> {
        match RawJson::of(arguments) {
            Ok(arguments) => {
                let prompt = GetPrompt { arguments: Some(arguments), ..GetPrompt::new(name) };
                Request::new(self, ServerRequest::GetPrompt(prompt))
            }
            Err(error) => Request::failed(self, error.to_string()),
        }
    }

    /// Completes the argument of a prompt or of a resource template.
    pub fn complete(
        &self,
        reference: Reference,
        argument: impl Into<String>,
        value: impl Into<String>,
    ) -> Request<Complete> {
        let argument = CompleteArgument { name: argument.into(), value: value.into() };
        let request = Complete { reference, argument, context: None, meta: None };
        Request::new(self, ServerRequest::Complete(request))
    }

    /// Asks for notifications when a resource changes, which
    /// [`Client::on_resource_updated`](crate::Client::on_resource_updated) gets. Without a session the subscription is
    /// a stream that this session keeps open (`subscriptions/listen`). Dropping the future ends the subscription, unless
    /// there was one of this session before.
    ///
    /// # Errors
    /// If the server refuses, or does not honour the subscription.
    pub async fn subscribe(&self, uri: impl Into<String> + Send) -> Result<(), RequestError> {
        let uri = uri.into();
        if self.shared.is_stateless() {
            return self.watch(uri, true).await;
        }
        let subscribing = Subscribing::begin(&self.commands, uri.clone());
        let request: Request<Subscribe> = Request::new(self, ServerRequest::Subscribe(Subscribe::new(uri)));
        let outcome = request.await;
        subscribing.end(outcome.as_ref().err());
        outcome.map(drop)
    }

    /// Ends a subscription.
    ///
    /// # Errors
    /// If the server refuses.
    pub async fn unsubscribe(&self, uri: impl Into<String> + Send) -> Result<(), RequestError> {
        let uri = uri.into();
        if self.shared.is_stateless() {
            return self.watch(uri, false).await;
        }
        let request: Request<Unsubscribe> = Request::new(self, ServerRequest::Unsubscribe(Unsubscribe::new(&*uri)));
        request.await?;
        self.tell(Command::Unsubscribed(uri));
        Ok(())
    }

    async fn watch(&self, uri: String, is_wanted: bool) -> Result<(), RequestError> {
        let watching = Watching::begin(&self.commands, uri, is_wanted);
        match tokio::time::timeout(self.shared.total_timeout, watching.outcome()).await {
            Ok(outcome) => outcome.unwrap_or_else(|| Err(self.closed_error())).map(drop),
            Err(_) => Err(RequestError::TimedOut(self.shared.total_timeout)),
        }
    }

    /// Sets the least severe level of the log messages that the server sends. Without a session the level is sent with
    /// each request from here on.
    ///
    /// # Errors
    /// If the server refuses.
    pub async fn set_level(&self, level: Level) -> Result<(), RequestError> {
        if !self.shared.is_stateless() {
            self.request::<SetLevel>(&SetLevel { level }).await?;
        }
        self.tell(Command::LogLevel(level));
        Ok(())
    }

    /// Checks that the server answers. Revisions without `ping` use `server/discover`.
    ///
    /// # Errors
    /// If the server does not answer in time.
    pub async fn ping(&self) -> Result<(), RequestError> {
        if self.shared.is_stateless() {
            let request = Request::<Discover>::of_params(self, Ok(Params::Absent));
            return request.raw().await.map(drop);
        }
        self.request::<Ping>(&Ping {}).await.map(drop)
    }

    /// Drops all answers that would be used again. Call it when the user of the session changes: answers may belong to
    /// the user before. A request that fails for its authorization does so as well.
    pub fn forget_answers(&self) {
        self.shared.cache().invalidate(&Kind::ALL);
    }

    /// Closes the connection: requests without an answer fail, and the server's end is awaited for `deadline` at most.
    /// Without a deadline, drop the handles: the connection closes with the last one and the last request.
    /// Tasks of the server go on: they are not tied to a connection, and `on_task` has told their ids.
    /// Returns the reason of the end, which is another one if the connection was over before.
    pub async fn close(&self, deadline: Duration) -> CloseReason {
        self.tell(Command::Close(Instant::now() + deadline.min(ClientLimits::LONGEST)));
        self.closed().await
    }

    /// Waits until the connection is over.
    pub async fn closed(&self) -> CloseReason {
        closed(&self.shared).await
    }

    /// A handle that does not keep the connection open.
    #[must_use]
    pub fn downgrade(&self) -> WeakClientSession {
        let (shared, service) = (Arc::clone(&self.shared), self.service.clone());
        WeakClientSession { shared, commands: self.commands.downgrade(), service }
    }

    /// True if the connection is over.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(*self.shared.status.borrow(), Status::Closing(_) | Status::Closed(_)) || self.commands.is_closed()
    }

    pub(crate) fn tell(&self, command: Command) {
        // Without a receiver the connection is over, which each caller finds out by itself.
        drop(self.commands.send(command));
    }

    pub(crate) fn closed_error(&self) -> RequestError {
        match &*self.shared.status.borrow() {
            Status::Closing(reason) | Status::Closed(reason) => RequestError::Closed(reason.clone()),
            Status::Opening | Status::Open => RequestError::Closed(CloseReason::Requested),
        }
    }
}

/// A handle on one connection that does not keep it open: the connection closes when its last [`ClientSession`] and its
/// last request are gone.
#[derive(Debug, Clone)]
pub struct WeakClientSession {
    shared: Arc<Shared>,
    commands: mpsc::WeakUnboundedSender<Command>,
    service: RequestService,
}

impl WeakClientSession {
    /// The session; `None` if its last handle is gone.
    #[must_use]
    pub fn upgrade(&self) -> Option<ClientSession> {
        Some(ClientSession::new(Arc::clone(&self.shared), self.commands.upgrade()?, self.service.clone()))
    }

    /// Waits until the connection is over.
    pub async fn closed(&self) -> CloseReason {
        closed(&self.shared).await
    }
}

async fn closed(shared: &Shared) -> CloseReason {
    let mut status = shared.status.clone();
    let ended = status.wait_for(|status| matches!(status, Status::Closed(_))).await;
    match ended.as_deref() {
        Ok(Status::Closed(reason)) => reason.clone(),
        _ => CloseReason::Failed("the task of the connection has ended".into()),
    }
}

/// The origin of a request or notification. It does not keep the connection open.
#[derive(Debug, Clone)]
pub struct ServerContext {
    pub(crate) shared: Arc<Shared>,
    pub(crate) commands: mpsc::WeakUnboundedSender<Command>,
    service: RequestService,
    /// The server wants progress of its request under this token.
    token: Option<ProgressToken>,
}

impl ServerContext {
    /// The server of a session.
    pub(crate) fn new(session: &ClientSession) -> Self {
        let (shared, service) = (Arc::clone(&session.shared), session.service.clone());
        Self { shared, commands: session.commands.downgrade(), service, token: None }
    }

    /// For the handler of a request with these parameters.
    pub(crate) fn of_request(&self, params: &Params) -> Self {
        let token = params.member("_meta").and_then(protomcp_types::meta::progress_token);
        Self { token, ..self.clone() }
    }

    /// Tells the sessions of one client apart.
    #[must_use]
    pub fn session_id(&self) -> u64 {
        self.shared.id
    }

    /// The server, as it has described itself; `None` while the connection opens.
    #[must_use]
    pub fn server(&self) -> Option<Arc<ServerView>> {
        self.shared.server()
    }

    /// Reports the progress of the answer, if the server has asked for it. Without a session there are no such reports.
    pub fn progress(&self, progress: &Progress) {
        let (Some(token), Some(commands), Some(server)) = (&self.token, self.commands.upgrade(), self.server()) else {
            return;
        };
        if let Some(notification) = progress.to_notification(token, server.version) {
            // A connection at its end needs no reports.
            drop(commands.send(Command::Notify(protomcp_types::method::PROGRESS, notification.params)));
        }
    }

    /// The session, for requests to the server; `None` if its last handle is gone.
    #[must_use]
    pub fn session(&self) -> Option<ClientSession> {
        Some(ClientSession::new(Arc::clone(&self.shared), self.commands.upgrade()?, self.service.clone()))
    }
}
