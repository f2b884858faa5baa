//! Services of tower without their types. A client keeps its layers as one of them.

use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use protomcp_session::RequestError;
use protomcp_types::RawJson;
use tower_service::Service;

/// A service of tower that can be one of the layers of a client. Every service with these bounds is one.
pub trait LayeredService<R>:
    Service<R, Response = RawJson, Error: Into<Box<dyn Error + Send + Sync>>, Future: Send> + Clone + Send + Sync + 'static
{
}

impl<R, T> LayeredService<R> for T where
    T: Service<R, Response = RawJson, Error: Into<Box<dyn Error + Send + Sync>>, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// A service without its type.
pub(crate) struct ErasedService<R>(Arc<dyn AnyService<R>>);

trait AnyService<R>: Send + Sync {
    fn send(&self, request: R) -> BoxFuture<'static, Result<RawJson, RequestError>>;
}

impl<R: Send + 'static> ErasedService<R> {
    pub(crate) fn new(service: impl LayeredService<R>) -> Self {
        Self(Arc::new(Typed(service)))
    }

    /// Sends a request when the service is ready.
    pub(crate) fn send(&self, request: R) -> BoxFuture<'static, Result<RawJson, RequestError>> {
        self.0.send(request)
    }
}

impl<R> Clone for ErasedService<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R> fmt::Debug for ErasedService<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErasedService").finish_non_exhaustive()
    }
}

/// A service of tower. It is cloned for each request, so that shared limits hold.
struct Typed<T>(T);

impl<R: Send + 'static, T: LayeredService<R>> AnyService<R> for Typed<T> {
    fn send(&self, request: R) -> BoxFuture<'static, Result<RawJson, RequestError>> {
        let mut service = self.0.clone();
        async move {
            poll_fn(|task| service.poll_ready(task)).await.map_err(|error| into_request_error(error.into()))?;
            service.call(request).await.map_err(|error| into_request_error(error.into()))
        }
        .boxed()
    }
}

fn into_request_error(error: Box<dyn Error + Send + Sync>) -> RequestError {
    match error.downcast::<RequestError>() {
        Ok(error) => *error,
        Err(other) => RequestError::Layer(other.to_string()),
    }
}
