//! Cuts lines out of a stream of bytes.

use bytes::{Buf, BytesMut};
use memchr::memchr;
use protomcp_types::{Incoming, Malformed};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::transport::{Received, Source, TransportError};

/// The least that is read at once. Lines share the buffer they were read into, so a slow call keeps this much.
const CHUNK: usize = 16 * 1024;

/// A line of this size is worth a copy of what was read behind it.
const LONG: usize = 64 * 1024;

/// The reading half of [`super::Lines`].
#[derive(Debug)]
pub struct LinesSource<R> {
    reader: R,
    buffer: BytesMut,
    /// The bytes of the buffer that are known to hold no line feed.
    searched: usize,
    max_line: usize,
    /// The length of the last line that was returned.
    line_len: usize,
    /// Inside a line that is too long.
    skipping: bool,
    ended: bool,
}

impl<R> LinesSource<R> {
    pub(super) fn new(reader: R, max_line: usize) -> Self {
        Self { reader, buffer: BytesMut::new(), searched: 0, max_line, line_len: 0, skipping: false, ended: false }
    }

    pub(super) fn set_max_line(&mut self, max_line: usize) {
        self.max_line = max_line;
    }

    /// The next line that the buffer holds whole, and is not blank.
    fn line(&mut self) -> Option<Received> {
        loop {
            let end = memchr(b'\n', &self.buffer[self.searched..]).map(|at| self.searched + at);
            let line = match end {
                Some(end) => {
                    let line = self.buffer.split_to(end);
                    self.buffer.advance(1);
                    line
                }
                None if self.ended => self.buffer.split(),
                None => {
                    self.searched = self.buffer.len();
                    return self.too_long();
                }
            };
            self.searched = 0;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if line.len() > self.max_line {
                return Some(Err(self.refusal()));
            }
            if line.len() >= LONG && self.buffer.len() <= line.len() {
                // Otherwise the rest would keep the memory of the long line for as long as the client is silent.
                self.buffer = BytesMut::from(&self.buffer[..]);
            }
            self.line_len = line.len();
            let blank = line.iter().all(u8::is_ascii_whitespace);
            if !blank {
                return Some(Incoming::parse(&line.freeze()));
            }
            end?;
        }
    }

    /// Gives up a line that is already too long, with bounded memory: what was read of it is dropped at once.
    fn too_long(&mut self) -> Option<Received> {
        if self.skipping {
            self.forget();
            return None;
        }
        if self.buffer.len() <= self.max_line {
            return None;
        }
        self.forget();
        self.skipping = true;
        Some(Err(self.refusal()))
    }

    fn forget(&mut self) {
        // A new buffer, as the old one may be as big as a line can be.
        self.buffer = BytesMut::new();
        self.searched = 0;
    }

    fn refusal(&self) -> Malformed {
        Malformed::invalid(None, format!("a line is longer than {} bytes", self.max_line))
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> Source for LinesSource<R> {
    async fn next(&mut self) -> Result<Option<Received>, TransportError> {
        loop {
            if let Some(received) = self.line() {
                return Ok(Some(received));
            }
            if self.ended {
                return Ok(None);
            }
            if self.buffer.capacity() - self.buffer.len() < CHUNK / 4 {
                // A long line doubles its buffer each time, so that it is copied once on average.
                self.buffer.reserve(self.buffer.len().max(CHUNK));
            }
            // `read_buf` is cancel safe: either it has read and returns, or it has done nothing.
            self.ended = self.reader.read_buf(&mut self.buffer).await? == 0;
        }
    }

    fn text_len(&self) -> usize {
        self.line_len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_long_line_does_not_keep_its_memory() {
        let text = format!("\"{}\"\n\"behind", "x".repeat(1_000_000));
        let mut source = LinesSource::new(std::io::Cursor::new(text), 2_000_000);
        assert!(matches!(source.next().await, Ok(Some(Err(_)))));
        assert_eq!(&source.buffer[..], b"\"behind");
        assert!(source.buffer.capacity() < LONG);
        assert!(matches!(source.next().await, Ok(Some(Err(_)))));
        assert!(matches!(source.next().await, Ok(None)));
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_not_kept() {
        let mut source = LinesSource::new(tokio::io::repeat(b'x'), 100_000);
        assert!(matches!(source.next().await, Ok(Some(Err(_)))));
        let skipping = tokio::time::timeout(std::time::Duration::from_millis(20), source.next());
        assert!(skipping.await.is_err(), "the line has no end");
        assert!(source.buffer.capacity() <= 4 * CHUNK);
    }
}
