//! A stream of lines whose unfinished line counts in the budget that all connections of a server share.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use protomcp_fair::Reservation;
use tokio::io::{AsyncRead, ReadBuf};

use crate::serve::account::hold;

/// Ends with an error when the unfinished line finds no room. Finished lines are requests, which the server counts.
#[derive(Debug)]
pub(super) struct LineBudget<R> {
    reader: R,
    /// Bytes since the last line feed.
    unfinished: usize,
    reservation: Option<Reservation>,
}

impl<R> LineBudget<R> {
    /// Without `reservation` nothing is counted.
    pub(super) fn new(reader: R, reservation: Option<Reservation>) -> Self {
        Self { reader, unfinished: 0, reservation }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for LineBudget<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.reader).poll_read(cx, buf))?;
        let Self { unfinished, reservation: Some(reservation), .. } = &mut *self else { return Poll::Ready(Ok(())) };
        let read = &buf.filled()[before..];
        *unfinished = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => read.len() - end - 1,
            None => *unfinished + read.len(),
        };
        let held = hold(reservation, *unfinished).map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, error));
        if held.is_err() {
            // A failed read returns nothing.
            buf.set_filled(before);
        }
        Poll::Ready(held)
    }
}

#[cfg(test)]
mod tests {
    use protomcp_fair::{Budget, Owner};
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn only_an_unfinished_line_takes_room() {
        let budget = Budget::new(100 << 10);
        let lines = [&vec![b'a'; 60 << 10][..], b"\n", &vec![b'b'; 40 << 10], b"\nc"].concat();
        let mut reader = LineBudget::new(&lines[..], Some(budget.empty(&Owner::Local)));
        reader.read_exact(&mut vec![0; 60 << 10]).await.unwrap();
        assert_eq!(budget.taken(), (60 - 16) << 10);
        reader.read_exact(&mut [0]).await.unwrap();
        assert_eq!(budget.taken(), 0);
        reader.read_exact(&mut vec![0; 40 << 10]).await.unwrap();
        assert_eq!(budget.taken(), (40 - 16) << 10);
        reader.read_to_end(&mut Vec::new()).await.unwrap();
        assert_eq!(budget.taken(), 0);
    }

    #[tokio::test]
    async fn a_line_without_room_ends_the_stream() {
        let budget = Budget::new(100 << 10);
        let line = vec![b'a'; 200 << 10];
        let mut reader = LineBudget::new(&line[..], Some(budget.empty(&Owner::Local)));
        let error = reader.read_to_end(&mut Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
        let mut reader = LineBudget::new(&line[..], None);
        assert_eq!(reader.read_to_end(&mut Vec::new()).await.unwrap(), line.len());
    }
}
