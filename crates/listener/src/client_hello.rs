//! Reads the first message of a TLS handshake (`ClientHello`), which costs its sender more than its reader.
//!
//! A handshake takes a slot only when this message is complete: a connection that sends one byte, or one byte a second,
//! holds none.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustls::server::Acceptor;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::{LazyConfigAcceptor, StartHandshake};

/// The most bytes read for an incomplete message. Clients send one or two KiB.
const MAX_HELLO: usize = 16 * 1024;

/// Reads the message and leaves the rest of the handshake to the caller.
pub(crate) async fn read<IO>(io: IO) -> io::Result<StartHandshake<IO>>
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    let bounded = Bounded { io, left: MAX_HELLO };
    let start = LazyConfigAcceptor::new(Acceptor::default(), bounded).await?;
    Ok(StartHandshake::from_parts(start.accepted, start.io.io))
}

/// Fails after a number of bytes has been read.
struct Bounded<IO> {
    io: IO,
    left: usize,
}

impl<IO: AsyncRead + Unpin> AsyncRead for Bounded<IO> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.left == 0 {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "the ClientHello is too long")));
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.io).poll_read(cx, buf))?;
        self.left = self.left.saturating_sub(buf.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

/// Writes the alert to a client whose message is invalid.
impl<IO: AsyncWrite + Unpin> AsyncWrite for Bounded<IO> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
