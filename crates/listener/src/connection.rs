//! One connection: its handshake, its requests, and the reasons for its end.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Duration, Instant};

use crate::activity::{Activity, Usage};
use crate::config::ListenerConfig;
use crate::connection_info::ConnectionInfo;
use crate::connections::Connections;
#[cfg(feature = "tls")]
use crate::handshake;
use crate::service::HttpService;
use crate::slots::{Slot, SlotUsage};

/// The most bytes of a request head. Over HTTP/1.1 hyper takes up to 100 headers: taking more costs memory for every
/// request, and clients send a dozen.
const MAX_HEADERS: usize = 64 * 1024;

/// The interval of HTTP/2 pings to the client.
const PING_INTERVAL: Duration = Duration::from_secs(30);

/// Counts the connections of all listeners.
static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

/// Serves a connection until it ends or loses its slot.
pub(crate) async fn serve<S: HttpService>(
    connections: Arc<Connections>,
    service: S,
    stream: TcpStream,
    peer: SocketAddr,
    slot: Slot,
) {
    tokio::select! {
        () = serve_stream(&connections, service, stream, peer, slot.usage()) => {}
        () = slot.revoked() => tracing::debug!("connection closed in favour of another address"),
    }
}

/// Completes the TLS handshake where there is one, and serves requests.
async fn serve_stream<S: HttpService>(
    connections: &Connections,
    service: S,
    stream: TcpStream,
    peer: SocketAddr,
    usage: SlotUsage,
) {
    let config = &connections.config;
    let info = ConnectionInfo { peer, number: CONNECTIONS.fetch_add(1, Ordering::Relaxed) };
    let requests = Requests { connections, service, info, usage };
    #[cfg(feature = "tls")]
    if let Some(tls) = &config.tls {
        let deadline = Instant::now() + config.handshake_timeout;
        let secured = tokio::select! {
            secured = handshake::shake(tls, connections, peer, stream, deadline) => secured,
            () = connections.stop.cancelled() => return,
        };
        if let Some(secured) = secured {
            requests.serve(secured, Instant::now() + config.first_request_timeout).await;
        }
        return;
    }
    let deadline = Instant::now() + config.first_request_timeout;
    let mut byte = [0];
    let first_byte = tokio::time::timeout_at(deadline, stream.peek(&mut byte));
    tokio::select! {
        peeked = first_byte => if !matches!(peeked, Ok(Ok(1..))) {
            return;
        },
        () = connections.stop.cancelled() => return,
    }
    requests.serve(stream, deadline).await;
}

/// The requests of one connection.
struct Requests<'a, S> {
    connections: &'a Connections,
    service: S,
    info: ConnectionInfo,
    usage: SlotUsage,
}

impl<S: HttpService> Requests<'_, S> {
    /// Serves requests; the head of the first must be complete at `deadline`.
    async fn serve(self, io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, deadline: Instant) {
        let Self { connections, service, info, usage } = self;
        let builder = builder(&connections.config);
        let activity = Arc::new(Activity::new(usage));
        let used = Arc::clone(&activity);
        let respond = move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(info);
            let open = used.open(request.version());
            let mut service = service.clone();
            async move {
                poll_fn(|cx| service.poll_ready(cx)).await?;
                service.respond(request).await.map(|response| response.map(|body| open.track(body)))
            }
        };
        let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service_fn(respond)));
        let mut check = pin!(tokio::time::sleep_until(deadline));
        let (mut is_stopping, mut is_leaving) = (false, false);
        let idle_timeout = connections.config.idle_timeout;
        let outcome = loop {
            tokio::select! {
                outcome = connection.as_mut() => break outcome,
                () = connections.abort.cancelled() => return,
                () = connections.stop.cancelled(), if !is_stopping => {
                    connection.as_mut().graceful_shutdown();
                    is_stopping = true;
                }
                () = check.as_mut() => {
                    let now = Instant::now();
                    let next = match activity.usage() {
                        Usage::Silent => return,
                        Usage::Busy => now + idle_timeout,
                        Usage::Idle(since) if since + idle_timeout > now => since + idle_timeout,
                        // The client ignores the announced shutdown.
                        Usage::Idle(_) if is_leaving => return,
                        Usage::Idle(_) => {
                            connection.as_mut().graceful_shutdown();
                            is_leaving = true;
                            now + idle_timeout
                        }
                    };
                    check.as_mut().reset(next);
                }
            }
        };
        if let Err(error) = outcome {
            tracing::debug!("connection failed: {error}");
        }
    }
}

fn builder(config: &ListenerConfig) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    let mut http1 = builder.http1();
    http1.timer(TokioTimer::new()).header_read_timeout(config.idle_timeout).max_buf_size(MAX_HEADERS);
    let mut http2 = builder.http2();
    http2
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(MAX_HEADERS).unwrap_or(u32::MAX))
        .max_concurrent_streams(config.max_concurrent_requests)
        .keep_alive_interval(PING_INTERVAL);
    builder
}
