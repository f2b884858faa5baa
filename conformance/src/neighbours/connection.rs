//! A connection over HTTP/1.1, read and written by hand.

use std::fmt;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

/// One connection.
pub struct Connection(BufReader<Box<dyn Stream>>);

/// The byte stream under a connection.
pub trait Stream: AsyncRead + AsyncWrite + Send + Sync + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Sync + Unpin> Stream for S {}

/// The head of a response, and how its body ends.
#[derive(Debug)]
pub struct Head {
    /// The status code.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    body: Body,
}

/// The remaining part of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    Bytes(usize),
    Chunks,
    Done,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connection(..)")
    }
}

impl Connection {
    /// Speaks HTTP over this stream.
    pub fn over(stream: impl Stream + 'static) -> Self {
        Self(BufReader::new(Box::new(stream)))
    }

    /// Discards all input from here on, and returns the writing half. The reader ends with the connection.
    pub fn drain(self) -> impl AsyncWrite + Unpin {
        let (mut read, write) = tokio::io::split(self.0);
        tokio::spawn(async move { tokio::io::copy(&mut read, &mut tokio::io::sink()).await });
        write
    }

    /// Writes bytes as they are.
    ///
    /// # Errors
    /// If the connection is closed.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.get_mut().write_all(bytes).await
    }

    /// Writes until the other end has accepted nothing for `patience`; returns the number of bytes written.
    pub async fn write_until_stuck(&mut self, bytes: &[u8], patience: Duration) -> usize {
        let mut written = 0;
        while let Ok(Ok(count @ 1..)) = tokio::time::timeout(patience, self.0.get_mut().write(&bytes[written..])).await
        {
            written += count;
        }
        written
    }

    /// Reads the head of the next response.
    ///
    /// # Errors
    /// If the connection ends before the head is complete, or the head is malformed.
    pub async fn head(&mut self) -> io::Result<Head> {
        let status = self.line().await?;
        let code = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = code.ok_or_else(|| io::Error::other(format!("no status: {status:?}")))?;
        let mut head = Head { status, headers: Vec::new(), body: Body::Bytes(0) };
        loop {
            let line = self.line().await?;
            if line.is_empty() {
                break;
            }
            let Some((name, value)) = line.split_once(':') else { continue };
            head.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        head.body = match (head.header("content-length").and_then(|size| size.parse().ok()), status) {
            _ if head.header("transfer-encoding").is_some() => Body::Chunks,
            (Some(0) | None, _) | (_, 204 | 304) => Body::Done,
            (Some(size), _) => Body::Bytes(size),
        };
        Ok(head)
    }

    /// Reads the next piece of a body; `None` at its end.
    ///
    /// # Errors
    /// If the connection ends before that.
    pub async fn piece(&mut self, head: &mut Head) -> io::Result<Option<Vec<u8>>> {
        let size = match head.body {
            Body::Done => return Ok(None),
            Body::Bytes(size) => {
                head.body = Body::Done;
                size
            }
            Body::Chunks => {
                let line = self.line().await?;
                let size = usize::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16);
                size.map_err(|_| io::Error::other(format!("no size of a chunk: {line:?}")))?
            }
        };
        let mut piece = vec![0; size];
        self.0.read_exact(&mut piece).await?;
        if head.body == Body::Chunks {
            self.line().await?;
            if size == 0 {
                head.body = Body::Done;
                return Ok(None);
            }
        }
        Ok(Some(piece))
    }

    /// Reads the rest of a body.
    ///
    /// # Errors
    /// If the connection ends before that.
    pub async fn body(&mut self, head: &mut Head) -> io::Result<String> {
        let mut body = Vec::new();
        while let Some(piece) = self.piece(head).await? {
            body.extend(piece);
        }
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// Reads a whole response: its status and its body.
    ///
    /// # Errors
    /// If the connection ends before that.
    pub async fn response(&mut self) -> io::Result<(u16, String)> {
        let mut head = self.head().await?;
        let body = self.body(&mut head).await?;
        Ok((head.status, body))
    }

    async fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.0.read_line(&mut line).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line.trim_end_matches(['\r', '\n']).to_owned()),
        }
    }
}

impl Head {
    /// One header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}
