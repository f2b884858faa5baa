//! One line in the log per request.

use std::time::Instant;

use protomcp_types::{ErrorObject, Notification};

use crate::context::Context;
use crate::service::{Layer, Service};
use protomcp_session::{ServerRequest, ServerResult, SessionId, SessionView};

/// Logs every request with its outcome and how long it took, at debug level.
#[derive(Debug, Clone, Copy, Default)]
pub struct TraceLayer;

/// A service behind a [`TraceLayer`].
#[derive(Debug)]
pub struct Trace<S>(S);

impl TraceLayer {
    /// There is nothing to choose.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl<S: Service> Layer<S> for TraceLayer {
    type Service = Trace<S>;

    fn layer(self, inner: S) -> Trace<S> {
        Trace(inner)
    }
}

impl<S: Service> Service for Trace<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        if !tracing::enabled!(tracing::Level::DEBUG) {
            return self.0.call(request, context).await;
        }
        let start = Instant::now();
        let method = request.method().to_owned();
        let tool = request.tool().unwrap_or_default().to_owned();
        let (session, id) = (context.session(), context.request_id().clone());
        let outcome = self.0.call(request, context).await;
        let how = match &outcome {
            Ok(ServerResult::CallTool(result)) if result.is_error => "tool error".to_owned(),
            Ok(_) => "ok".to_owned(),
            Err(error) => error.to_string(),
        };
        tracing::debug!(%session, request = %id, method, tool, outcome = how, elapsed = ?start.elapsed(), "answered");
        outcome
    }

    fn session_opened(&self, session: &SessionView) {
        let client = &session.client.implementation;
        tracing::debug!(session = %session.id, host = client.name, version = %session.client.version, "session opened");
        self.0.session_opened(session);
    }

    fn session_closed(&self, session: SessionId) {
        tracing::debug!(%session, "session closed");
        self.0.session_closed(session);
    }

    fn told(&self, session: SessionId, notification: &Notification) {
        self.0.told(session, notification);
    }
}
