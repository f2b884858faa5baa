//! Clients that do not read.
//!
//! hyper reads from a client until it has to write, and then waits until the client takes something: of the answer to a
//! request, or to a frame such as SETTINGS or PING (RFC 9113, sections 6.5 and 6.7). The pings of a server do not end that
//! wait, because the frame that ends the connection waits as well.

use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// The time since which bytes wait for a client that takes none. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stall(Arc<State>);

#[derive(Debug, Default)]
struct State {
    since: Mutex<Option<Instant>>,
    over: Notify,
}

impl Stall {
    /// Waits while bytes wait for the client.
    pub(crate) async fn over(&self) {
        loop {
            let mut over = pin!(self.0.over.notified());
            // Enabled first, so that an end between the look and the wait is not missed.
            over.as_mut().enable();
            if self.since().is_none() {
                return;
            }
            over.await;
        }
    }

    /// Resolves when the client has taken nothing for this long, although bytes wait for it.
    pub(crate) async fn lasts(&self, timeout: Duration) {
        loop {
            let since = *self.since();
            let waited = since.map_or(Duration::ZERO, |since| since.elapsed());
            if since.is_some() && waited >= timeout {
                return;
            }
            // A wait that begins during the sleep is not over at its end.
            sleep(timeout.saturating_sub(waited)).await;
        }
    }

    /// A write has ended so.
    fn note<T>(&self, outcome: &Poll<T>) {
        let mut since = self.since();
        if outcome.is_pending() {
            since.get_or_insert_with(Instant::now);
        } else if since.take().is_some() {
            drop(since);
            self.0.over.notify_waiters();
        }
    }

    fn since(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection whose writes are watched.
#[derive(Debug)]
pub(crate) struct Watched<IO> {
    io: IO,
    stall: Stall,
}

impl<IO> Watched<IO> {
    pub(crate) fn new(io: IO, stall: Stall) -> Self {
        Self { io, stall }
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Watched<IO> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Watched<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.stall.note(&outcome);
        outcome
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write_vectored(cx, pieces);
        self.stall.note(&outcome);
        outcome
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::task::JoinHandle;
    use tokio::time::timeout;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(60);

    /// The end of a client, and the end of a server that writes without end. The task ends with the time of the client.
    fn server() -> (DuplexStream, JoinHandle<()>) {
        let (client, io) = duplex(1024);
        let serving = tokio::spawn(async move {
            let stall = Stall::default();
            let mut io = Watched::new(io, stall.clone());
            let writing = async { while io.write_all(&[0; 100]).await.is_ok() {} };
            tokio::select! {
                () = writing => panic!("the client is gone"),
                () = stall.lasts(TIMEOUT) => {}
            }
        });
        (client, serving)
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_has_the_time() {
        let ((client, serving), begin) = (server(), Instant::now());
        serving.await.unwrap();
        assert_eq!(begin.elapsed().as_secs(), 60);
        drop(client);
    }

    #[tokio::test(start_paused = true)]
    async fn each_byte_gives_a_client_the_time_again() {
        let ((mut client, serving), begin) = (server(), Instant::now());
        for _ in 0..5 {
            sleep(Duration::from_secs(59)).await;
            client.read_exact(&mut [0]).await.unwrap();
        }
        serving.await.unwrap();
        assert_eq!(begin.elapsed().as_secs(), 5 * 59 + 60);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_for_which_no_byte_waits_may_be_silent() {
        let (_client, io) = duplex(1024);
        let stall = Stall::default();
        let mut io = Watched::new(io, stall.clone());
        io.write_all(&[0; 1000]).await.unwrap();
        assert!(timeout(100 * TIMEOUT, stall.lasts(TIMEOUT)).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_is_over_when_the_client_has_taken_the_bytes() {
        let (mut client, io) = duplex(1024);
        let stall = Stall::default();
        let mut io = Watched::new(io, stall.clone());
        stall.over().await;
        let writing = tokio::spawn(async move { io.write_all(&[0; 1500]).await });
        sleep(TIMEOUT).await;
        assert!(timeout(TIMEOUT, stall.over()).await.is_err());
        let mut bytes = [0; 1000];
        let (read, ()) = tokio::join!(client.read_exact(&mut bytes), stall.over());
        read.unwrap();
        writing.await.unwrap().unwrap();
    }
}
