//! Serves a service to any number of clients concurrently.
//!
//! `Server` starts one task per connection (`serve/drive.rs`), which owns the session and both ends of the transport,
//! and one task per call (`serve/call.rs`) unless the calls run inline. `ServerHandle` (`state/handle.rs`) sends
//! changes of lists, log messages and requests to all sessions or to one, and shuts them down.
//!
//! The highest room of the crate: it uses all others, and none uses it.

pub(crate) mod access_log;
mod call;
mod drive;
mod elsewhere;
mod ending;
mod lazy_tools;
mod listened_resources;
pub(crate) mod membership;
mod parts;
pub(crate) mod peer;
mod round_trip;
pub(crate) mod running_call;
pub(crate) mod serve_error;
pub(crate) mod session_handle;
mod shutdown;
pub(crate) mod stateless;
mod stateless_tasks;
mod timer;

use std::fmt;
use std::sync::Arc;

use crate::layer::lazy_tools::request_target::RequestTarget;
use crate::serve::drive::Driver;
use crate::serve::parts::Parts;
use crate::serve::peer::Peer;
use crate::serve::serve_error::ServeError;
use crate::serve::stateless::Replies;
use crate::service::handler::Handler;
use crate::service::observer::{Observers, SessionObserver};
use crate::service::outgoing_layer::OutgoingLayer;
use crate::service::router::Router;
use crate::service::{Layer, Service};
use crate::state::handle::ServerHandle;
use protomcp_session::{Extensions, Limits, StatelessMeta};
use protomcp_transport::{Transport, TransportError};
use protomcp_types::{RawJson, Request};
use tokio_util::task::AbortOnDropHandle;

/// Serves a [`Service`]. Cloning is cheap; all clones serve the same sessions.
pub struct Server<S>(Parts<S>);

impl<S: Service> Server<S> {
    /// Serves `service` to `sessions`. For services that answer every request themselves; a [`Handler`] is served by
    /// [`Server::from_handler`] and [`Server::with_sessions`].
    pub fn new(sessions: ServerHandle, service: S) -> Self {
        Self::shared(sessions, Arc::new(service))
    }

    fn shared(sessions: ServerHandle, service: Arc<S>) -> Self {
        let observers = Observers::default();
        Self(Parts {
            sessions,
            service,
            observers,
            definitions: None,
            targets: RequestTarget::needed_by,
            sending: Vec::new(),
            inline_calls: false,
        })
    }

    /// Wraps the service. The layer that was added last sees a request first.
    #[must_use]
    pub fn layer<L: Layer<Arc<S>>>(self, layer: L) -> Server<L::Service> {
        let Parts { sessions, service, observers, definitions, targets, sending, inline_calls } = self.0;
        let service = Arc::new(layer.layer(service));
        Server(Parts { sessions, service, observers, definitions, targets, sending, inline_calls })
    }

    /// Registers an observer of the sessions, in addition to those that are registered already.
    #[must_use]
    pub fn observe(mut self, observer: Arc<impl SessionObserver>) -> Self {
        self.0.observers.add(observer);
        self
    }

    /// Looks up the definitions of tools with `definitions`; see [`Handler::tool_definition`], which is used otherwise.
    #[must_use]
    pub fn with_tool_definitions(
        mut self,
        definitions: impl Fn(&str) -> Option<RawJson> + Send + Sync + 'static,
    ) -> Self {
        self.0.definitions = Some(Arc::new(definitions));
        self
    }

    /// The definition of a tool as every client reads it, if the server knows it.
    #[must_use]
    pub fn tool_definition(&self, tool: &str) -> Option<RawJson> {
        self.0.definitions.as_ref()?(tool)
    }

    /// Adds a layer for notifications and for requests to clients. The layer that was added last sees a message first,
    /// and the answer to a request last.
    #[must_use]
    pub fn outgoing_layer(mut self, layer: impl OutgoingLayer) -> Self {
        self.0.sending.insert(0, Arc::new(layer));
        self
    }

    /// Runs calls in the task of their session instead of a task each. That halves the cost of a short call, but a call
    /// that computes for long blocks its session: for services that mostly wait.
    #[must_use]
    pub fn inline_calls(mut self) -> Self {
        self.0.inline_calls = true;
        self
    }

    /// True if calls run in the task of their session ([`Server::inline_calls`]).
    #[must_use]
    pub fn has_inline_calls(&self) -> bool {
        self.0.inline_calls
    }

    /// The service inside of all its layers, for example as one of tower's (`layer::tower`).
    #[must_use]
    pub fn service(&self) -> &Arc<S> {
        &self.0.service
    }

    /// The open sessions.
    #[must_use]
    pub fn handle(&self) -> &ServerHandle {
        &self.0.sessions
    }

    /// Serves one client until it closes its end, [`ServerHandle::shutdown`] is called, or the connection breaks.
    ///
    /// At the end no new requests are taken; running ones may finish within [`Limits::drain_timeout`] and their
    /// answers are written. The others are then cancelled, and what they answer within [`Limits::cancel_grace`] is
    /// written, too; what is left is answered with −32603. Dropping the future cancels everything immediately. Must be
    /// polled inside a tokio runtime with timers. The future borrows nothing, so that it can be spawned.
    ///
    /// # Errors
    /// When the connection breaks, or the client does not read the last answers.
    pub fn serve<T: Transport>(&self, transport: T) -> impl Future<Output = Result<(), ServeError>> + Send + use<S, T> {
        let server = self.clone();
        async move {
            // The work happens in its own task: in the future of `block_on`, I/O is twice as slow.
            match AbortOnDropHandle::new(tokio::spawn(server.serve_inline(transport))).await {
                Ok(outcome) => outcome,
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                // The runtime is shutting down.
                Err(_) => Err(ServeError::Transport(TransportError::Closed)),
            }
        }
    }
}

impl<S: Service> Server<S> {
    /// Like [`Server::serve`], but in the task of the caller, which is then as big as the session; for callers that start
    /// a task for each session anyway.
    ///
    /// # Errors
    /// See [`Server::serve`].
    pub fn serve_inline<T: Transport>(
        &self,
        transport: T,
    ) -> impl Future<Output = Result<(), ServeError>> + Send + use<S, T> {
        let peer = Peer::of(&transport);
        let (source, sink) = transport.split();
        Driver::new(&self.0, peer, source, sink, self.0.sessions.shutdown_token()).run()
    }

    /// Serves one request of MCP 2026-07-28 without a session; `meta` is its `_meta`. Requests of other revisions are
    /// answered with an error. `known` is the knowledge of the transport about the request
    /// ([`Context::extension`](crate::Context::extension)); the caller bounds the bytes of requests. Must be called
    /// inside a tokio runtime with timers.
    ///
    /// At a shutdown a call may end within [`Limits::drain_timeout`], as in [`Server::serve`].
    pub fn answer(&self, request: Request, meta: &StatelessMeta, peer: Peer, known: Extensions) -> Replies {
        Replies::alone(&self.0, request, meta, peer, known)
    }
}

impl<H: Handler> Server<Router<H>> {
    /// Serves a handler with default limits.
    pub fn from_handler(handler: H) -> Self {
        Self::with_sessions(ServerHandle::new(handler.info(), Limits::default()), handler)
    }

    /// Serves a handler to `sessions`, which exist before it does: the handler can hold them.
    pub fn with_sessions(sessions: ServerHandle, handler: H) -> Self {
        let router = Arc::new(Router::new(handler));
        let server = Self::shared(sessions, Arc::clone(&router)).observe(Arc::clone(&router));
        server.with_tool_definitions(move |tool| router.handler().tool_definition(tool))
    }
}

impl<S> Clone for Server<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S> fmt::Debug for Server<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("sessions", &self.0.sessions).finish_non_exhaustive()
    }
}
