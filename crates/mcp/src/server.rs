//! A service, served to any number of hosts at once.
//!
//! `Server` starts one task per connection (`server/drive`), which owns the session and both ends of the transport, and
//! one task per call (`server/call`) unless told otherwise. `Sessions` is the other door: whoever knows that a list has changed, that
//! something is worth a log message, or that it is time to stop, tells all hosts or one of them.

mod call;
mod drive;

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use protomcp_types::{HostMethod, Level, RawJson};
use tokio_util::sync::CancellationToken;

use crate::ask::{AskError, ask};
use crate::handler::Handler;
use crate::info::{Limits, ServerInfo};
use crate::outbox::Outbox;
use crate::router::Router;
use crate::server::drive::Driver;
use crate::service::{Layer, Service};
use crate::session::announce::List;
use crate::session::{SessionId, SessionView};
use crate::transport::{Transport, TransportError};

/// Serves a [`Service`]. Cloning is cheap; all clones serve the same sessions.
pub struct Server<S> {
    sessions: Sessions,
    service: Arc<S>,
    in_place: bool,
}

/// The open sessions of a server, and what can be told to them. Cloning is cheap.
///
/// It exists before the server does, so that a service can hold it.
#[derive(Clone)]
pub struct Sessions(Arc<Hub>);

struct Hub {
    info: Arc<ServerInfo>,
    limits: Limits,
    open: Mutex<HashMap<SessionId, Arc<Outbox>>>,
    last: AtomicU64,
    shutdown: CancellationToken,
}

/// Who is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// All open sessions.
    Everyone,
    /// One of them.
    Session(SessionId),
}

/// Why serving a host ended early. Calls that were running have been cancelled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The connection broke. [`TransportError::Closed`]: the host went away with answers still on their way.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The host has stopped reading; the last answers could not be written.
    #[error("the host does not read its answers")]
    Stalled,
}

impl<S: Service> Server<S> {
    /// Serves `service` with default limits.
    pub fn new(info: ServerInfo, service: S) -> Self {
        Self::over(Sessions::new(info, Limits::default()), service)
    }

    /// Serves `service` to sessions that are already known elsewhere.
    pub fn over(sessions: Sessions, service: S) -> Self {
        Self { sessions, service: Arc::new(service), in_place: false }
    }

    /// Wraps the service. What was layered last sees a request first.
    #[must_use]
    pub fn layer<L: Layer<Arc<S>>>(self, layer: L) -> Server<L::Service> {
        Server { sessions: self.sessions, service: Arc::new(layer.layer(self.service)), in_place: self.in_place }
    }

    /// Runs calls in the task of their session instead of a task each. That halves the cost of a short call, but one
    /// that computes for long holds up its session: for services that mostly wait for somebody else.
    #[must_use]
    pub fn in_place(mut self) -> Self {
        self.in_place = true;
        self
    }

    /// The open sessions.
    #[must_use]
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Serves one host until it closes its end, [`Sessions::shutdown`] is called, or the connection breaks.
    ///
    /// At the end no new requests are taken; running ones may finish within [`Limits::drain_timeout`] and their
    /// answers are written. The others are then cancelled, and what they answer within [`Limits::cancel_grace`] is
    /// written, too; what is left is answered with −32603. Dropping the future cancels everything at once. Must be
    /// called inside a tokio runtime with timers.
    ///
    /// # Errors
    /// When the connection breaks, or the host does not read the last answers.
    pub async fn serve(&self, transport: impl Transport) -> Result<(), ServeError> {
        let (source, sink) = transport.split();
        // The work happens in a task of its own: in the future of `block_on`, I/O is twice as slow.
        let mut task = AbortOnDrop(tokio::spawn(Driver::new(self, source, sink).run()));
        match (&mut task.0).await {
            Ok(outcome) => outcome,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime is shutting down.
            Err(_) => Err(ServeError::Transport(TransportError::Closed)),
        }
    }
}

impl<H: Handler> Server<Router<H>> {
    /// Serves a handler, which says itself what it is.
    pub fn of(handler: H) -> Self {
        Self::new(handler.info(), Router::new(handler))
    }
}

impl Sessions {
    /// None yet.
    #[must_use]
    pub fn new(info: ServerInfo, limits: Limits) -> Self {
        Self(Arc::new(Hub {
            info: Arc::new(info),
            limits,
            open: Mutex::default(),
            last: AtomicU64::new(0),
            shutdown: CancellationToken::new(),
        }))
    }

    /// What the server says about itself.
    #[must_use]
    pub fn info(&self) -> &Arc<ServerInfo> {
        &self.0.info
    }

    /// The limits of each session.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// How many are open.
    #[must_use]
    pub fn count(&self) -> usize {
        self.open().len()
    }

    /// Tells hosts that the tool list has changed: once for changes in quick succession, after the answers of calls
    /// that may have caused it, and only those whose handshake is complete. Without `list_changed` among the
    /// capabilities nobody was promised anything, and nobody is told.
    pub fn tools_changed(&self, audience: Audience) {
        self.each(audience, |outbox| outbox.changed(List::Tools));
    }

    /// As [`Sessions::tools_changed`], for resources and their templates.
    pub fn resources_changed(&self, audience: Audience) {
        self.each(audience, |outbox| outbox.changed(List::Resources));
    }

    /// As [`Sessions::tools_changed`], for prompts.
    pub fn prompts_changed(&self, audience: Audience) {
        self.each(audience, |outbox| outbox.changed(List::Prompts));
    }

    /// Tells the hosts that have subscribed to a resource that it has changed. Changes of one resource in quick
    /// succession are told together when a host does not keep up.
    pub fn resource_updated(&self, uri: &str) {
        self.each(Audience::Everyone, |outbox| outbox.updated(uri));
    }

    /// The open sessions whose hosts have introduced themselves, oldest first, with what each host can do.
    #[must_use]
    pub fn views(&self) -> Vec<SessionView> {
        let view = |(id, outbox): (&SessionId, &Arc<Outbox>)| {
            outbox.client().map(|client| SessionView { id: *id, client: Arc::clone(client) })
        };
        let mut views: Vec<_> = self.open().iter().filter_map(view).collect();
        views.sort_unstable_by_key(|view| view.id);
        views
    }

    /// Asks one host something that belongs to no call; see [`Context::ask`](crate::Context::ask).
    ///
    /// # Errors
    /// As [`Context::ask`](crate::Context::ask); also when the handshake is not complete.
    ///
    /// # Panics
    /// When the parameters do not serialize as an object.
    pub fn ask<M: HostMethod>(
        &self,
        session: SessionId,
        params: &M::Params,
        timeout: Duration,
    ) -> impl Future<Output = Result<M::Result, AskError>> + Send + use<M> {
        let outbox = self.open().get(&session).cloned();
        let answer = outbox.and_then(|outbox| {
            let client = Arc::clone(outbox.client()?);
            Some(ask::<M>(&outbox, &client, None, params, timeout))
        });
        async move {
            match answer {
                Some(answer) => answer.await,
                None => Err(AskError::Gone),
            }
        }
    }

    /// Sends hosts a log message, if they want messages of this level.
    pub fn log(&self, audience: Audience, level: Level, logger: Option<&str>, data: &RawJson) {
        self.each(audience, |outbox| outbox.log(level, logger, data));
    }

    /// Ends all sessions politely, and those that are yet to come. See [`Server::serve`].
    pub fn shutdown(&self) {
        self.0.shutdown.cancel();
    }

    /// Cancelling this token is [`Sessions::shutdown`].
    #[must_use]
    pub fn shutdown_token(&self) -> CancellationToken {
        self.0.shutdown.clone()
    }

    fn each(&self, audience: Audience, tell: impl Fn(&Outbox)) {
        let open = self.open();
        match audience {
            Audience::Everyone => open.values().for_each(|outbox| tell(outbox)),
            Audience::Session(id) => {
                if let Some(outbox) = open.get(&id) {
                    tell(outbox);
                }
            }
        }
    }

    fn join(&self, outbox: &Arc<Outbox>) -> SessionId {
        let id = SessionId::new(self.0.last.fetch_add(1, Ordering::Relaxed) + 1);
        self.open().insert(id, Arc::clone(outbox));
        id
    }

    fn leave(&self, id: SessionId) {
        self.open().remove(&id);
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Outbox>>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Clone for Server<S> {
    fn clone(&self) -> Self {
        Self { sessions: self.sessions.clone(), service: Arc::clone(&self.service), in_place: self.in_place }
    }
}

impl<S> fmt::Debug for Server<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("sessions", &self.sessions).finish_non_exhaustive()
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("info", &self.0.info).field("open", &self.count()).finish_non_exhaustive()
    }
}

struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
