//! A descriptor that is waited for through the runtime: a shared socket, or a terminal of our own.
//!
//! The writing end is registered only while it waits for room: a unix socket reports room each time the host has read
//! something, and would wake us for it.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

/// Not to wait, and an error instead of a signal when the host is gone.
#[cfg(not(target_vendor = "apple"))]
const SEND: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

/// Not to wait. Rust programs ignore the signal that a host which is gone would cause.
#[cfg(target_vendor = "apple")]
const SEND: SendFlags = SendFlags::DONTWAIT;

/// The kind of a descriptor, which decides how it is read and written without waiting.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// Its description is shared, so each system call has a flag against blocking.
    Socket,
    /// Its description is our own and non-blocking.
    Own,
}

/// The reading end.
#[derive(Debug)]
pub(super) struct InPort {
    fd: AsyncFd<OwnedFd>,
    kind: Kind,
}

/// The writing end.
#[derive(Debug)]
pub(super) struct OutPort {
    writable: Writable,
    kind: Kind,
}

#[derive(Debug)]
enum Writable {
    /// The last write was taken.
    Likely(OwnedFd),
    /// A write would have blocked.
    Awaited(AsyncFd<OwnedFd>),
    /// Between the other two.
    Changing,
}

impl InPort {
    pub(super) fn new(fd: OwnedFd, kind: Kind) -> io::Result<Self> {
        Ok(Self { fd: register(fd, Interest::READABLE)?, kind })
    }
}

impl OutPort {
    pub(super) fn new(fd: OwnedFd, kind: Kind) -> Self {
        Self { writable: Writable::Likely(fd), kind }
    }

    fn write(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let fd = match &self.writable {
            Writable::Likely(fd) => fd.as_fd(),
            Writable::Awaited(fd) => fd.get_ref().as_fd(),
            Writable::Changing => return Err(io::ErrorKind::BrokenPipe.into()),
        };
        uninterrupted(|| {
            Ok(match self.kind {
                Kind::Socket => rustix::net::sendmsg(fd, bufs, &mut SendAncillaryBuffer::default(), SEND)?,
                Kind::Own => rustix::io::writev(fd, bufs)?,
            })
        })
    }

    fn await_writable(&mut self) -> io::Result<()> {
        self.writable = match std::mem::replace(&mut self.writable, Writable::Changing) {
            Writable::Likely(fd) => Writable::Awaited(register(fd, Interest::WRITABLE)?),
            writable @ (Writable::Awaited(_) | Writable::Changing) => writable,
        };
        Ok(())
    }

    fn mark_writable(&mut self) {
        self.writable = match std::mem::replace(&mut self.writable, Writable::Changing) {
            Writable::Awaited(fd) => Writable::Likely(fd.into_inner()),
            writable @ (Writable::Likely(_) | Writable::Changing) => writable,
        };
    }
}

impl AsyncRead for InPort {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.fd.poll_read_ready(cx))?;
            // An `Err` from `try_io` means that it would have blocked, and that the wait begins anew.
            if let Ok(read) = guard.try_io(|fd| uninterrupted(|| receive(fd.get_ref(), self.kind, buf))) {
                return Poll::Ready(read);
            }
        }
    }
}

impl AsyncWrite for OutPort {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            if let Writable::Awaited(fd) = &self.writable {
                // News of room from before the next try is out of date after it.
                ready!(fd.poll_write_ready(cx))?.clear_ready();
            }
            match self.write(bufs) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.await_writable()?,
                Ok(count) if count < bufs.iter().map(|buf| buf.len()).sum() => return Poll::Ready(Ok(count)),
                outcome => {
                    self.mark_writable();
                    return Poll::Ready(outcome);
                }
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The description is shared with the host, so it is not shut down.
        Poll::Ready(Ok(()))
    }
}

/// Reads into the free part of the buffer without clearing it first.
#[expect(unsafe_code, reason = "tokio's buffer has no safe way to be filled by the system")]
fn receive(fd: &OwnedFd, kind: Kind, buf: &mut ReadBuf<'_>) -> io::Result<()> {
    // SAFETY: only the system writes to it, so what was initialized stays so.
    let free: &mut [MaybeUninit<u8>] = unsafe { buf.unfilled_mut() };
    let count = match kind {
        Kind::Socket => rustix::net::recv(fd, free, RecvFlags::DONTWAIT)?.1,
        Kind::Own => rustix::io::read(fd, free)?.0.len(),
    };
    // SAFETY: the system has written the first `count` bytes.
    unsafe { buf.assume_init(count) };
    buf.advance(count);
    Ok(())
}

/// Registers the descriptor with the runtime.
#[expect(unsafe_code, reason = "tokio has no safe way to wait for a descriptor that is not its own")]
fn register(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open and stays the same descriptor for as long as it lives. It lives inside the
    // `AsyncFd`, which is private to this module; it is only taken out as a whole, when the registration ends.
    Ok(unsafe { AsyncFd::register_with_interest(fd, interest) }?)
}

fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}
