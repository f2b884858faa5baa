//! A listener of our own, for programs that have no HTTP server yet: HTTP/1.1 and HTTP/2 over TCP, with TLS or
//! without.
//!
//! The server answers on `/` and `/mcp`, on `/sse` when the old transport is on, and where it describes itself when it
//! asks for tokens. Each connection has a task; all of
//! them end politely when the listener is told to stop.

mod activity;
#[cfg(feature = "tls")]
mod handshake;

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::activity::{Activity, Use};
use crate::caller::{Connection, PeerAddr};
use crate::figures::MetricsPage;
use crate::reply::{self, Body, TRANSPORT_ERROR};
use crate::service::StreamableHttp;

/// How long the system is left alone when it refuses connections, for want of descriptors for example.
const PAUSE: Duration = Duration::from_millis(100);

/// Headers of one request, in bytes. Over HTTP/1.1 hyper takes up to 100 of them: to take more costs memory for every
/// request, and hosts send a dozen.
const MAX_HEADERS: usize = 64 * 1024;

/// Connections so far, of all listeners.
static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

/// What a listener allows, and how long it waits.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ListenerConfig {
    /// Connections at a time. More wait to be accepted.
    pub max_connections: usize,
    /// How long a connection may be open without a request: until the headers of the first are there, and then between
    /// two.
    pub header_timeout: Duration,
    /// Requests that one HTTP/2 connection may have open.
    pub max_concurrent_requests: u32,
    /// How long connections may take to end when the listener stops. Those that take longer are cut.
    pub drain_timeout: Duration,
    /// How long a connection may take to shake hands, from its first byte on, where there is TLS.
    #[cfg(feature = "tls")]
    pub handshake_timeout: Duration,
    /// How many connections may shake hands at a time, which costs more than most requests. More wait, within their
    /// time.
    #[cfg(feature = "tls")]
    pub max_handshakes: usize,
    /// What makes HTTPS of it; `None` is plain HTTP.
    #[cfg(feature = "tls")]
    pub tls: Option<crate::tls::Tls>,
    /// Whether `/healthz` and `/readyz` answer, without any check of who asks.
    pub health: bool,
    /// What `/metrics` shows. Beside a server it is shown to those who may use the server; a listener of its own
    /// ([`Listener::pages`]) shows it to whoever asks.
    pub metrics: Option<MetricsPage>,
}

impl Default for ListenerConfig {
    fn default() -> Self {
        Self {
            max_connections: 20_000,
            header_timeout: Duration::from_secs(75),
            max_concurrent_requests: 256,
            drain_timeout: Duration::from_secs(10),
            #[cfg(feature = "tls")]
            handshake_timeout: Duration::from_secs(10),
            #[cfg(feature = "tls")]
            max_handshakes: 256,
            #[cfg(feature = "tls")]
            tls: None,
            health: false,
            metrics: None,
        }
    }
}

impl ListenerConfig {
    /// Keeps what TLS shows up to date. Never ends.
    async fn follow(&self) {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            tls.follow().await;
        }
        std::future::pending::<()>().await;
    }
}

/// Serves a [`StreamableHttp`] on sockets.
#[derive(Debug, Clone)]
pub struct Listener(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// `None`: there are pages only.
    service: Option<StreamableHttp>,
    config: ListenerConfig,
    ready: CancellationToken,
    stop: CancellationToken,
    /// Connections end at once.
    cut: CancellationToken,
    #[cfg(feature = "tls")]
    handshakes: Semaphore,
}

impl Listener {
    /// Serves this.
    #[must_use]
    pub fn new(service: StreamableHttp, config: ListenerConfig) -> Self {
        Self::of(Some(service), config)
    }

    /// Serves `/healthz`, `/readyz` and `/metrics` alone, to whoever asks.
    #[must_use]
    pub fn pages(config: ListenerConfig) -> Self {
        Self::of(None, config)
    }

    fn of(service: Option<StreamableHttp>, config: ListenerConfig) -> Self {
        let (ready, stop, cut) = (CancellationToken::new(), CancellationToken::new(), CancellationToken::new());
        #[cfg(feature = "tls")]
        let handshakes = Semaphore::new(config.max_handshakes);
        Self(Arc::new(Inner {
            service,
            config,
            ready,
            stop,
            cut,
            #[cfg(feature = "tls")]
            handshakes,
        }))
    }

    /// From here on `/readyz` says that the server is ready.
    pub fn set_ready(&self) {
        self.0.ready.cancel();
    }

    /// Takes no more connections. Those that are open may finish their requests.
    pub fn stop(&self) {
        self.0.stop.cancel();
    }

    /// Accepts connections until [`Listener::stop`], then waits for their end, and cuts those that are left after
    /// [`ListenerConfig::drain_timeout`].
    ///
    /// # Errors
    /// When the socket cannot be used any more.
    pub async fn serve(&self, socket: TcpListener) -> io::Result<()> {
        let places = Arc::new(Semaphore::new(self.0.config.max_connections));
        let connections = TaskTracker::new();
        let outcome = tokio::select! {
            outcome = self.accept(&socket, &places, &connections) => outcome,
            () = self.0.stop.cancelled() => Ok(()),
            () = self.0.config.follow() => unreachable!("files may change until the end"),
        };
        drop(socket);
        connections.close();
        if tokio::time::timeout(self.0.config.drain_timeout, connections.wait()).await.is_err() {
            tracing::warn!(connections = connections.len(), "connections do not end: cut");
            self.0.cut.cancel();
            connections.wait().await;
        }
        outcome
    }

    async fn accept(&self, socket: &TcpListener, places: &Arc<Semaphore>, connections: &TaskTracker) -> io::Result<()> {
        loop {
            let place = Arc::clone(places).acquire_owned().await.expect("the semaphore is never closed");
            match socket.accept().await {
                Ok((stream, peer)) => {
                    // Small answers must not wait for the host to acknowledge earlier ones.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!("a connection is slow: {error}");
                    }
                    connections.spawn(self.clone().connection(stream, PeerAddr(peer), place));
                }
                Err(error) if is_of_connection(&error) => tracing::debug!("a connection was lost: {error}"),
                Err(error) => {
                    tracing::warn!("no connection can be accepted: {error}");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    async fn connection(self, stream: TcpStream, peer: PeerAddr, place: OwnedSemaphorePermit) {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.0.config.tls {
            let deadline = Instant::now() + self.0.config.handshake_timeout;
            let secured = tokio::select! {
                secured = handshake::shake(tls, &self.0.handshakes, stream, deadline) => secured,
                () = self.0.stop.cancelled() => return,
            };
            if let Some(secured) = secured {
                self.speak(secured, peer, Instant::now() + self.0.config.header_timeout).await;
            }
            return drop(place);
        }
        let deadline = Instant::now() + self.0.config.header_timeout;
        let mut byte = [0];
        let first_byte = tokio::time::timeout_at(deadline, stream.peek(&mut byte));
        tokio::select! {
            heard = first_byte => if !matches!(heard, Ok(Ok(1..))) {
                return;
            },
            () = self.0.stop.cancelled() => return,
        }
        self.speak(stream, peer, deadline).await;
        drop(place);
    }

    /// Serves one connection, whose first request must be there at `deadline`.
    async fn speak(&self, io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, peer: PeerAddr, deadline: Instant) {
        let mut builder = Builder::new(TokioExecutor::new());
        let mut http1 = builder.http1();
        http1.timer(TokioTimer::new()).header_read_timeout(self.0.config.header_timeout).max_buf_size(MAX_HEADERS);
        let mut http2 = builder.http2();
        http2
            .timer(TokioTimer::new())
            .max_header_list_size(u32::try_from(MAX_HEADERS).unwrap_or(u32::MAX))
            .max_concurrent_streams(self.0.config.max_concurrent_requests)
            .keep_alive_interval(Duration::from_secs(30));
        let activity = Arc::new(Activity::default());
        let number = Connection(CONNECTIONS.fetch_add(1, Ordering::Relaxed));
        let answer = |mut request: Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(number);
            request.extensions_mut().insert(peer);
            let listener = self.clone();
            let open = activity.open(request.version());
            async move { Ok::<_, Infallible>(listener.answer(request).await.map(|body| open.hold(body))) }
        };
        let mut connection = pin!(builder.serve_connection(TokioIo::new(io), service_fn(answer)));
        let patience = self.0.config.header_timeout;
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
                        Use::Busy => now + patience,
                        Use::Idle(since) if since + patience > now => since + patience,
                        // Whoever was told and does not go is left.
                        Use::Idle(_) if leaves => return,
                        Use::Idle(_) => {
                            connection.as_mut().graceful_shutdown();
                            leaves = true;
                            now + patience
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

    async fn answer<B: http_body::Body>(&self, request: Request<B>) -> Response<Body> {
        let Inner { service, config, ready, stop, .. } = &*self.0;
        match (request.uri().path(), service) {
            ("/" | "/mcp", Some(service)) => service.handle(request).await,
            ("/sse", Some(service)) if service.has_legacy_sse() => service.handle(request).await,
            (path, Some(service)) if service.is_metadata(path) => service.handle(request).await,
            ("/healthz", _) if config.health => reply::text(StatusCode::OK, "ok\n"),
            ("/readyz", _) if config.health => {
                let is_draining = service.as_ref().is_some_and(StreamableHttp::is_draining);
                if ready.is_cancelled() && !stop.is_cancelled() && !is_draining {
                    reply::text(StatusCode::OK, "ready\n")
                } else {
                    reply::text(StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
                }
            }
            ("/metrics", service) => match (&config.metrics, service) {
                (Some(page), Some(service)) => service.page(request, || reply::figures(page.text())).await,
                (Some(page), None) => reply::figures(page.text()),
                (None, _) => not_found("not found"),
            },
            (_, Some(_)) => not_found("not found: the server is at /mcp"),
            (_, None) => not_found("not found: there are /metrics, /healthz and /readyz"),
        }
    }
}

fn not_found(why: &str) -> Response<Body> {
    reply::error(StatusCode::NOT_FOUND, TRANSPORT_ERROR, why)
}

/// Whether an error says something about one connection only.
fn is_of_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    )
}
