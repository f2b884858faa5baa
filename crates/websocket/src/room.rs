//! A stream whose bytes count in a budget until the messages that they are of have been delivered.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use protomcp_session::Reservation;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The bytes that every connection may have.
const FREE: usize = 16 << 10;

/// The bytes of a message that arrives.
#[derive(Debug, Clone)]
pub(crate) struct Room(Arc<Mutex<Account>>);

#[derive(Debug)]
struct Account {
    bytes: usize,
    reservation: Option<Reservation>,
}

impl Room {
    /// Without a reservation nothing is counted.
    pub(crate) fn new(reservation: Option<Reservation>) -> Self {
        Self(Arc::new(Mutex::new(Account { bytes: 0, reservation })))
    }

    /// The bytes before have been delivered.
    pub(crate) fn release(&self) {
        self.give_back(usize::MAX);
    }

    /// So many bytes were not of the message.
    pub(crate) fn give_back(&self, bytes: usize) {
        let mut account = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        account.bytes = account.bytes.saturating_sub(bytes);
        let wanted = account.bytes.saturating_sub(FREE);
        if let Some(reservation) = &mut account.reservation {
            let held = reservation.bytes();
            reservation.shrink(held.saturating_sub(wanted));
        }
    }

    fn take(&self, bytes: usize) -> io::Result<()> {
        let mut account = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        account.bytes += bytes;
        let wanted = account.bytes.saturating_sub(FREE);
        match &mut account.reservation {
            Some(reservation) if wanted > reservation.bytes() => {
                let more = wanted - reservation.bytes();
                reservation.grow(more).map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, error))
            }
            _ => Ok(()),
        }
    }
}

/// A stream whose received bytes count. Reading fails when there is no room.
#[derive(Debug)]
pub(crate) struct Counted<IO> {
    pub(crate) io: IO,
    pub(crate) room: Room,
}

impl<IO: AsyncRead + Unpin> AsyncRead for Counted<IO> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        let taken = self.room.take(buf.filled().len() - before);
        if taken.is_err() {
            // A failed read returns nothing.
            buf.set_filled(before);
        }
        Poll::Ready(taken)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for Counted<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, pieces)
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
    use protomcp_session::{Budget, Owner};
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn bytes_count_until_their_message_is_delivered() {
        let budget = Budget::new(100 << 10);
        let room = Room::new(Some(budget.empty(&Owner::Local)));
        let bytes = vec![0; 300 << 10];
        let mut stream = Counted { io: &bytes[..], room: room.clone() };
        stream.read_exact(&mut vec![0; 60 << 10]).await.unwrap();
        assert_eq!(budget.taken(), (60 - 16) << 10);
        room.give_back(10 << 10);
        assert_eq!(budget.taken(), (50 - 16) << 10);
        room.release();
        assert_eq!(budget.taken(), 0);
        let error = stream.read_to_end(&mut Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
    }

    #[tokio::test]
    async fn without_a_budget_nothing_counts() {
        let bytes = vec![0; 300 << 10];
        let mut stream = Counted { io: &bytes[..], room: Room::new(None) };
        assert_eq!(stream.read_to_end(&mut Vec::new()).await.unwrap(), bytes.len());
    }
}
