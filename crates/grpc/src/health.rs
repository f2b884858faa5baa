//! `grpc.health.v1.Health`: the state of the server, for balancers and orchestrators.

use std::future::ready;
use std::task::{Context, Poll};

use futures_util::future::{Ready, ok};
use futures_util::stream::{BoxStream, StreamExt, once, unfold};
use http::Response;
use prost::Message;
use protomcp_http::Body;
use tonic::Status;
use tonic::server::Grpc;
use tower_service::Service;

use crate::codec::PlainCodec;
use crate::method::SERVICES;
use crate::services::Services;
use crate::whole::Whole;

/// `HealthCheckRequest`
#[derive(Clone, PartialEq, Message)]
struct Check {
    /// Empty: the whole server.
    #[prost(string, tag = "1")]
    service: String,
}

/// `HealthCheckResponse`
#[derive(Clone, Copy, PartialEq, Message)]
struct State {
    #[prost(enumeration = "Health", tag = "1")]
    status: i32,
}

/// `HealthListRequest`
#[derive(Clone, Copy, PartialEq, Message)]
struct ListRequest {}

/// `HealthListResponse`
#[derive(Clone, PartialEq, Message)]
struct List {
    #[prost(btree_map = "string, message", tag = "1")]
    statuses: std::collections::BTreeMap<String, State>,
}

/// `HealthCheckResponse.ServingStatus`
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
enum Health {
    Unknown = 0,
    Up = 1,
    Down = 2,
    NoSuchService = 3,
}

impl From<Health> for State {
    fn from(status: Health) -> Self {
        Self { status: status.into() }
    }
}

/// The state of the server.
fn state(services: &Services) -> Health {
    let is_ready = services.readiness.as_ref().is_none_or(protomcp_http::Readiness::is_ready);
    if is_ready && !services.endpoint.handle().is_shut_down() { Health::Up } else { Health::Down }
}

fn is_known(service: &str) -> bool {
    service.is_empty() || SERVICES.contains(&service)
}

/// The state at this moment.
pub(crate) async fn check(services: &Services, whole: Whole) -> Response<Body> {
    let state = state(services);
    let answer = Function(move |Check { service }| {
        if is_known(&service) { Ok(State::from(state)) } else { Err(Status::not_found("there is no such service")) }
    });
    Grpc::new(PlainCodec::new()).unary(answer, whole.request).await.map(Body::new)
}

/// The states of all services.
pub(crate) async fn list(services: &Services, whole: Whole) -> Response<Body> {
    let state = State::from(state(services));
    let answer = Function(move |ListRequest {}| {
        let all = std::iter::once("").chain(SERVICES);
        Ok(List { statuses: all.map(|service| (service.to_owned(), state)).collect() })
    });
    Grpc::new(PlainCodec::new()).unary(answer, whole.request).await.map(Body::new)
}

/// The state at this moment, and each that follows, until the server shuts down.
pub(crate) async fn watch(services: &Services, whole: Whole) -> Response<Body> {
    let services = services.clone();
    let answer = Function(move |Check { service }| Ok(states(services.clone(), is_known(&service))));
    Grpc::new(PlainCodec::new()).server_streaming(answer, whole.request).await.map(Body::new)
}

fn states(services: Services, is_known: bool) -> BoxStream<'static, Result<State, Status>> {
    let shutdown = services.endpoint.handle().shutdown_token();
    let changes = services.readiness.as_ref().map(protomcp_http::Readiness::changes);
    let states = unfold((services, changes, None), move |(services, mut changes, shown)| async move {
        loop {
            let now = if is_known { state(&services) } else { Health::NoSuchService };
            if shown != Some(now) {
                return Some((Ok(State::from(now)), (services, changes, Some(now))));
            }
            let changed = match &mut changes {
                Some(changes) => changes.changed().await.is_ok(),
                None => false,
            };
            if !changed {
                std::future::pending::<()>().await;
            }
        }
    });
    let ended = once(ready(Err(Status::unavailable("the server is shutting down"))));
    states.take_until(shutdown.cancelled_owned()).chain(ended).boxed()
}

/// A function as a service of tonic.
struct Function<F>(F);

impl<F, M, R> Service<tonic::Request<M>> for Function<F>
where
    F: Fn(M) -> Result<R, Status>,
{
    type Response = tonic::Response<R>;
    type Error = Status;
    type Future = Ready<Result<tonic::Response<R>, Status>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: tonic::Request<M>) -> Self::Future {
        match (self.0)(request.into_inner()) {
            Ok(response) => ok(tonic::Response::new(response)),
            Err(status) => futures_util::future::err(status),
        }
    }
}
