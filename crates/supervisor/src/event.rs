//! Events for the owner of a process.

use std::fmt;

use crate::exit::Exit;

/// An event of a process. [`Event::Started`] is first, [`Event::Exited`] is last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The process runs under this process id.
    Started {
        /// The id of the process itself, not of its guardian.
        pid: u32,
    },
    /// The process, or one of its descendants, wrote a line.
    Line {
        /// The output.
        stream: Stream,
        /// The line without its end. Bytes that are not UTF-8 are replaced, and a line over
        /// [`MAX_LINE`](crate::lines::MAX_LINE) is cut with a notice.
        text: String,
    },
    /// A stop has begun: close the link to the process now, if there is one. Sent at most once.
    CloseLink,
    /// The process has ended. All of its output precedes this event.
    Exited(Exit),
}

/// One of the two outputs of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        })
    }
}
