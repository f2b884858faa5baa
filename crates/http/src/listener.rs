//! A listener of our own, for programs that have no HTTP server yet: HTTP/1.1 and HTTP/2 over TCP, with TLS or
//! without.
//!
//! The server answers on `/` and `/mcp`, on `/sse` when the old transport is on, and where it describes itself when it
//! asks for tokens. Each connection has a task; all of them end politely when the listener is told to stop. When no
//! place is free, [`FairLimit`](fair_limit::FairLimit) decides which address gets one.

mod accept_log;
mod activity;
#[cfg(feature = "tls")]
mod client_hello;
mod connection;
mod descriptors;
mod fair_limit;
#[cfg(feature = "tls")]
mod handshake;
mod places;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use protomcp_server::Owner;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::accept_log::AcceptLog;
use self::fair_limit::State;
use self::places::Places;
use crate::caller::PeerAddr;
use crate::figures::MetricsPage;
use crate::reply::{self, Body, TRANSPORT_ERROR};
use crate::service::StreamableHttp;

/// How long the system is left alone when it hands over no connection, for want of descriptors for example.
const PAUSE: Duration = Duration::from_millis(100);

/// Connections beyond the bound, which are just being closed for others.
const CLOSING: usize = 32;

/// What a listener allows, and how long it waits.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ListenerConfig {
    /// Connections at a time, if the limit of open files allows so many: see [`ListenerConfig::open_files`]. When there
    /// are as many, a connection of an address that has few takes the place of one of the address that has most, if
    /// possible an idle one; the other addresses are refused. IPv6 addresses of one /64 network are one address.
    pub max_connections: usize,
    /// How long a connection may be open until the headers of its first request are there, after the handshake where
    /// there is TLS.
    pub first_request_timeout: Duration,
    /// How long a connection may be open between two requests, until the headers of the next are there. Responses that
    /// are not over, such as streams, are no such time.
    pub idle_timeout: Duration,
    /// Requests that one HTTP/2 connection may have open.
    pub max_concurrent_requests: u32,
    /// How long connections may take to end when the listener stops. Those that take longer are cut.
    pub drain_timeout: Duration,
    /// How long a connection may take to shake hands, where there is TLS.
    #[cfg(feature = "tls")]
    pub handshake_timeout: Duration,
    /// How many connections may shake hands at a time, from the first message of the client on, which costs more than
    /// most requests. More wait, within their time; but an address that has few gets the place of one that has most.
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
            first_request_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
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
    /// The limit of open files (`RLIMIT_NOFILE`) under which there can be [`ListenerConfig::max_connections`]: as many,
    /// and 256 for everything else that a server has open. Under a smaller limit there are fewer connections.
    #[must_use]
    pub fn open_files(&self) -> u64 {
        self.max_connections.saturating_add(descriptors::RESERVED).try_into().unwrap_or(u64::MAX)
    }

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
    places: Arc<Places>,
    /// Bounds the descriptors of connections, also of those that have lost their place.
    descriptors: Arc<Semaphore>,
    log: AcceptLog,
    #[cfg(feature = "tls")]
    handshakes: Arc<Places>,
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
        let limit = descriptors::limit();
        let connections = descriptors::connections(config.max_connections, limit);
        if connections < config.max_connections {
            let limit = limit.unwrap_or_default();
            tracing::info!("the limit of open files, {limit}, leaves room for {connections} connections");
        }
        #[cfg(feature = "tls")]
        let handshakes = Places::new(config.max_handshakes);
        Self(Arc::new(Inner {
            service,
            config,
            ready,
            stop,
            cut,
            places: Places::new(connections),
            descriptors: Arc::new(Semaphore::new((connections + CLOSING).min(Semaphore::MAX_PERMITS))),
            log: AcceptLog::default(),
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
        let connections = TaskTracker::new();
        let outcome = tokio::select! {
            outcome = self.accept(&socket, &connections) => outcome,
            () = self.0.stop.cancelled() => Ok(()),
            () = self.0.config.follow() => unreachable!("files may change until the end"),
            () = self.0.log.write() => unreachable!("connections may be refused until the end"),
        };
        drop(socket);
        self.0.log.write_now();
        connections.close();
        if tokio::time::timeout(self.0.config.drain_timeout, connections.wait()).await.is_err() {
            tracing::warn!(connections = connections.len(), "connections do not end: cut");
            self.0.cut.cancel();
            connections.wait().await;
        }
        outcome
    }

    async fn accept(&self, socket: &TcpListener, connections: &TaskTracker) -> io::Result<()> {
        let Inner { places, descriptors, log, .. } = &*self.0;
        loop {
            let descriptor = Arc::clone(descriptors).acquire_owned().await.expect("the semaphore is never closed");
            match socket.accept().await {
                Ok((stream, peer)) => {
                    let Some((place, has_evicted)) = places.try_take(&Owner::of_address(peer.ip()), State::Idle) else {
                        log.count(|counts| counts.refused += 1);
                        continue;
                    };
                    if has_evicted {
                        log.count(|counts| counts.closed += 1);
                    }
                    // Small answers must not wait for the host to acknowledge earlier ones.
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!("a connection is slow: {error}");
                    }
                    let connection = self.clone().serve_connection(stream, PeerAddr(peer), place);
                    connections.spawn(async move {
                        connection.await;
                        drop(descriptor);
                    });
                }
                Err(error) if is_of_connection(&error) => tracing::debug!("a connection was lost: {error}"),
                Err(error) => {
                    log.count(|counts| counts.fail(&error));
                    if descriptors::are_exhausted(&error) && places.evict_idle() {
                        log.count(|counts| counts.closed += 1);
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            }
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
