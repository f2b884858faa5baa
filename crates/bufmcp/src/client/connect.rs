//! Opens a conversation with a server at an address or of a command: in proto-mcp, or in JSON-RPC where the server does
//! not answer in proto-mcp (the principle of graceful degradation of version 1.0).
//!
//! Bytes that a server did not understand cannot be taken back, so JSON-RPC gets its own stream.

use std::future::Future;
use std::io;
use std::sync::Arc;

use protomcp_transport::boxed::Boxed;
use protomcp_transport::lines::Lines;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

use crate::client::config::BinaryClientConfig;
use crate::client::error::BinaryCloseReason;
use crate::client::handle::BinaryClient;
use crate::schemas::ToolSchemas;

/// A server to which any number of streams can be opened.
pub trait Connect: Send + Sync {
    /// The receiving half of a stream.
    type Reader: AsyncRead + Unpin + Send + 'static;
    /// The sending half. The stream ends when both are dropped.
    type Writer: AsyncWrite + Unpin + Send + 'static;

    /// Opens a stream.
    fn connect(&self) -> impl Future<Output = io::Result<(Self::Reader, Self::Writer)>> + Send;
}

/// A server at a network address, without TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpServer {
    address: String,
}

impl TcpServer {
    /// A server at this host and port, such as `localhost:8080` or `[::1]:8080`.
    #[must_use]
    pub fn new(address: impl Into<String>) -> Self {
        Self { address: address.into() }
    }

    pub(super) async fn open(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(&self.address).await?;
        // Small requests must not wait for the server to acknowledge earlier ones.
        stream.set_nodelay(true)?;
        #[cfg(unix)]
        crate::client::dead_peer::notice(&stream)?;
        Ok(stream)
    }
}

impl Connect for TcpServer {
    type Reader = OwnedReadHalf;
    type Writer = OwnedWriteHalf;

    async fn connect(&self) -> io::Result<(OwnedReadHalf, OwnedWriteHalf)> {
        Ok(self.open().await?.into_split())
    }
}

/// A conversation in the protocol that the server speaks.
#[derive(Debug)]
pub enum AnyClient<R, W> {
    /// It speaks proto-mcp.
    Binary(BinaryClient),
    /// It has not answered in proto-mcp. This is a new stream, on which nothing was sent.
    Json(Box<Lines<R, W>>),
}

/// The reason why there is no conversation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectAnyError {
    /// A stream could not be opened.
    #[error("cannot connect: {0}")]
    Stream(#[from] io::Error),
    /// The server speaks proto-mcp and has refused, or it must be spoken to in proto-mcp.
    #[error(transparent)]
    Binary(#[from] BinaryCloseReason),
}

impl BinaryClient {
    /// Opens a conversation in proto-mcp; in JSON-RPC, on a new stream, if the server does not answer in proto-mcp within
    /// [`BinaryClientConfig::open_timeout`].
    ///
    /// With a [token](BinaryClientConfig::token) there is no fallback: JSON-RPC in lines has no place for it. Must be
    /// called inside a tokio runtime with timers.
    ///
    /// # Errors
    /// If no stream can be opened, or the server refuses in proto-mcp.
    pub async fn connect_any<C: Connect>(
        server: &C,
        config: BinaryClientConfig,
    ) -> Result<AnyClient<C::Reader, C::Writer>, ConnectAnyError> {
        let (time, has_token) = (config.open_timeout, config.token.is_some());
        let open = || async {
            let stream = timeout(time, server.connect()).await;
            stream.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        };
        let (reader, writer) = open().await?;
        match Self::connect(reader, writer, config).await {
            Ok(client) => Ok(AnyClient::Binary(client)),
            Err(reason) if reason.is_other_protocol() && !has_token => {
                tracing::info!("the server does not speak proto-mcp ({reason}); trying JSON-RPC");
                let (reader, writer) = open().await?;
                Ok(AnyClient::Json(Box::new(Lines::new(reader, writer))))
            }
            Err(reason) => Err(reason.into()),
        }
    }
}

impl<R, W> AnyClient<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    /// A connection for a client of MCP, which sees no difference between the two. `schemas` convert arguments and
    /// results of proto-mcp. Must be called inside a tokio runtime with timers.
    #[must_use]
    pub fn into_transport(self, schemas: Arc<dyn ToolSchemas>) -> Boxed {
        match self {
            Self::Binary(client) => Boxed::new(client.into_transport(schemas)),
            Self::Json(lines) => Boxed::new(*lines),
        }
    }
}
