//! One HTTP/2 connection, as a service of tonic.

use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tonic::body::Body;
use tonic::{Code, Status};
use tower_service::Service;

use crate::client::byte_stream::ByteStream;

/// The sender of requests on a connection. Cloning is cheap; the connection ends with the last clone.
#[derive(Clone)]
pub(super) struct Channel {
    sender: SendRequest<Body>,
    /// Its task, which is aborted when it is dropped.
    _connection: Arc<JoinSet<()>>,
    /// The server has answered a request in HTTP/2.
    has_answered: Arc<AtomicBool>,
    ended: watch::Receiver<()>,
}

impl Channel {
    /// Begins HTTP/2 on a stream, without an upgrade.
    pub(super) async fn open(io: impl ByteStream) -> io::Result<Self> {
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_INTERVAL)
            .adaptive_window(true)
            .max_header_list_size(MAX_HEADERS);
        let (sender, connection) = builder.handshake(TokioIo::new(io)).await.map_err(io::Error::other)?;
        let (running, ended) = watch::channel(());
        let mut driving = JoinSet::new();
        driving.spawn(async move {
            let _running = running;
            if let Err(error) = connection.await {
                tracing::debug!("a connection to a server over gRPC has failed: {error}");
            }
        });
        Ok(Self { sender, _connection: Arc::new(driving), has_answered: Arc::default(), ended })
    }

    /// True if the connection takes no more calls.
    pub(super) fn is_over(&self) -> bool {
        self.ended.has_changed().is_err()
    }

    /// Closed when the connection is over.
    pub(super) fn ended(&self) -> watch::Receiver<()> {
        self.ended.clone()
    }
}

impl Service<Request<Body>> for Channel {
    type Response = Response<Incoming>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Incoming>, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.sender.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let sent = self.sender.send_request(request);
        let has_answered = Arc::clone(&self.has_answered);
        Box::pin(async move {
            let response = sent.await.map_err(|error| with_cause(error, has_answered.load(Ordering::Relaxed)))?;
            has_answered.store(true, Ordering::Relaxed);
            match refused(&response) {
                Some(status) => Err(status.into()),
                None => Ok(response),
            }
        })
    }
}

/// A `hyper::Error`, or the [`Status`] of an answer that is not of gRPC, or of none.
type BoxError = Box<dyn Error + Send + Sync>;

/// The error of a request without an answer: with its cause, unless the connection has given the request back.
fn with_cause(error: hyper::Error, has_answered: bool) -> BoxError {
    if error.is_canceled() || error.is_timeout() {
        return error.into();
    }
    let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    let code = Status::from_error(error.into()).code();
    // Servers of HTTP/1 answer with bytes that are not HTTP/2, or with the end of the connection.
    if has_answered {
        return Status::new(code, format!("the connection or the call has failed: {cause}")).into();
    }
    Status::new(code, format!("the address has not answered the first call, and may not serve gRPC: {cause}")).into()
}

/// The status of an answer from a server, or a proxy, that does not speak gRPC: its status of HTTP says why ("HTTP to gRPC
/// Status Code Mapping" of gRPC). A proxy that does may leave out the type of an answer without a body.
fn refused<B>(response: &Response<B>) -> Option<Status> {
    let content_type = response.headers().get(CONTENT_TYPE);
    let is_grpc = content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"));
    if is_grpc || response.headers().contains_key(Status::GRPC_STATUS) {
        return None;
    }
    let code = match response.status() {
        StatusCode::BAD_REQUEST => Code::Internal,
        StatusCode::UNAUTHORIZED => Code::Unauthenticated,
        StatusCode::FORBIDDEN => Code::PermissionDenied,
        StatusCode::NOT_FOUND => Code::Unimplemented,
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => Code::Unavailable,
        _ => Code::Unknown,
    };
    let http = response.status().as_u16();
    Some(Status::new(code, format!("the address answers with the HTTP status {http} and without gRPC")))
}

/// The interval of pings, by which a silent connection is noticed.
const PING_INTERVAL: Duration = Duration::from_secs(30);

/// The most bytes of the headers, or of the trailers, of an answer. Far more bytes end the connection with all its
/// calls, so this is more than servers say in a status.
const MAX_HEADERS: u32 = 1 << 20;
