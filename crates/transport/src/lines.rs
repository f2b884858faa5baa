//! JSON lines over any reader and writer: one message, or one batch, per line.
//!
//! Reading cuts lines out of one growing buffer without copying them. Writing gathers messages in a buffer that is used
//! again and again; big parts are kept as they are and written in between. Blank lines are ignored, a carriage return
//! before the line feed is white space like any other, and the last line may lack its line feed.

mod long_line;
mod sink;
mod source;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::lines::source::OtherText;
use crate::transport::Transport;

pub use sink::LinesSink;
pub use source::LinesSource;

/// The longest line that is read by default, in bytes.
pub const MAX_LINE: usize = 64 * 1024 * 1024;

/// A connection over a reader and a writer.
#[derive(Debug)]
pub struct Lines<R, W> {
    source: LinesSource<R>,
    sink: LinesSink<W>,
}

impl<R, W> Lines<R, W> {
    /// Reads lines of up to [`MAX_LINE`].
    pub fn new(reader: R, writer: W) -> Self {
        Self { source: LinesSource::new(reader, MAX_LINE), sink: LinesSink::new(writer) }
    }

    /// Sets how long a line may be, in bytes without its line feed. A longer one is skipped without being kept and
    /// answered with −32600 and its id, or fails the request that it answers; the session continues.
    #[must_use]
    pub fn with_max_line(mut self, max_line: usize) -> Self {
        self.source.set_max_line(max_line);
        self
    }

    /// Names the setting of the longest line in the error about a longer one, as the flag of a command for example.
    #[must_use]
    pub fn with_max_line_name(mut self, name: &'static str) -> Self {
        self.source.set_max_line_name(name);
        self
    }

    /// Gets lines that do not begin as messages do, such as output of a server that belongs on standard error, instead of
    /// an error for each. Of a long line it gets the first 16 KiB. The function must not block.
    #[must_use]
    pub fn on_other_text(mut self, handler: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.source.set_other_text(OtherText::new(handler));
        self
    }
}

impl<R, W> Transport for Lines<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Source = LinesSource<R>;
    type Sink = LinesSink<W>;

    fn split(self) -> (LinesSource<R>, LinesSink<W>) {
        (self.source, self.sink)
    }
}
