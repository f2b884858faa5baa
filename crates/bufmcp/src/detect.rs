//! Reads the first bytes of a stream without losing them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

use crate::detection::{Detection, MARK, StreamProtocol};

/// Reads until the protocol of a stream is known, and returns the stream from its first byte on.
///
/// [`Detection::Undecided`] is the outcome of a stream that ends before. Not cancel safe: a dropped future loses what it
/// has read.
///
/// # Errors
/// If the stream fails.
pub async fn detect<R: AsyncRead + Unpin>(mut reader: R) -> io::Result<(Detection, Rewound<R>)> {
    let mut head = BytesMut::with_capacity(FIRST_READ);
    loop {
        let detection = Detection::of(&head);
        let has_ended = detection == Detection::Undecided && reader.read_buf(&mut head).await? == 0;
        if has_ended || detection != Detection::Undecided {
            return Ok((detection, Rewound { head, reader, has_ended }));
        }
        head.reserve(FIRST_READ);
    }
}

/// Reads until the first line of a stream of JSON lines is whole, and returns the stream from its first byte on. Another
/// stream is read as by [`detect`], and a line of more than `max` bytes not to its end. Not cancel safe.
///
/// # Errors
/// If the stream fails.
pub async fn peek_line<R: AsyncRead + Unpin>(reader: R, max: usize) -> io::Result<Rewound<R>> {
    let (detection, mut stream) = detect(reader).await?;
    let is_read = detection == Detection::Protocol(StreamProtocol::JsonLines);
    while is_read && !stream.has_ended && stream.first_line().is_none() && stream.head.len() < max {
        stream.head.reserve(FIRST_READ);
        stream.has_ended = stream.reader.read_buf(&mut stream.head).await? == 0;
    }
    Ok(stream)
}

/// A stream whose first bytes were read and are read again.
#[derive(Debug)]
pub struct Rewound<R> {
    head: BytesMut,
    reader: R,
    /// The end was read, too. A terminal tells it once, and goes on afterwards.
    has_ended: bool,
}

impl<R> Rewound<R> {
    /// A stream of which nothing was read.
    pub fn new(reader: R) -> Self {
        Self { head: BytesMut::new(), reader, has_ended: false }
    }

    /// The first line that is not blank, without a byte order mark, if all of it was read and is still to be read again.
    #[must_use]
    pub fn first_line(&self) -> Option<&[u8]> {
        let text = self.head.strip_prefix(&MARK).unwrap_or(&self.head).trim_ascii_start();
        Some(&text[..text.iter().position(|byte| *byte == b'\n')?])
    }

    /// True if something other than blanks waits to be read again.
    #[must_use]
    pub fn has_text(&self) -> bool {
        !self.head.trim_ascii().is_empty()
    }
}

impl<R: AsyncRead + Unpin> Rewound<R> {
    /// Reads on until the stream ends or fails. Everything is read again later; once `max` bytes wait for that, no more is
    /// read, and the end is not noticed. Cancel safe.
    pub async fn ended(&mut self, max: usize) {
        while !self.has_ended {
            if self.head.len() >= max {
                return std::future::pending().await;
            }
            self.head.reserve(FIRST_READ);
            // The reader of the rest gets an error again.
            let Ok(count) = self.reader.read_buf(&mut self.head).await else { return };
            self.has_ended = count == 0;
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Rewound<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.head.is_empty() {
            return if self.has_ended { Poll::Ready(Ok(())) } else { Pin::new(&mut self.reader).poll_read(cx, buf) };
        }
        let count = self.head.len().min(buf.remaining());
        buf.put_slice(&self.head[..count]);
        self.head.advance(count);
        if self.head.is_empty() {
            self.head = BytesMut::new();
        }
        Poll::Ready(Ok(()))
    }
}

/// The size of the first reads: most first messages arrive whole.
const FIRST_READ: usize = 1024;

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    /// A terminal: each end of its input is an empty read, and there is more behind it.
    struct Terminal(Vec<&'static [u8]>);

    impl AsyncRead for Terminal {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            if self.0.is_empty() {
                return Poll::Pending;
            }
            buf.put_slice(self.0.remove(0));
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn the_first_line_is_looked_at_and_read_again() {
        for (pieces, line) in [
            (vec![&b"{\"a\""[..], b":1}\n{\"b"], Some(&b"{\"a\":1}"[..])),
            (vec![b"\xef\xbb\xbf\n {}\n"], Some(b"{}")),
            (vec![b"{", b""], None),
            (vec![b"{234", b"5678", b"9\n"], None),
            // Frames of proto-mcp.
            (vec![b"\0\0\0\x05hello"], None),
        ] {
            let whole = pieces[..2.min(pieces.len())].concat();
            let mut stream = peek_line(Terminal(pieces), 8).await.unwrap();
            assert_eq!(stream.first_line(), line);
            let mut read = vec![0; whole.len()];
            stream.read_exact(&mut read).await.unwrap();
            assert_eq!(read, whole);
        }
    }

    #[tokio::test]
    async fn the_end_of_a_terminal_is_read_once() {
        for (pieces, expected) in [(vec![&b""[..], b"more"], &b""[..]), (vec![b" ", b"", b"more"], b" ")] {
            let (detection, mut stream) = detect(Terminal(pieces)).await.unwrap();
            assert_eq!(detection, Detection::Undecided);
            let mut read = Vec::new();
            stream.read_to_end(&mut read).await.unwrap();
            assert_eq!(read, expected);
        }
    }

    #[tokio::test]
    async fn the_end_is_noticed_and_nothing_is_lost() {
        for (pieces, has_text) in
            [(vec![&b"{}\n"[..], b"{}\n", b"", b"more"], true), (vec![b" \n", b"", b"more"], false)]
        {
            let whole = pieces.iter().take_while(|piece| !piece.is_empty()).copied().collect::<Vec<_>>().concat();
            let mut stream = Rewound::new(Terminal(pieces));
            stream.ended(64).await;
            assert_eq!(stream.has_text(), has_text);
            let mut read = Vec::new();
            stream.read_to_end(&mut read).await.unwrap();
            assert_eq!(read, whole);
        }
    }

    #[tokio::test]
    async fn no_more_is_read_than_may_wait() {
        let mut stream = Rewound::new(Terminal(vec![b"12345678", b"9"]));
        assert!(stream.ended(8).now_or_never().is_none());
        assert_eq!(stream.head, "12345678");
    }
}
