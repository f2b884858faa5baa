//! The handle to one session: its client, messages and requests to it, and its end.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use protomcp_types::{ClientMethod, Level, RawJson};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::call::ask::Ask;
use crate::records::session_notice::Audience;
use crate::serve::Server;
use crate::serve::drive::Driver;
use crate::serve::peer::Peer;
use crate::serve::serve_error::ServeError;
use crate::service::Service;
use crate::state::handle::ServerHandle;
use protomcp_session::{ClientInfo, SessionId};
use protomcp_transport::{Transport, TransportError};

/// A handle to one session. Cloning is cheap; dropping all handles does not end the session.
#[derive(Clone)]
pub struct SessionHandle(Arc<Inner>);

struct Inner {
    id: SessionId,
    sessions: ServerHandle,
    stop: CancellationToken,
    task: AbortHandle,
    ended: watch::Receiver<Option<CloseReason>>,
}

/// The reason for the end of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// The client has closed its end, and has all its answers.
    ClientLeft,
    /// [`SessionHandle::close`] was called, and the client has all its answers.
    Closed,
    /// [`ServerHandle::shutdown`] was called, and the client has all its answers.
    Shutdown,
    /// The connection broke, for this reason.
    Broken(String),
    /// The client has stopped reading; the last answers could not be written.
    Stalled,
    /// The client did not answer a ping
    /// ([`Limits::ping_interval`](crate::Limits::ping_interval)).
    Silent,
    /// The session did not end in time and was aborted, or the runtime was shut down.
    Aborted,
}

impl<S: Service> Server<S> {
    /// Serves one client in the background; see [`Server::serve`]. Must be called inside a tokio runtime with timers.
    pub fn connect(&self, transport: impl Transport) -> SessionHandle {
        let peer = Peer::of(&transport);
        let (source, sink) = transport.split();
        let stop = self.0.sessions.shutdown_token().child_token();
        let driver = Driver::new(&self.0, peer, source, sink, stop.clone());
        let (id, sessions) = (driver.id(), self.0.sessions.clone());
        let running = tokio::spawn(driver.run());
        let task = running.abort_handle();
        let (tell, ended) = watch::channel(None);
        let inner = Inner { id, sessions: sessions.clone(), stop: stop.clone(), task, ended };
        tokio::spawn(async move {
            let reason = match running.await {
                Ok(Ok(())) if sessions.is_shut_down() => CloseReason::Shutdown,
                Ok(Ok(())) if stop.is_cancelled() => CloseReason::Closed,
                Ok(Ok(())) => CloseReason::ClientLeft,
                Ok(Err(ServeError::Stalled)) => CloseReason::Stalled,
                Ok(Err(ServeError::Silent)) => CloseReason::Silent,
                Ok(Err(ServeError::Transport(error))) => CloseReason::Broken(describe(&error)),
                Err(_) => CloseReason::Aborted,
            };
            tell.send_replace(Some(reason));
        });
        SessionHandle(Arc::new(inner))
    }
}

impl SessionHandle {
    /// Identifies the session within its server.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.0.id
    }

    /// The client; `None` before the handshake, after the end, and on a connection without one.
    #[must_use]
    pub fn client(&self) -> Option<Arc<ClientInfo>> {
        self.0.sessions.view(self.0.id).map(|view| view.client)
    }

    /// Ends the session as [`Server::serve`] does at the end: running calls may finish, within the limits of the
    /// session and within `deadline`. Then the session is aborted.
    pub async fn close(&self, deadline: Duration) -> CloseReason {
        self.0.stop.cancel();
        match tokio::time::timeout(deadline, self.closed()).await {
            Ok(reason) => reason,
            Err(_) => {
                self.0.task.abort();
                self.closed().await
            }
        }
    }

    /// Waits for the end.
    pub async fn closed(&self) -> CloseReason {
        let mut ended = self.0.ended.clone();
        match ended.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or(CloseReason::Aborted),
            // The runtime is shutting down.
            Err(_) => CloseReason::Aborted,
        }
    }

    /// True if it has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.ended.borrow().is_some()
    }

    /// Makes a request to the client that belongs to no call; see [`ServerHandle::ask`].
    ///
    /// # Panics
    /// When the parameters do not serialize as an object.
    pub fn ask<M: ClientMethod>(&self, params: &M::Params) -> Ask<M> {
        self.0.sessions.ask(self.0.id, params)
    }

    /// Sends the client a log message, if it wants messages of this level.
    pub fn log(&self, level: Level, logger: Option<&str>, data: &RawJson) {
        self.0.sessions.log(Audience::Session(self.0.id), level, logger, data);
    }
}

fn describe(error: &TransportError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

impl fmt::Debug for SessionHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionHandle")
            .field("id", &self.0.id)
            .field("ended", &*self.0.ended.borrow())
            .finish_non_exhaustive()
    }
}
