//! One captured output of a process, split into lines.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::event::Stream;
use crate::lines::Lines;

/// The size of one read.
const CHUNK: usize = 8 * 1024;

/// One of the two outputs of a process.
#[derive(Debug)]
pub(crate) struct Output<R> {
    stream: Stream,
    /// None once it has ended.
    pipe: Option<R>,
    buffer: Box<[u8]>,
    lines: Lines,
}

impl<R: AsyncRead + Unpin> Output<R> {
    pub(crate) fn new(stream: Stream, pipe: R) -> Self {
        Self { stream, pipe: Some(pipe), buffer: vec![0; CHUNK].into(), lines: Lines::default() }
    }

    /// An output that is not captured.
    pub(crate) fn none(stream: Stream) -> Self {
        Self { stream, pipe: None, buffer: Box::default(), lines: Lines::default() }
    }

    /// True if the output was read to its end.
    pub(crate) fn has_ended(&self) -> bool {
        self.pipe.is_none()
    }

    pub(crate) fn stream(&self) -> Stream {
        self.stream
    }

    /// Reads bytes; returns their number, 0 at the end. Never resolves after the end. Cancel-safe.
    pub(crate) async fn read(&mut self) -> io::Result<usize> {
        match &mut self.pipe {
            Some(pipe) => pipe.read(&mut self.buffer).await,
            None => std::future::pending().await,
        }
    }

    /// Handles the result of [`Output::read`]: passes on the lines it completes and returns the number of bytes.
    pub(crate) fn accept(&mut self, read: io::Result<usize>, line: impl FnMut(String)) -> usize {
        match read {
            Ok(count) if count > 0 => {
                self.lines.feed(&self.buffer[..count], line);
                count
            }
            Ok(_) => {
                self.finish(line);
                0
            }
            Err(error) => {
                tracing::warn!(stream = %self.stream, %error, "cannot read an output any further");
                self.finish(line);
                0
            }
        }
    }

    /// Stops reading; text without a line end is the last line.
    pub(crate) fn finish(&mut self, line: impl FnMut(String)) {
        self.pipe = None;
        self.lines.finish().into_iter().for_each(line);
    }
}
