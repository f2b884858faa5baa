//! The traits of a server: a service answers requests, a layer wraps a service.
//!
//! This room has the parts of a server that are written against them, too: handlers, observers and tasks. It uses the
//! state of a server, calls and records.

pub(crate) mod handler;
pub(crate) mod input_loop;
pub(crate) mod large_work;
pub(crate) mod observer;
pub(crate) mod outgoing_layer;
pub(crate) mod router;
pub(crate) mod tasks;

use std::future::Future;
use std::sync::Arc;

use protomcp_types::ErrorObject;

use crate::call::context::Context;
use protomcp_session::{ServerRequest, ServerResult};

/// Answers requests.
///
/// Several calls run concurrently. When the client cancels one, its [`Context`] is cancelled, and after a grace period
/// the future is dropped; in both cases no answer is sent. When the session ends, the context is cancelled as well, and
/// an answer within the grace period is sent.
pub trait Service: Send + Sync + 'static {
    /// Answers one request.
    fn call(
        &self,
        request: ServerRequest,
        context: Context,
    ) -> impl Future<Output = Result<ServerResult, ErrorObject>> + Send;
}

/// Wraps a service. A layer can wrap any number of services; each gets its own state unless the layer shares one. A
/// layer of tower becomes one of these in `layer::tower::TowerLayer`, with the feature `tower`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layer of a server",
    note = "a layer of tower is one in `protomcp_server::layer::tower::TowerLayer::new(…)`, with the feature `tower`",
    note = "for timeouts there is `protomcp_server::layer::timeout::TimeoutLayer`"
)]
pub trait Layer<S> {
    /// The service around the service.
    type Service: Service;

    /// Wraps `inner`.
    fn layer(&self, inner: S) -> Self::Service;
}

impl<S: Service> Service for Arc<S> {
    fn call(
        &self,
        request: ServerRequest,
        context: Context,
    ) -> impl Future<Output = Result<ServerResult, ErrorObject>> + Send {
        S::call(self, request, context)
    }
}

impl<S, L: Layer<S>> Layer<S> for &L {
    type Service = L::Service;

    fn layer(&self, inner: S) -> Self::Service {
        L::layer(self, inner)
    }
}
