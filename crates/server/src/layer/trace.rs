//! One line in the log per request, and per beginning and end of a session.

use std::time::Instant;

use protomcp_types::ErrorObject;

use crate::call::context::Context;
use crate::service::observer::SessionObserver;
use crate::service::{Layer, Service};
use protomcp_session::{ServerRequest, ServerResult, SessionId, SessionView};

/// Logs every request with its outcome and its duration, at debug level. As an observer
/// ([`Server::observe`](crate::Server::observe)) it logs the beginning and the end of each session.
#[derive(Debug, Clone, Copy, Default)]
pub struct TraceLayer;

/// A service behind a [`TraceLayer`].
#[derive(Debug)]
pub struct Trace<S>(S);

impl TraceLayer {
    /// A layer; it has no settings.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl<S: Service> Layer<S> for TraceLayer {
    type Service = Trace<S>;

    fn layer(&self, inner: S) -> Trace<S> {
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
}

impl SessionObserver for TraceLayer {
    fn opened(&self, session: &SessionView) {
        let client = &session.client.implementation;
        tracing::debug!(session = %session.id, client = client.name, version = %session.client.version, "session opened");
    }

    fn closed(&self, session: SessionId) {
        tracing::debug!(%session, "session closed");
    }
}
