//! The bytes for the bridge: a queue that any part of the process fills, and the task that writes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use crate::reports::ReportSlot;

/// Smaller pieces are joined before they are written.
const JOINED: usize = 64 * 1024;

/// The queue of bytes that wait to be written. Its producers are bounded: answers by the requests of the bridge,
/// reports of calls by their slots, notices by the number of pieces, and questions by
/// [`Config::max_questions`](crate::Config::max_questions).
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    queue: mpsc::UnboundedSender<Piece>,
    count: Arc<Count>,
}

/// Bytes that are written together, and the slot that they have until then.
#[derive(Debug)]
struct Piece {
    bytes: Bytes,
    slot: Option<ReportSlot>,
}

#[derive(Debug, Default)]
struct Count {
    bytes: AtomicUsize,
    pieces: AtomicUsize,
    written: Notify,
}

/// The receiving end of the queue.
#[derive(Debug)]
pub(crate) struct Writer {
    queue: mpsc::UnboundedReceiver<Piece>,
    count: Arc<Count>,
}

impl Outgoing {
    pub(crate) fn new() -> (Self, Writer) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let count = Arc::new(Count::default());
        (Self { queue: sender, count: Arc::clone(&count) }, Writer { queue: receiver, count })
    }

    /// Queues bytes. The slot is freed when they are written.
    pub(crate) fn push(&self, bytes: Bytes, slot: Option<ReportSlot>) {
        self.count.bytes.fetch_add(bytes.len(), Ordering::AcqRel);
        self.count.pieces.fetch_add(1, Ordering::AcqRel);
        // Without a writer the connection has ended.
        drop(self.queue.send(Piece { bytes, slot }));
    }

    /// The bytes that are not written.
    pub(crate) fn len(&self) -> usize {
        self.count.bytes.load(Ordering::Acquire)
    }

    /// Waits until all bytes are written.
    pub(crate) async fn written(&self) {
        self.below(1).await;
    }

    /// Waits until fewer pieces than this are not written.
    pub(crate) async fn below(&self, pieces: usize) {
        loop {
            let mut written = std::pin::pin!(self.count.written.notified());
            written.as_mut().enable();
            if self.count.pieces.load(Ordering::Acquire) < pieces {
                return;
            }
            written.await;
        }
    }
}

impl Writer {
    /// Writes until the connection fails, which ends `open`.
    pub(crate) async fn run(mut self, mut io: impl AsyncWrite + Unpin, open: CancellationToken) {
        let _ends = open.clone().drop_guard();
        let (mut joined, mut slots) = (Vec::new(), Vec::new());
        while let Some(first) = self.queue.recv().await {
            let (mut large, mut next, mut pieces) = (None, Some(first), 0);
            while let Some(Piece { bytes, slot }) = next {
                pieces += 1;
                slots.extend(slot);
                if bytes.len() > JOINED {
                    large = Some(bytes);
                    break;
                }
                joined.extend_from_slice(&bytes);
                next = if joined.len() < JOINED { self.queue.try_recv().ok() } else { None };
            }
            let size = joined.len() + large.as_ref().map_or(0, Bytes::len);
            let done = async {
                io.write_all(&joined).await?;
                if let Some(large) = &large {
                    io.write_all(large).await?;
                }
                io.flush().await
            };
            if let Err(error) = done.await {
                tracing::debug!(%error, "the bridge has closed the connection");
                return;
            }
            joined.clear();
            slots.clear();
            self.count.bytes.fetch_sub(size, Ordering::AcqRel);
            self.count.pieces.fetch_sub(pieces, Ordering::AcqRel);
            self.count.written.notify_waiters();
        }
    }
}
