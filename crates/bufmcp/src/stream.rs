//! The frames of a stream on their way in and out, and the time, for both ends of a conversation.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::ready;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::sleep_until;

use crate::frame::{Decoder, FrameTooLarge, Unreadable};
use crate::message::McpMessage;

/// The most bytes that are reserved for one read.
const READ_STEP: usize = 64 << 10;

/// The bytes of small frames that are read together, on the stack, so that an idle stream needs no buffer.
const SMALL_STEP: usize = 16 << 10;

/// The largest buffer that a stream keeps between two frames.
const IDLE: usize = 1 << 10;

/// The most events between two writes while events are always ready.
pub(crate) const BATCH: usize = 64;

/// The bytes of frames that are written together.
const WRITE_STEP: usize = 256 << 10;

/// Frames that are being read.
#[derive(Debug)]
pub(crate) struct Incoming {
    decoder: Decoder,
    bytes: BytesMut,
    /// The largest capacity of this buffer, which keeps it also while it shows less.
    most: usize,
}

impl Incoming {
    pub(crate) fn new(decoder: Decoder) -> Self {
        Self { decoder, bytes: BytesMut::new(), most: 0 }
    }

    /// The bytes that have arrived and are not decoded.
    pub(crate) fn undecoded(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes of memory that they take.
    pub(crate) fn held(&self) -> usize {
        self.most.max(self.bytes.len())
    }

    /// Forgets them.
    pub(crate) fn clear(&mut self) {
        self.bytes = BytesMut::new();
        self.most = 0;
    }

    /// Reads some bytes; none at the end. Nothing is lost if the future is dropped.
    ///
    /// # Errors
    /// If the stream fails.
    pub(crate) async fn read(&mut self, reader: &mut (impl AsyncRead + Unpin)) -> io::Result<usize> {
        if self.decoder.want() < SMALL_STEP && self.bytes.len() < SMALL_STEP {
            return self.read_small(reader).await;
        }
        self.make_room();
        reader.read_buf(&mut self.bytes).await
    }

    /// Reads all that has arrived, as far as it is small.
    async fn read_small(&mut self, reader: &mut (impl AsyncRead + Unpin)) -> io::Result<usize> {
        poll_fn(|cx| {
            let mut space = [MaybeUninit::uninit(); SMALL_STEP];
            let mut arrived = ReadBuf::uninit(&mut space);
            ready!(Pin::new(&mut *reader).poll_read(cx, &mut arrived))?;
            self.bytes.extend_from_slice(arrived.filled());
            self.most = self.most.max(self.bytes.capacity());
            Ok(arrived.filled().len()).into()
        })
        .await
    }

    /// Makes room for the next read. The buffer grows as bytes arrive, whatever a frame announces: to twice of what is
    /// there, and never beyond the end of the frame.
    fn make_room(&mut self) {
        let (present, want) = (self.bytes.len(), self.decoder.want().max(1));
        if present < READ_STEP {
            self.grow(want.min(READ_STEP - present));
        } else if self.bytes.capacity() == present {
            self.grow(want.min(present));
        }
        self.most = self.most.max(self.bytes.capacity());
    }

    /// Makes room for this many bytes and no more. A reservation of this buffer would take twice the memory, also at the end of
    /// a frame. A vector grows in place where it can, so that the memory of the smaller one is not left behind.
    fn grow(&mut self, bytes: usize) {
        if self.bytes.capacity() - self.bytes.len() >= bytes {
            return;
        }
        let mut larger = Vec::from(std::mem::take(&mut self.bytes));
        larger.reserve_exact(bytes);
        self.bytes = BytesMut::from(Bytes::from(larger));
        self.most = 0;
    }

    /// The next frame that has arrived.
    ///
    /// # Errors
    /// If it announces more bytes than are allowed.
    pub(crate) fn decode(&mut self) -> Result<Option<Result<McpMessage, Unreadable>>, FrameTooLarge> {
        let decoded = self.decoder.decode(&mut self.bytes);
        if self.bytes.is_empty() && self.most > IDLE {
            // Until the next frame the connection needs no buffer.
            self.clear();
        }
        decoded
    }
}

/// Frames that are being written.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    bytes: BytesMut,
    /// The largest capacity of this buffer, which keeps it until all is written.
    most: usize,
    /// Bytes were written that are not flushed.
    is_unflushed: bool,
}

impl Outgoing {
    /// True if everything is written and flushed.
    pub(crate) fn is_done(&self) -> bool {
        self.bytes.is_empty() && !self.is_unflushed
    }

    /// The bytes of memory that they take.
    pub(crate) fn held(&self) -> usize {
        self.most
    }

    /// Takes the next frames if all before them are written. Frames that the peer does not read stay where they come from.
    pub(crate) fn fill(&mut self, mut next: impl FnMut() -> Option<Vec<u8>>) {
        if self.bytes.is_empty() {
            while self.bytes.len() < WRITE_STEP
                && let Some(frame) = next()
            {
                self.bytes.extend_from_slice(&frame);
            }
            self.most = self.bytes.capacity();
        }
    }

    /// Writes a part, and flushes it. Nothing is lost if the future is dropped.
    ///
    /// # Errors
    /// If the stream fails.
    pub(crate) async fn write(&mut self, writer: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        if !self.bytes.is_empty() {
            self.is_unflushed = true;
            if writer.write_buf(&mut self.bytes).await? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            if self.bytes.is_empty() {
                (self.bytes, self.most) = (BytesMut::new(), 0);
            }
        }
        writer.flush().await?;
        self.is_unflushed = false;
        Ok(())
    }
}

/// Waits until then; without a time for ever.
pub(crate) async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

/// The time, which tests can stop.
pub(crate) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::encode;
    use crate::limits::FrameLimits;
    use crate::message::CallToolRequest;
    use crate::message::mcp_message::Payload;

    #[tokio::test]
    async fn an_idle_stream_keeps_no_large_buffer() {
        let message = |size| {
            let call = CallToolRequest { name: "x".repeat(size), ..CallToolRequest::default() };
            McpMessage { id: 1, payload: Some(Payload::CallToolRequest(call)) }
        };
        let mut incoming = Incoming::new(Decoder::new(FrameLimits::default()));
        let mut outgoing = Outgoing::default();
        for size in [1 << 20, 10] {
            let mut frame = Vec::new();
            encode(&message(size), &FrameLimits::default(), &mut frame).unwrap();
            let mut reader = &frame[..];
            let arrived = loop {
                assert_ne!(incoming.read(&mut reader).await.unwrap(), 0);
                if let Some(arrived) = incoming.decode().unwrap() {
                    break arrived.unwrap();
                }
            };
            assert_eq!(arrived, message(size));
            // A reservation shows memory that the buffer would use again.
            assert!(!incoming.bytes.try_reclaim(READ_STEP * 2), "{size}");
            outgoing.fill(|| Some(frame.clone()));
            while !outgoing.is_done() {
                outgoing.write(&mut tokio::io::sink()).await.unwrap();
            }
            assert!(!outgoing.bytes.try_reclaim(READ_STEP), "{size}");
        }
    }
}
