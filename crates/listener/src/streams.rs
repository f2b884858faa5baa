//! Connections whose bytes a service reads itself.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, sleep_until};

use crate::client_name::ClientName;
use crate::connection::{Accepted, Io, Protocol};
use crate::connection_info::ConnectionInfo;
use crate::fair_limit::SlotState;
use crate::slots::SlotUsage;

/// A service that reads and writes the bytes of each connection itself. It is cloned for each.
pub trait StreamService: Clone + Send + 'static {
    /// Serves a connection until it is over. Dropped when the client loses its slot, when no byte has moved for
    /// [`ListenerConfig::stream_idle_timeout`](crate::ListenerConfig::stream_idle_timeout), and after the drain timeout.
    fn serve(self, stream: Stream, info: ConnectionInfo) -> impl Future<Output = ()> + Send;
}

/// Both directions of a connection, within TLS where the listener has a certificate.
///
/// Until its first byte arrives, the connection is idle for the limits of the listener.
pub struct Stream {
    io: Box<dyn Io>,
    client: Option<ClientName>,
    movement: Arc<Movement>,
}

impl Stream {
    /// The client that a certificate names, if the listener asks for certificates.
    #[must_use]
    pub fn client_name(&self) -> Option<&ClientName> {
        self.client.as_ref()
    }
}

/// Any bytes.
#[derive(Debug, Clone)]
pub(crate) struct Streams<S>(pub(crate) S);

impl<S: StreamService> Protocol for Streams<S> {
    const REPLY_TO_PLAIN_TEXT: &'static [u8] = b"";

    async fn serve(self, accepted: Accepted<'_>, io: impl Io, _: Instant) {
        let Accepted { connections, info, client, usage, .. } = accepted;
        let movement = Arc::new(Movement::new(usage));
        let stream = Stream { io: Box::new(io), client, movement: Arc::clone(&movement) };
        tokio::select! {
            () = self.0.serve(stream, info) => {}
            () = movement.idle(connections.config.stream_idle_timeout) => tracing::debug!("idle connection closed"),
            () = connections.abort.cancelled() => {}
        }
    }
}

/// The last time at which bytes have moved.
#[derive(Debug)]
struct Movement {
    last: Mutex<Instant>,
    has_begun: AtomicBool,
    slot: SlotUsage,
}

impl Movement {
    fn new(slot: SlotUsage) -> Self {
        Self { last: Mutex::new(Instant::now()), has_begun: AtomicBool::new(false), slot }
    }

    fn received(&self) {
        if !self.has_begun.swap(true, Ordering::Relaxed) {
            self.slot.set(SlotState::Busy);
        }
        self.moved();
    }

    fn moved(&self) {
        *self.last() = Instant::now();
    }

    /// Resolves when nothing has moved for this long.
    async fn idle(&self, timeout: Duration) {
        loop {
            let until = *self.last() + timeout;
            if until <= Instant::now() {
                return;
            }
            sleep_until(until).await;
        }
    }

    fn last(&self) -> MutexGuard<'_, Instant> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut *self.io).poll_read(cx, buf))?;
        if buf.filled().len() > before {
            self.movement.received();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut *self.io).poll_write(cx, buf))?;
        self.movement.moved();
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut *self.io).poll_write_vectored(cx, pieces))?;
        self.movement.moved();
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.io).poll_shutdown(cx)
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("movement", &self.movement).finish_non_exhaustive()
    }
}
