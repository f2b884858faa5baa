//! One connection: its handshake, its requests, and the reasons for which it ends.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
#[cfg(feature = "tls")]
use protomcp_server::Owner;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Duration, Instant};

use super::Listener;
use super::activity::{Activity, Use};
#[cfg(feature = "tls")]
use super::handshake;
use super::places::{Place, PlaceUse};
use crate::caller::{Connection, PeerAddr};

/// Headers of one request, in bytes. Over HTTP/1.1 hyper takes up to 100 of them: to take more costs memory for every
/// request, and hosts send a dozen.
const MAX_HEADERS: usize = 64 * 1024;

/// How often the other end of an HTTP/2 connection is asked whether it is there.
const PING_INTERVAL: Duration = Duration::from_secs(30);

/// Connections so far, of all listeners.
static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

impl Listener {
    /// Serves a connection until it ends or loses its place.
    pub(super) async fn serve_connection(self, stream: TcpStream, peer: PeerAddr, place: Place) {
        tokio::select! {
            () = self.secure(stream, peer, place.usage()) => {}
            () = place.revoked() => tracing::debug!("a connection makes room for another address"),
        }
    }

    /// Shakes hands where there is TLS, and serves requests.
    async fn secure(&self, stream: TcpStream, peer: PeerAddr, usage: PlaceUse) {
        let config = &self.0.config;
        #[cfg(feature = "tls")]
        if let Some(tls) = &config.tls {
            let deadline = Instant::now() + config.handshake_timeout;
            let owner = Owner::of_address(peer.0.ip());
            let secured = tokio::select! {
                secured = handshake::shake(tls, &self.0.handshakes, &self.0.log, &owner, stream, deadline) => secured,
                () = self.0.stop.cancelled() => return,
            };
            if let Some(secured) = secured {
                self.serve_requests(secured, peer, usage, Instant::now() + config.first_request_timeout).await;
            }
            return;
        }
        let deadline = Instant::now() + config.first_request_timeout;
        let mut byte = [0];
        let first_byte = tokio::time::timeout_at(deadline, stream.peek(&mut byte));
        tokio::select! {
            heard = first_byte => if !matches!(heard, Ok(Ok(1..))) {
                return;
            },
            () = self.0.stop.cancelled() => return,
        }
        self.serve_requests(stream, peer, usage, deadline).await;
    }

    /// Serves requests, the first of which must be there at `deadline`.
    async fn serve_requests(
        &self,
        io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: PeerAddr,
        usage: PlaceUse,
        deadline: Instant,
    ) {
        let idle_timeout = self.0.config.idle_timeout;
        let mut builder = Builder::new(TokioExecutor::new());
        let mut http1 = builder.http1();
        http1.timer(TokioTimer::new()).header_read_timeout(idle_timeout).max_buf_size(MAX_HEADERS);
        let mut http2 = builder.http2();
        http2
            .timer(TokioTimer::new())
            .max_header_list_size(u32::try_from(MAX_HEADERS).unwrap_or(u32::MAX))
            .max_concurrent_streams(self.0.config.max_concurrent_requests)
            .keep_alive_interval(PING_INTERVAL);
        let activity = Arc::new(Activity::new(usage));
        let number = Connection(CONNECTIONS.fetch_add(1, Ordering::Relaxed));
        let answer = |mut request: Request<Incoming>| {
            request.extensions_mut().insert(number);
            request.extensions_mut().insert(peer);
            let listener = self.clone();
            let open = activity.open(request.version());
            async move { Ok::<_, Infallible>(listener.answer(request).await.map(|body| open.hold(body))) }
        };
        let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service_fn(answer)));
        let mut look = pin!(tokio::time::sleep_until(deadline));
        let (mut stops, mut leaves) = (false, false);
        let outcome = loop {
            tokio::select! {
                outcome = connection.as_mut() => break outcome,
                () = self.0.cut.cancelled() => return,
                () = self.0.stop.cancelled(), if !stops => {
                    connection.as_mut().graceful_shutdown();
                    stops = true;
                }
                () = look.as_mut() => {
                    let now = Instant::now();
                    let next = match activity.look() {
                        Use::Silent => return,
                        Use::Busy => now + idle_timeout,
                        Use::Idle(since) if since + idle_timeout > now => since + idle_timeout,
                        // A client that was told and does not go is left.
                        Use::Idle(_) if leaves => return,
                        Use::Idle(_) => {
                            connection.as_mut().graceful_shutdown();
                            leaves = true;
                            now + idle_timeout
                        }
                    };
                    look.as_mut().reset(next);
                }
            }
        };
        if let Err(error) = outcome {
            tracing::debug!("a connection broke: {error}");
        }
    }
}
