//! A unix socket that wakes its driver only for incoming bytes.
//!
//! tokio's own stream registers for both directions together. On a unix socket the system then reports room for writing
//! each time the peer has read, so every call woke the driver twice more than needed. This type registers for reading;
//! it registers for writing only while a write finds no room.

use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::net::RecvFlags;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

/// The bridge's end of a unix socket.
#[derive(Debug)]
pub struct Socket {
    stream: AsyncFd<UnixStream>,
    /// Present while a write waits for room.
    writable: Option<AsyncFd<UnixStream>>,
    peer: Option<i32>,
}

impl Socket {
    /// Takes over a connected stream.
    ///
    /// # Errors
    /// If the system cannot register the socket.
    ///
    /// # Panics
    /// Outside a tokio runtime with I/O enabled.
    pub fn new(stream: tokio::net::UnixStream) -> io::Result<Self> {
        let peer = stream.peer_cred()?.pid();
        Ok(Self { stream: register(stream.into_std()?, Interest::READABLE)?, writable: None, peer })
    }

    /// The process id of the peer, where the system reports it.
    pub fn peer_process(&self) -> Option<i32> {
        self.peer
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.stream.get_ref().write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.get_ref().as_fd()
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.stream.poll_read_ready(cx))?;
            let space = buf.remaining();
            match guard.try_io(|stream| receive(stream.get_ref(), buf)) {
                Ok(Ok(count)) => {
                    // That was everything. epoll reports when more arrives, so there is no need to read again.
                    if cfg!(target_os = "linux") && count > 0 && count < space {
                        guard.clear_ready();
                    }
                    return Poll::Ready(Ok(()));
                }
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Poll::Ready(Err(error)),
                // The write would have blocked, so the wait begins again.
                Err(_) => {}
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            if let Some(writable) = &self.writable {
                ready!(writable.poll_write_ready(cx))?.clear_ready();
            }
            match self.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.writable.is_none() {
                        let second = self.stream.get_ref().try_clone()?;
                        self.writable = Some(register(second, Interest::WRITABLE)?);
                    }
                }
                Ok(count) if count < bytes.len() => return Poll::Ready(Ok(count)),
                outcome => {
                    self.writable = None;
                    return Poll::Ready(outcome);
                }
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.get_ref().shutdown(Shutdown::Write))
    }
}

/// Reads into the free part of the buffer without clearing it first.
#[expect(unsafe_code, reason = "tokio's buffer has no safe way to be filled by the system")]
fn receive(stream: &UnixStream, buf: &mut ReadBuf<'_>) -> io::Result<usize> {
    // SAFETY: `recv` is the only writer, so initialized bytes stay initialized.
    let free: &mut [MaybeUninit<u8>] = unsafe { buf.unfilled_mut() };
    let count = rustix::net::recv(stream, free, RecvFlags::empty())?.1;
    // SAFETY: the system has written the first `count` bytes.
    unsafe { buf.assume_init(count) };
    buf.advance(count);
    Ok(count)
}

#[expect(unsafe_code, reason = "tokio has no safe way to wait for one direction of a socket")]
fn register(stream: UnixStream, interest: Interest) -> io::Result<AsyncFd<UnixStream>> {
    // SAFETY: the stream owns its descriptor, and lives inside the private `AsyncFd` until that is dropped.
    Ok(unsafe { AsyncFd::register_with_interest(stream, interest) }?)
}

#[cfg(test)]
mod tests;
