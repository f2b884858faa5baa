//! Serves a client in the protocol of its first bytes: proto-mcp, or JSON-RPC in lines.

use std::io;
use std::time::Duration;

use protomcp_server::{ServeError, Server, Service};
use protomcp_transport::lines::{Lines, MAX_LINE};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy, sink};

use crate::detect::{Rewound, detect};
use crate::detection::{Detection, Refusal, StreamProtocol};
use crate::serve::BinaryServer;
use crate::serve::account::Account;
use crate::serve::error::BinaryServeError;
use crate::serve::line_budget::LineBudget;
use crate::serve::peer::BinaryPeer;
use crate::serve::peer_transport::PeerTransport;

/// The settings of [`AnyServer::serve_any`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DetectOptions {
    /// The time that a client has for the bytes that decide; `None`: any time.
    pub timeout: Option<Duration>,
    /// The rule for JSON-RPC.
    pub json: JsonLines,
    /// The longest line of JSON, in bytes.
    pub max_line: usize,
    /// The name of the setting of `max_line`, for errors.
    pub max_line_setting: Option<&'static str>,
}

/// The rule for JSON-RPC in lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JsonLines {
    /// Only proto-mcp is served.
    Refused,
    /// Streams that begin with JSON are served.
    Served,
    /// Streams that begin with any text are served: the first line is answered with −32700, as it always was on stdio.
    ServedUnlessBinary,
}

impl DetectOptions {
    /// For standard input: no time limit, and the host may write any text.
    pub const STDIO: Self =
        Self { timeout: None, json: JsonLines::ServedUnlessBinary, max_line: MAX_LINE, max_line_setting: None };

    /// For a network.
    pub const NETWORK: Self = Self { timeout: Some(Duration::from_secs(10)), json: JsonLines::Served, ..Self::STDIO };
}

/// The reason why [`AnyServer::serve_any`] has ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeAnyError {
    /// The conversation in proto-mcp.
    #[error(transparent)]
    Binary(#[from] BinaryServeError),
    /// The conversation in JSON-RPC.
    #[error(transparent)]
    Json(#[from] ServeError),
    /// The stream could not be read.
    #[error("the connection to the client failed")]
    Io(#[from] io::Error),
    /// The stream has no protocol.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The stream has a protocol that is not served on it.
    #[error("the client speaks {}, which is not served here", name(*.0))]
    NotServed(StreamProtocol),
    /// The client has not sent enough bytes in time.
    #[error("the client sent nothing within {0:?}")]
    TimedOut(Duration),
}

fn name(protocol: StreamProtocol) -> &'static str {
    match protocol {
        StreamProtocol::Binary => "proto-mcp",
        StreamProtocol::JsonLines => "JSON-RPC",
        StreamProtocol::Tls => "TLS",
        StreamProtocol::Http1 => "HTTP/1.1",
        StreamProtocol::Http2 => "HTTP/2",
    }
}

/// Serves clients of proto-mcp, and clients of JSON-RPC with their own server: one that shows them three tools in place
/// of the list, for example. Cloning is cheap.
#[derive(Debug)]
pub struct AnyServer<S, J> {
    binary: BinaryServer<S>,
    json: Server<J>,
}

impl<S, J> Clone for AnyServer<S, J> {
    fn clone(&self) -> Self {
        Self { binary: self.binary.clone(), json: self.json.clone() }
    }
}

impl<S: Service> BinaryServer<S> {
    /// Serves clients of JSON-RPC with `json`, which has the same sessions.
    #[must_use]
    pub fn with_json<J: Service>(self, json: Server<J>) -> AnyServer<S, J> {
        AnyServer { binary: self, json }
    }

    /// Like [`AnyServer::serve_any`], with one server for both protocols.
    ///
    /// # Errors
    /// See [`AnyServer::serve_any`].
    pub async fn serve_any<R, W>(
        &self,
        reader: R,
        writer: W,
        peer: BinaryPeer,
        options: DetectOptions,
    ) -> Result<(), ServeAnyError>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        self.clone().with_json(self.server.clone()).serve_any(reader, writer, peer, options).await
    }
}

impl<S: Service, J: Service> AnyServer<S, J> {
    /// The server for clients of proto-mcp.
    #[must_use]
    pub fn binary(&self) -> &BinaryServer<S> {
        &self.binary
    }

    /// Serves one client in proto-mcp or in JSON-RPC, whichever its first bytes are. The choice holds for the stream.
    ///
    /// # Errors
    /// See [`BinaryServer::serve`] and the server's own `serve`; also if the first bytes are of another protocol.
    pub async fn serve_any<R, W>(
        &self,
        reader: R,
        writer: W,
        peer: BinaryPeer,
        options: DetectOptions,
    ) -> Result<(), ServeAnyError>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let shutdown = self.json.handle().shutdown_token();
        let detected = tokio::select! {
            detected = detect(reader) => detected?,
            () = shutdown.cancelled() => return Ok(()),
            () = sleep(options.timeout) => return Err(ServeAnyError::TimedOut(options.timeout.unwrap_or_default())),
        };
        let (detection, stream) = detected;
        match (detection, options.json) {
            (Detection::Protocol(StreamProtocol::Binary), _) => Ok(self.binary.serve(stream, writer, peer).await?),
            (Detection::Protocol(StreamProtocol::JsonLines), JsonLines::Served | JsonLines::ServedUnlessBinary)
            | (Detection::Undecided | Detection::Refused(Refusal::Unknown), JsonLines::ServedUnlessBinary) => {
                self.serve_lines(stream, writer, peer, options).await
            }
            (Detection::Protocol(protocol), _) => {
                if protocol == StreamProtocol::JsonLines {
                    tell(stream, writer).await;
                }
                Err(ServeAnyError::NotServed(protocol))
            }
            (Detection::Refused(refusal), _) => Err(refusal.into()),
            // The client has closed the stream without a message.
            (Detection::Undecided, _) => Ok(()),
        }
    }

    async fn serve_lines<R, W>(
        &self,
        stream: Rewound<R>,
        writer: W,
        peer: BinaryPeer,
        options: DetectOptions,
    ) -> Result<(), ServeAnyError>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let reservation = Account::open(self.json.handle(), &peer).map(|account| account.inbound);
        let mut lines = Lines::new(LineBudget::new(stream, reservation), writer).with_max_line(options.max_line);
        if let Some(setting) = options.max_line_setting {
            lines = lines.with_max_line_name(setting);
        }
        Ok(self.json.serve(PeerTransport { inner: lines, peer }).await?)
    }
}

/// Tells a client of JSON-RPC why the stream ends. Its bytes are read first: closing over unread ones would lose the
/// answer.
async fn tell(stream: Rewound<impl AsyncRead + Unpin>, mut writer: impl AsyncWrite + Unpin) {
    let told = async {
        writer.write_all(NO_JSON).await?;
        writer.shutdown().await?;
        copy(&mut stream.take(MAX_UNREAD), &mut sink()).await
    };
    // A client that does not read it loses nothing else.
    drop(tokio::time::timeout(TELL_TIMEOUT, told).await);
}

/// The time for a client to read the reason.
const TELL_TIMEOUT: Duration = Duration::from_secs(5);

/// The most that is read of a client that is not served.
const MAX_UNREAD: u64 = 64 << 10;

/// The answer to JSON-RPC where it is not served.
const NO_JSON: &[u8] =
    br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"only proto-mcp is served here"}}
"#;

async fn sleep(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}
