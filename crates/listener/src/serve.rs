//! Accepts connections until the shutdown signal, then drains them.

use std::fmt;
use std::future::{Future, IntoFuture, Pending, pending, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use protomcp_fair::Network;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::TaskTracker;

use crate::config::ListenerConfig;
use crate::connection::{self, Protocol};
use crate::connections::Connections;
use crate::descriptors;
use crate::fair_limit::SlotState;
use crate::http_connection::Http;
use crate::service::HttpService;
use crate::streams::{StreamService, Streams};

/// The pause after a failed `accept`, for want of descriptors for example.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves a service on the sockets of a [`Listener`](crate::Listener). Await it.
///
/// It resolves when the shutdown signal has come and all connections have ended; without a signal, never. The result is
/// an [`io::Result`] for the sake of `?`; errors of `accept` are logged, and accepting continues.
#[must_use = "a server does nothing unless it is awaited"]
pub struct Serve<S, F = Pending<()>> {
    sockets: Vec<TcpListener>,
    config: ListenerConfig,
    service: S,
    signal: F,
}

impl<S> Serve<S> {
    pub(crate) fn new(sockets: Vec<TcpListener>, config: ListenerConfig, service: S) -> Self {
        Self { sockets, config, service, signal: pending() }
    }

    /// Shuts down when `signal` resolves: the sockets are closed, open requests may finish within
    /// [`ListenerConfig::drain_timeout`], and the remaining connections are closed then.
    pub fn with_graceful_shutdown<F>(self, signal: F) -> Serve<S, F>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Serve { sockets: self.sockets, config: self.config, service: self.service, signal }
    }
}

impl<S, F> IntoFuture for Serve<S, F>
where
    S: HttpService,
    F: Future<Output = ()> + Send + 'static,
{
    type Output = io::Result<()>;
    type IntoFuture = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { sockets, config, service, signal } = self;
        Box::pin(run(sockets, config, Http(service), signal))
    }
}

/// Like [`Serve`], for connections whose bytes the service reads itself. After the shutdown signal the service has to end
/// its connections; those that are left at the drain timeout are closed.
#[must_use = "a server does nothing unless it is awaited"]
pub struct ServeStreams<S, F = Pending<()>>(Serve<S, F>);

impl<S> ServeStreams<S> {
    pub(crate) fn new(sockets: Vec<TcpListener>, config: ListenerConfig, service: S) -> Self {
        Self(Serve::new(sockets, config, service))
    }

    /// Shuts down when `signal` resolves: the sockets are closed, and connections have
    /// [`ListenerConfig::drain_timeout`] to end.
    pub fn with_graceful_shutdown<F>(self, signal: F) -> ServeStreams<S, F>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        ServeStreams(self.0.with_graceful_shutdown(signal))
    }
}

impl<S, F> IntoFuture for ServeStreams<S, F>
where
    S: StreamService,
    F: Future<Output = ()> + Send + 'static,
{
    type Output = io::Result<()>;
    type IntoFuture = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let Serve { sockets, config, service, signal } = self.0;
        Box::pin(run(sockets, config, Streams(service), signal))
    }
}

async fn run<P: Protocol>(
    sockets: Vec<TcpListener>,
    config: ListenerConfig,
    protocol: P,
    signal: impl Future<Output = ()>,
) -> io::Result<()> {
    let connections = Arc::new(Connections::new(config));
    let tasks = TaskTracker::new();
    tokio::select! {
        () = accept(&sockets, &connections, protocol, &tasks) => unreachable!("accepting never ends"),
        () = signal => {}
        () = connections.config.reload_certificate() => unreachable!("certificates may change until the end"),
        () = connections.log.write() => unreachable!("connections may be refused until the end"),
    }
    drop(sockets);
    connections.drain(&tasks).await;
    Ok(())
}

async fn accept<P: Protocol>(
    sockets: &[TcpListener],
    connections: &Arc<Connections>,
    protocol: P,
    tasks: &TaskTracker,
) {
    let Connections { slots, descriptors, log, .. } = &**connections;
    let mut first = 0;
    loop {
        let descriptor = Arc::clone(descriptors).acquire_owned().await.expect("the semaphore is never closed");
        match poll_fn(|cx| poll_accept(sockets, &mut first, cx)).await {
            Ok((stream, peer)) => {
                let Some(slot) = slots.try_take(Network::of(peer.ip()), SlotState::Idle) else {
                    log.count(|counts| counts.refused += 1);
                    continue;
                };
                if slot.has_evicted() {
                    log.count(|counts| counts.closed += 1);
                }
                // Small responses must not wait for the client to acknowledge earlier ones.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!("cannot set TCP_NODELAY: {error}");
                }
                let connection = connection::serve(Arc::clone(connections), protocol.clone(), stream, peer, slot);
                tasks.spawn(async move {
                    connection.await;
                    drop(descriptor);
                });
            }
            Err(error) if is_of_connection(&error) => {
                tracing::debug!("connection lost before it was accepted: {error}");
            }
            Err(error) => {
                log.count(|counts| counts.fail(&error));
                if descriptors::are_exhausted(&error) && slots.evict_idle() {
                    log.count(|counts| counts.closed += 1);
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Accepts from the sockets in turn. `first`: the socket that is polled first.
fn poll_accept(
    sockets: &[TcpListener],
    first: &mut usize,
    cx: &mut Context<'_>,
) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
    for turn in 0..sockets.len() {
        let index = (*first + turn) % sockets.len();
        if let Poll::Ready(accepted) = sockets[index].poll_accept(cx) {
            *first = index + 1;
            return Poll::Ready(accepted);
        }
    }
    Poll::Pending
}

/// True for errors of `accept` that concern one connection only.
fn is_of_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset
    )
}

impl<S, F> fmt::Debug for Serve<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serve").field("sockets", &self.sockets).field("config", &self.config).finish_non_exhaustive()
    }
}

impl<S, F> fmt::Debug for ServeStreams<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServeStreams").field(&self.0).finish()
    }
}
