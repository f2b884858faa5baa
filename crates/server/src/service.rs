//! The one seam of a server: a service answers requests, a layer wraps a service.

use std::future::Future;
use std::sync::Arc;

use protomcp_types::{ErrorObject, Notification};

use crate::context::Context;
use protomcp_session::{ServerRequest, ServerResult, SessionId, SessionView};

/// Answers requests.
///
/// Each call runs as a task of its own. When the host cancels it, its [`Context`] says so, and after a grace period the
/// future is dropped; either way nothing is answered. When the session ends the context says so as well, and what the
/// call answers within the grace period is written.
pub trait Service: Send + Sync + 'static {
    /// Answers one request.
    fn call(
        &self,
        request: ServerRequest,
        context: Context,
    ) -> impl Future<Output = Result<ServerResult, ErrorObject>> + Send;

    /// A host has introduced itself. Called before the handshake is answered; must not block.
    fn session_opened(&self, session: &SessionView) {
        let _ = session;
    }

    /// A session that was opened has ended. Called once all of its calls have ended or been cancelled; must not block.
    fn session_closed(&self, session: SessionId) {
        let _ = session;
    }

    /// The host has told something that the session does not deal with by itself, such as
    /// `notifications/roots/list_changed`. Called in the order of the host's messages; must not block.
    fn told(&self, session: SessionId, notification: &Notification) {
        let _ = (session, notification);
    }
}

/// Wraps a service.
pub trait Layer<S> {
    /// The service around the service.
    type Service: Service;

    /// Wraps `inner`.
    fn layer(self, inner: S) -> Self::Service;
}

impl<S: Service> Service for Arc<S> {
    fn call(
        &self,
        request: ServerRequest,
        context: Context,
    ) -> impl Future<Output = Result<ServerResult, ErrorObject>> + Send {
        S::call(self, request, context)
    }

    fn session_opened(&self, session: &SessionView) {
        S::session_opened(self, session);
    }

    fn session_closed(&self, session: SessionId) {
        S::session_closed(self, session);
    }

    fn told(&self, session: SessionId, notification: &Notification) {
        S::told(self, session, notification);
    }
}
