//! Limits the number of concurrent requests; the others wait for their turn.

use std::sync::Arc;

use protomcp_types::ErrorObject;
use tokio::sync::Semaphore;

use crate::call::context::Context;
use crate::service::{Layer, Service};
use protomcp_session::{ServerRequest, ServerResult};

/// Passes at most `max` requests concurrently, in the order in which they came. The number of waiting requests is
/// bounded by [`crate::Limits::max_pending`] of each session.
#[derive(Debug, Clone, Copy)]
pub struct LimitLayer {
    max: usize,
}

/// A service behind a [`LimitLayer`].
#[derive(Debug)]
pub struct Limit<S> {
    inner: S,
    permits: Arc<Semaphore>,
}

impl LimitLayer {
    /// At most `max` concurrently, at least one.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { max: max.clamp(1, Semaphore::MAX_PERMITS) }
    }
}

impl<S: Service> Layer<S> for LimitLayer {
    type Service = Limit<S>;

    fn layer(&self, inner: S) -> Limit<S> {
        Limit { inner, permits: Arc::new(Semaphore::new(self.max)) }
    }
}

impl<S: Service> Service for Limit<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        let _permit = self.permits.acquire().await.expect("the semaphore is never closed");
        self.inner.call(request, context).await
    }
}
