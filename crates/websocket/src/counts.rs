//! The bytes of a connection that count in budgets: those that arrive, until their message has been delivered, and those
//! that wait, until the peer has taken them.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use protomcp_fair::Reservation;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The bytes of each direction that every connection may have.
const FREE: usize = 16 << 10;

/// The bytes of one connection.
#[derive(Debug, Clone)]
pub(crate) struct Counts {
    /// The bytes of a message that arrives.
    pub(crate) arriving: HeldBytes,
    /// Those that the peer has not taken.
    pub(crate) waiting: HeldBytes,
    /// Those that the peer has taken.
    pub(crate) taken: Tally,
    /// Those that have come from the peer.
    pub(crate) arrived: Tally,
}

impl Counts {
    /// Without reservations no bytes are reserved, but those that pass are counted.
    pub(crate) fn new(arriving: Option<Reservation>, waiting: Option<Reservation>) -> Self {
        Self {
            arriving: HeldBytes::new(arriving),
            waiting: HeldBytes::new(waiting),
            taken: Tally::default(),
            arrived: Tally::default(),
        }
    }
}

/// The bytes that have passed in one direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally(Arc<AtomicUsize>);

impl Tally {
    /// This many bytes more.
    fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Those since the last reset.
    pub(crate) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Those since the last reset, which is now.
    pub(crate) fn reset(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// Bytes of one direction.
#[derive(Debug, Clone)]
pub(crate) struct HeldBytes(Arc<Mutex<Account>>);

#[derive(Debug)]
struct Account {
    bytes: usize,
    reservation: Option<Reservation>,
}

impl HeldBytes {
    fn new(reservation: Option<Reservation>) -> Self {
        Self(Arc::new(Mutex::new(Account { bytes: 0, reservation })))
    }

    /// The bytes before have been delivered.
    pub(crate) fn release(&self) {
        self.keep(0);
    }

    /// This many bytes were not of the message.
    pub(crate) fn give_back(&self, bytes: usize) {
        self.lessen(|before| before.saturating_sub(bytes));
    }

    /// All but this many bytes are gone.
    pub(crate) fn keep(&self, bytes: usize) {
        self.lessen(|before| before.min(bytes));
    }

    fn lessen(&self, less: impl FnOnce(usize) -> usize) {
        let mut account = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        account.bytes = less(account.bytes);
        let wanted = account.bytes.saturating_sub(FREE);
        if let Some(reservation) = &mut account.reservation {
            reservation.shrink(reservation.bytes().saturating_sub(wanted));
        }
    }

    /// This many bytes more.
    ///
    /// # Errors
    /// If the budget has too few.
    pub(crate) fn take(&self, bytes: usize) -> io::Result<()> {
        let mut account = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        account.bytes += bytes;
        let wanted = account.bytes.saturating_sub(FREE);
        let Some(reservation) = &mut account.reservation else { return Ok(()) };
        reservation.resize(wanted).map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, error))
    }
}

/// A stream whose received bytes count, and those that the peer takes. Reading fails when the budget has too few.
#[derive(Debug)]
pub(crate) struct Counted<IO> {
    pub(crate) io: IO,
    arriving: HeldBytes,
    taken: Tally,
    arrived: Tally,
}

impl<IO> Counted<IO> {
    pub(crate) fn new(io: IO, counts: &Counts) -> Self {
        Self { io, arriving: counts.arriving.clone(), taken: counts.taken.clone(), arrived: counts.arrived.clone() }
    }

    /// Counts the bytes of a write.
    fn written(&self, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = outcome {
            self.taken.add(bytes);
        }
        outcome
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for Counted<IO> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        let bytes = buf.filled().len() - before;
        self.arrived.add(bytes);
        let counted = self.arriving.take(bytes);
        if counted.is_err() {
            // A failed read returns nothing.
            buf.set_filled(before);
        }
        Poll::Ready(counted)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Counted<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write(cx, buf);
        self.written(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.io).poll_write_vectored(cx, pieces);
        self.written(outcome)
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
    use protomcp_fair::{Budget, Owner};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, join};

    use super::*;

    #[tokio::test]
    async fn bytes_count_until_their_message_is_delivered() {
        let budget = Budget::new(100 << 10);
        let counts = Counts::new(Some(budget.empty(&Owner::Local)), None);
        let held = counts.arriving.clone();
        let bytes = vec![0; 300 << 10];
        let mut stream = Counted::new(&bytes[..], &counts);
        stream.read_exact(&mut vec![0; 60 << 10]).await.unwrap();
        assert_eq!(budget.taken(), (60 - 16) << 10);
        held.give_back(10 << 10);
        assert_eq!(budget.taken(), (50 - 16) << 10);
        held.keep(20 << 10);
        held.keep(30 << 10);
        assert_eq!(budget.taken(), (20 - 16) << 10);
        held.release();
        assert_eq!(budget.taken(), 0);
        let error = stream.read_to_end(&mut Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
    }

    #[tokio::test]
    async fn bytes_that_pass_are_counted_without_a_budget() {
        let counts = Counts::new(None, None);
        let bytes = vec![0; 300 << 10];
        let mut stream = Counted::new(join(&bytes[..], Vec::new()), &counts);
        assert_eq!(stream.read_to_end(&mut Vec::new()).await.unwrap(), bytes.len());
        assert_eq!(counts.arrived.bytes(), bytes.len());
        assert_eq!((counts.arrived.reset(), counts.arrived.reset()), (bytes.len(), 0));
        stream.write_all(&bytes[..5]).await.unwrap();
        stream.write_all(&bytes[..6]).await.unwrap();
        assert_eq!((counts.taken.reset(), counts.taken.reset()), (11, 0));
    }
}
