//! The connection to the host that started the program: standard input and output.
//!
//! The descriptors are first taken from the rest of the program. Their kind decides their use: hosts pass pipes,
//! sockets, terminals or files, depending on their language. The open file descriptions are shared with the host and
//! with its other children, so they are never switched to non-blocking.
//!
//! | descriptor | use |
//! |---|---|
//! | pipe | opened anew through `/proc/self/fd`, which makes a private description |
//! | socket (hosts written in Node) | system calls with `MSG_DONTWAIT` |
//! | terminal | opened anew, like a pipe |
//! | file, `/dev/null`, a pipe that cannot be opened anew | one thread that may block |
//!
//! Afterwards descriptor 1 is a copy of descriptor 2, and descriptor 0 is `/dev/null`: no library can write into the
//! conversation or read from it.

#[cfg(unix)]
mod descriptor;
#[cfg(unix)]
mod port;
mod thread;

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

#[cfg(unix)]
use tokio::net::unix::pipe;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::lines::Lines;
use crate::stdio::thread::{ThreadReader, ThreadWriter};

/// JSON lines on standard input and output.
pub type Stdio = Lines<StdioReader, StdioWriter>;

/// Takes standard input and output for the rest of the program's life. Must be called inside a tokio runtime.
///
/// # Errors
/// When they were taken before, or the system refuses them.
pub fn stdio() -> Result<Stdio, StdioError> {
    let (reader, writer) = take()?;
    Ok(Lines::new(reader, writer))
}

/// Like [`stdio`], for other protocols than JSON lines.
///
/// # Errors
/// When they were taken before, or the system refuses them.
pub fn take() -> Result<(StdioReader, StdioWriter), StdioError> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::AcqRel) {
        return Err(StdioError::Taken);
    }
    open().map_err(StdioError::Io)
}

#[cfg(unix)]
fn open() -> io::Result<(StdioReader, StdioWriter)> {
    let reader = descriptor::reader(rustix::stdio::stdin())?;
    let writer = descriptor::writer(rustix::stdio::stdout())?;
    descriptor::redirect()?;
    Ok((reader, writer))
}

#[cfg(not(unix))]
fn open() -> io::Result<(StdioReader, StdioWriter)> {
    let reader = StdioReader(Reader::Thread(ThreadReader::spawn(io::stdin())?));
    let writer = StdioWriter(Writer::Thread(ThreadWriter::spawn(io::stdout())?));
    Ok((reader, writer))
}

/// The reason why standard input and output cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StdioError {
    /// There is only one pair of them, and another part of this program has it.
    #[error("standard input and output are already in use")]
    Taken,
    /// The system refuses them.
    #[error("cannot use standard input and output")]
    Io(#[source] io::Error),
}

/// Standard input.
#[derive(Debug)]
pub struct StdioReader(Reader);

#[derive(Debug)]
enum Reader {
    #[cfg(unix)]
    Pipe(pipe::Receiver),
    #[cfg(unix)]
    Port(port::InPort),
    Thread(ThreadReader),
}

/// Standard output.
#[derive(Debug)]
pub struct StdioWriter(Writer);

#[derive(Debug)]
enum Writer {
    #[cfg(unix)]
    Pipe(pipe::Sender),
    #[cfg(unix)]
    Port(port::OutPort),
    Thread(ThreadWriter),
}

impl AsyncRead for StdioReader {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            #[cfg(unix)]
            Reader::Pipe(pipe) => Pin::new(pipe).poll_read(cx, buf),
            #[cfg(unix)]
            Reader::Port(port) => Pin::new(port).poll_read(cx, buf),
            Reader::Thread(thread) => Pin::new(thread).poll_read(cx, buf),
        }
    }
}

impl StdioWriter {
    fn inner(self: Pin<&mut Self>) -> Pin<&mut (dyn AsyncWrite + Send + Unpin)> {
        Pin::new(self.get_mut().0.writer())
    }
}

impl Writer {
    fn writer(&mut self) -> &mut (dyn AsyncWrite + Send + Unpin) {
        match self {
            #[cfg(unix)]
            Self::Pipe(pipe) => pipe,
            #[cfg(unix)]
            Self::Port(port) => port,
            Self::Thread(thread) => thread,
        }
    }
}

impl AsyncWrite for StdioWriter {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.inner().poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.inner().poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.0 {
            #[cfg(unix)]
            Writer::Pipe(_) | Writer::Port(_) => true,
            Writer::Thread(_) => false,
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_shutdown(cx)
    }
}
