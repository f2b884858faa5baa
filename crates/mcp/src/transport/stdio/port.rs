//! A descriptor that is waited for through the runtime: a shared socket, or a terminal of our own.

use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
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

/// One direction of a conversation.
#[derive(Debug)]
pub(super) struct Port {
    fd: AsyncFd<OwnedFd>,
    is_socket: bool,
}

impl Port {
    /// A socket whose description is shared, so that each call must say that it does not want to wait.
    pub(super) fn socket(fd: OwnedFd, interest: Interest) -> io::Result<Self> {
        Ok(Self { fd: register(fd, interest)?, is_socket: true })
    }

    /// A descriptor with a description of its own, which is non-blocking.
    pub(super) fn nonblocking(fd: OwnedFd, interest: Interest) -> io::Result<Self> {
        Ok(Self { fd: register(fd, interest)?, is_socket: false })
    }

    fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        Ok(if self.is_socket {
            rustix::net::recv(self.fd.get_ref(), buf, RecvFlags::DONTWAIT)?.0
        } else {
            rustix::io::read(self.fd.get_ref(), buf)?
        })
    }

    fn write(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(if self.is_socket {
            rustix::net::sendmsg(self.fd.get_ref(), bufs, &mut SendAncillaryBuffer::default(), SEND)?
        } else {
            rustix::io::writev(self.fd.get_ref(), bufs)?
        })
    }
}

impl AsyncRead for Port {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.fd.poll_read_ready(cx))?;
            // An `Err` from `try_io` means that it would have blocked, and that the wait begins anew.
            if let Ok(read) = guard.try_io(|_| uninterrupted(|| self.read(buf.initialize_unfilled()))) {
                return Poll::Ready(read.map(|count| buf.advance(count)));
            }
        }
    }
}

impl AsyncWrite for Port {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.fd.poll_write_ready(cx))?;
            if let Ok(written) = guard.try_io(|_| uninterrupted(|| self.write(bufs))) {
                return Poll::Ready(written);
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
        // The description is shared: it is not ours to shut down.
        Poll::Ready(Ok(()))
    }
}

/// The only unsafe call of this crate: the runtime wants a promise about the descriptor.
#[expect(unsafe_code, reason = "tokio has no safe way to wait for a descriptor that is not its own")]
fn register(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open and stays the same descriptor for as long as it lives. It lives inside the `AsyncFd`,
    // which is private to `Port`, and `Port` never takes it out, replaces it or closes it.
    Ok(unsafe { AsyncFd::register_with_interest(fd, interest) }?)
}

fn uninterrupted(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}
