//! The driver's read buffer.
//!
//! Small frames share one buffer. A large frame gets a buffer that ends with the frame, because its payload is passed
//! on as a slice, and a slice of a few bytes keeps its whole buffer alive. An announced size costs nothing by itself:
//! the buffer grows by doubling as the frame arrives.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll};

use bytes::{BufMut, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// The size of one read of small frames, in bytes.
pub(super) const READ_SIZE: usize = 64 << 10;
/// The largest single read of a large frame, in bytes.
pub(super) const READ_SIZE_MAX: usize = 4 << 20;

#[derive(Debug)]
pub(super) struct Input {
    /// Bytes that are read and not yet decoded.
    pub(super) bytes: BytesMut,
    /// True if the buffer belongs to a large frame.
    large: bool,
}

impl Input {
    pub(super) fn new() -> Self {
        Self { bytes: BytesMut::with_capacity(READ_SIZE), large: false }
    }

    /// Reads once. `bytes_needed` is the number of bytes that the incomplete frame still needs.
    pub(super) fn poll_read<IO: AsyncRead + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        io: &mut IO,
        bytes_needed: usize,
    ) -> Poll<io::Result<usize>> {
        let size = self.reserve(bytes_needed);
        let mut space = (&mut self.bytes).limit(size);
        // A pending read may be dropped without losing bytes.
        pin!(io.read_buf(&mut space)).poll(cx)
    }

    /// Makes space for one read, and returns its size in bytes.
    pub(super) fn reserve(&mut self, bytes_needed: usize) -> usize {
        if self.large && self.bytes.is_empty() {
            // The large frame is complete. Its buffer must not be kept alive by the next one.
            *self = Self::new();
        }
        self.large |= bytes_needed > READ_SIZE;
        let most = if self.large { bytes_needed.min(READ_SIZE_MAX) } else { READ_SIZE };
        if self.bytes.capacity() - self.bytes.len() < most.min(READ_SIZE / 2) {
            self.bytes.reserve(most);
        }
        most
    }
}

#[cfg(test)]
mod tests;
