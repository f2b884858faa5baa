//! What the owner of a process hears.

use std::fmt;

use crate::exit::Exit;

/// What happened to a process. [`Event::Started`] is first, [`Event::Exited`] is last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The process runs under this process id.
    Started {
        /// The id of the process itself, not of its guardian.
        pid: u32,
    },
    /// The process, or something it started, wrote a line.
    Line {
        /// Where it was written.
        stream: Stream,
        /// The line without its end. Bytes that are not UTF-8 are replaced, and a line over
        /// [`MAX_LINE`](crate::lines::MAX_LINE) is cut and says so.
        text: String,
    },
    /// The ladder has begun: close the link to the process now, if there is one. Comes at most once.
    CloseLink,
    /// The process has ended. Everything it wrote before its end came before.
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
