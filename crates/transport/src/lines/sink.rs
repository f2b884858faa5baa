//! Gathers messages and writes them, a line each.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::Bytes;
use memchr::memchr2;
use protomcp_types::{Message, Output, RequestId, SHARE_FROM};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::transport::{Sink, TransportError};
use protomcp_fair::Reservation;

/// The number of pieces in one write.
const PIECES: usize = 32;

/// A buffer that was bigger than this once is not kept for later.
const KEEP: usize = 256 * 1024;

/// The number of messages whose reservations are kept without new memory.
const KEEP_RESERVATIONS: usize = 16;

/// The writing half of [`super::Lines`].
#[derive(Debug)]
pub struct LinesSink<W> {
    writer: W,
    text: Text,
    /// The bytes of the first piece that are written.
    written: usize,
    /// The bytes written in all.
    total: u64,
    /// Bytes of messages, each until this much is written in all.
    reservations: VecDeque<(u64, Reservation)>,
    /// True if the writer may hold something back.
    unflushed: bool,
}

impl<W> LinesSink<W> {
    pub(super) fn new(writer: W) -> Self {
        Self { writer, text: Text::default(), written: 0, total: 0, reservations: VecDeque::new(), unflushed: false }
    }

    /// `count` more bytes are written.
    fn advance(&mut self, count: usize) {
        self.written += count;
        self.total += count as u64;
        while self.reservations.front().is_some_and(|(until, _)| *until <= self.total) {
            self.reservations.pop_front();
        }
        if self.reservations.is_empty() {
            self.reservations.shrink_to(KEEP_RESERVATIONS);
        }
        while let Some(first) = self.text.done.front() {
            if self.written < first.len() {
                return;
            }
            self.written -= first.len();
            self.text.done.pop_front();
        }
        if self.written == self.text.tail.len() {
            self.written = 0;
            self.text.tail.clear();
            self.text.tail.shrink_to(KEEP);
        }
    }
}

impl<W: AsyncWrite + Unpin + Send + 'static> Sink for LinesSink<W> {
    fn send(&mut self, message: Message, _: Option<&RequestId>) -> Result<(), TransportError> {
        message.write_to(&mut self.text);
        self.text.end_line();
        Ok(())
    }

    fn send_reserved(
        &mut self,
        message: Message,
        during: Option<&RequestId>,
        reservation: Reservation,
    ) -> Result<Option<Reservation>, TransportError> {
        self.send(message, during)?;
        self.reservations.push_back((self.text.total, reservation));
        Ok(None)
    }

    fn send_batch(&mut self, messages: Vec<Message>) -> Result<(), TransportError> {
        for (index, message) in messages.iter().enumerate() {
            self.text.put(if index == 0 { b"[" } else { b"," });
            message.write_to(&mut self.text);
        }
        self.text.put(b"]");
        self.text.end_line();
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), TransportError> {
        while !self.text.is_empty() {
            // Both kinds of write are cancel safe: either they have written and return, or they have done nothing.
            let count = if self.text.done.is_empty() {
                self.writer.write(&self.text.tail[self.written..]).await?
            } else {
                let slices = self.text.slices(self.written);
                self.writer.write_vectored(&slices).await?
            };
            if count == 0 {
                return Err(TransportError::Closed);
            }
            self.unflushed = true;
            self.advance(count);
        }
        if self.unflushed {
            self.writer.flush().await?;
            self.unflushed = false;
        }
        Ok(())
    }

    fn unwritten(&self) -> usize {
        usize::try_from(self.text.total - self.total).unwrap_or(usize::MAX) + usize::from(self.unflushed)
    }
}

/// Finished pieces, and a last one that still grows.
#[derive(Debug, Default)]
struct Text {
    done: VecDeque<Bytes>,
    tail: Vec<u8>,
    /// The length of everything that there ever was.
    total: u64,
}

impl Text {
    fn is_empty(&self) -> bool {
        self.done.is_empty() && self.tail.is_empty()
    }

    fn end_line(&mut self) {
        self.tail.push(b'\n');
        self.total += 1;
    }

    fn slices(&self, written: usize) -> Vec<IoSlice<'_>> {
        let pieces = self.done.iter().map(Bytes::as_ref).chain([self.tail.as_slice()]).take(PIECES);
        let mut slices: Vec<_> = pieces.map(IoSlice::new).collect();
        IoSlice::advance_slices(&mut slices.as_mut_slice(), written);
        slices
    }
}

/// Keeps the text on one line. A literal line break is never inside a JSON string, so it may become a space.
impl Output for Text {
    fn put(&mut self, piece: &[u8]) {
        let start = self.tail.len();
        self.tail.extend_from_slice(piece);
        self.total += piece.len() as u64;
        if memchr2(b'\n', b'\r', piece).is_some() {
            for byte in &mut self.tail[start..] {
                if matches!(byte, b'\n' | b'\r') {
                    *byte = b' ';
                }
            }
        }
    }

    fn put_shared(&mut self, piece: Bytes) {
        if piece.len() < SHARE_FROM || memchr2(b'\n', b'\r', &piece).is_some() {
            self.put(&piece);
            return;
        }
        if !self.tail.is_empty() {
            self.done.push_back(Bytes::from(std::mem::take(&mut self.tail)));
        }
        self.total += piece.len() as u64;
        self.done.push_back(piece);
    }
}
