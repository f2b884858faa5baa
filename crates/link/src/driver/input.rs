//! Where the driver reads to.
//!
//! Small frames share one buffer. A large frame gets a buffer that ends where the frame ends: its payload is handed on
//! as a slice, and whoever holds a few bytes of a buffer keeps all of it alive. So that an announced size costs nothing
//! by itself, the buffer grows only as the frame comes in, by doubling.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll};

use bytes::{BufMut, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Room for one read of small frames, in bytes.
pub(super) const READ_ROOM: usize = 64 << 10;
/// The most that is read at once of a large frame, in bytes.
pub(super) const READ_ROOM_MAX: usize = 4 << 20;

#[derive(Debug)]
pub(super) struct Input {
    /// What was read and is not decoded yet.
    pub(super) bytes: BytesMut,
    /// The buffer belongs to a frame that is large.
    large: bool,
}

impl Input {
    pub(super) fn new() -> Self {
        Self { bytes: BytesMut::with_capacity(READ_ROOM), large: false }
    }

    /// Reads once. `bytes_needed` is what the frame that is being read still needs, in bytes.
    pub(super) fn poll_read<IO: AsyncRead + Unpin>(
        &mut self,
        cx: &mut Context<'_>,
        io: &mut IO,
        bytes_needed: usize,
    ) -> Poll<io::Result<usize>> {
        let room = self.make_room(bytes_needed);
        let mut space = (&mut self.bytes).limit(room);
        // A read may be given up when it is not ready; nothing is lost.
        pin!(io.read_buf(&mut space)).poll(cx)
    }

    /// Makes room and says how much of it to fill.
    pub(super) fn make_room(&mut self, bytes_needed: usize) -> usize {
        if self.large && self.bytes.is_empty() {
            // The frame has left. What it was read into must not stay behind with the next one.
            *self = Self::new();
        }
        self.large |= bytes_needed > READ_ROOM;
        let most = if self.large { bytes_needed.min(READ_ROOM_MAX) } else { READ_ROOM };
        if self.bytes.capacity() - self.bytes.len() < most.min(READ_ROOM / 2) {
            self.bytes.reserve(most);
        }
        most
    }
}

#[cfg(test)]
mod tests;
