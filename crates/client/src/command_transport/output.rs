//! Standard output of a process, up to a number of bytes.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::unix::pipe::Receiver;

/// The reader. It ends behind its last byte, as if the process had closed its output.
#[derive(Debug)]
pub(crate) struct Output {
    reader: Receiver,
    /// The bytes that may still be read. One read may take some more.
    left: u64,
    is_exceeded: Arc<AtomicBool>,
}

/// The limit of a reader, and its state.
#[derive(Debug)]
pub(crate) struct OutputLimit {
    /// The name of the program.
    name: String,
    max: u64,
    is_exceeded: Arc<AtomicBool>,
}

impl Output {
    pub(crate) fn new(reader: Receiver, name: String, max: u64) -> (Self, OutputLimit) {
        let is_exceeded = Arc::new(AtomicBool::new(false));
        let limit = OutputLimit { name, max, is_exceeded: Arc::clone(&is_exceeded) };
        (Self { reader, left: max, is_exceeded }, limit)
    }
}

impl OutputLimit {
    /// The reason for the end, if the process has written too much.
    pub(crate) fn exceeded(&self) -> Option<String> {
        let Self { name, max, is_exceeded } = self;
        is_exceeded.load(Ordering::Relaxed).then(|| {
            format!("{name} was stopped: it has written {max} bytes to standard output, and may not write more")
        })
    }
}

impl AsyncRead for Output {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.left == 0 {
            self.is_exceeded.store(true, Ordering::Relaxed);
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.reader).poll_read(cx, buf))?;
        let read = buf.filled().len().saturating_sub(before);
        self.left = self.left.saturating_sub(u64::try_from(read).unwrap_or(u64::MAX));
        Poll::Ready(Ok(()))
    }
}
