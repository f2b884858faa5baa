//! Layers of the tower ecosystem around our services, and our services inside of others.
//!
//! A [`tower_layer::Layer`] becomes one of ours in a [`TowerLayer`]; any service of ours is one of tower's as a
//! [`TowerService`]. Services of tower are cloned for each request and asked whether they are ready, so that shared
//! limits hold.

use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use protomcp_types::ErrorObject;
use tower_service::Service as Tower;

use crate::call::context::Context;
use crate::service::{Layer, Service};
use protomcp_session::{ServerRequest, ServerResult};

/// A request of a client with its context: the request type of tower's services.
#[derive(Debug, Clone)]
pub struct McpRequest {
    /// The request itself.
    pub request: ServerRequest,
    /// The context of the call.
    pub context: Context,
}

/// A service of ours, for tower. Cloning is cheap.
#[derive(Debug)]
pub struct TowerService<S>(Arc<S>);

/// A layer of tower, for us.
#[derive(Debug, Clone, Copy)]
pub struct TowerLayer<L>(L);

/// A service behind a [`TowerLayer`].
#[derive(Debug)]
pub struct Towered<T>(T);

impl<S> TowerService<S> {
    /// Shows `service` to tower.
    pub fn new(service: S) -> Self {
        Self(Arc::new(service))
    }
}

impl<S> Clone for TowerService<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: Service> Tower<McpRequest> for TowerService<S> {
    type Response = ServerResult;
    type Error = ErrorObject;
    type Future = Pin<Box<dyn Future<Output = Result<ServerResult, ErrorObject>> + Send>>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), ErrorObject>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, McpRequest { request, context }: McpRequest) -> Self::Future {
        let service = Arc::clone(&self.0);
        Box::pin(async move { service.call(request, context).await })
    }
}

impl<L> TowerLayer<L> {
    /// Uses `layer` as one of ours. Its errors of other types than [`ErrorObject`] become −32603 with its text.
    pub fn new(layer: L) -> Self {
        Self(layer)
    }
}

impl<S, L> Layer<S> for TowerLayer<L>
where
    S: Service,
    L: tower_layer::Layer<TowerService<S>>,
    L::Service: Tower<McpRequest, Response = ServerResult> + Clone + Send + Sync + 'static,
    <L::Service as Tower<McpRequest>>::Error: Into<Box<dyn Error + Send + Sync>>,
    <L::Service as Tower<McpRequest>>::Future: Send,
{
    type Service = Towered<L::Service>;

    fn layer(&self, inner: S) -> Self::Service {
        Towered(self.0.layer(TowerService::new(inner)))
    }
}

impl<T> Service for Towered<T>
where
    T: Tower<McpRequest, Response = ServerResult> + Clone + Send + Sync + 'static,
    T::Error: Into<Box<dyn Error + Send + Sync>>,
    T::Future: Send,
{
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        let mut outer = self.0.clone();
        poll_fn(|task| outer.poll_ready(task)).await.map_err(|error| into_object(error.into()))?;
        outer.call(McpRequest { request, context }).await.map_err(|error| into_object(error.into()))
    }
}

fn into_object(error: Box<dyn Error + Send + Sync>) -> ErrorObject {
    match error.downcast::<ErrorObject>() {
        Ok(error) => *error,
        Err(other) => ErrorObject::internal(fmt::format(format_args!("{other}"))),
    }
}
