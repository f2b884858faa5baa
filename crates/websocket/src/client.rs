//! Servers over WebSocket, for clients of proto-mcp.

use std::io;

use http::{HeaderValue, Request, Uri, header};
use protomcp_bufmcp::{Connect, FrameLimits};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadHalf, WriteHalf, join, split};
use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::SUBPROTOCOL;
use crate::counts::{Counted, Counts};
use crate::options::WebSocketOptions;
use crate::pump::{Finished, MaxMessage, Pump, settings};

/// A server over WebSocket, over the streams of another way to it: TCP, or TLS over TCP.
#[derive(Debug, Clone)]
pub struct WebSocketServer<C> {
    way: C,
    uri: Uri,
    /// The value of `Authorization`.
    authorization: Option<HeaderValue>,
    limits: FrameLimits,
    options: WebSocketOptions,
}

/// A URL or a token that a handshake cannot carry. The token is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTarget {
    /// The URL has no host, or another scheme than `ws` and `wss`.
    #[error("expected a URL such as ws://localhost:8080/mcp")]
    Url,
    /// The token has characters that a header cannot carry.
    #[error("the token has characters that a header cannot carry")]
    Token,
}

impl<C: Connect> WebSocketServer<C> {
    /// The server at this URL, such as `ws://localhost:8080/mcp`. `way` opens its streams; with `wss` they are encrypted.
    ///
    /// # Errors
    /// If it is not a URL of this kind.
    pub fn new(way: C, url: &str) -> Result<Self, InvalidTarget> {
        let uri: Uri = url.parse().map_err(|_| InvalidTarget::Url)?;
        let is_known =
            matches!(uri.scheme_str(), Some("ws" | "wss")) && uri.host().is_some_and(|host| !host.is_empty());
        if !is_known {
            return Err(InvalidTarget::Url);
        }
        Ok(Self { way, uri, authorization: None, limits: FrameLimits::default(), options: WebSocketOptions::default() })
    }

    /// Sends this token with the handshake.
    ///
    /// # Errors
    /// If a header cannot carry it.
    pub fn with_token(mut self, token: &str) -> Result<Self, InvalidTarget> {
        let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| InvalidTarget::Token)?;
        value.set_sensitive(true);
        self.authorization = Some(value);
        Ok(self)
    }

    /// Sets the bounds on messages.
    #[must_use]
    pub fn with_limits(mut self, limits: FrameLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the times.
    #[must_use]
    pub fn with_options(mut self, options: WebSocketOptions) -> Self {
        self.options = options;
        self
    }

    fn request(&self) -> Result<Request<()>, http::Error> {
        let host = self.uri.authority().map(http::uri::Authority::as_str).unwrap_or_default();
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let mut request = Request::get(self.uri.clone())
            .header(header::HOST, host)
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "websocket")
            .header(header::SEC_WEBSOCKET_VERSION, "13")
            .header(header::SEC_WEBSOCKET_KEY, generate_key())
            .header(header::SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL);
        if let Some(value) = &self.authorization {
            request = request.header(header::AUTHORIZATION, value);
        }
        request.body(())
    }
}

impl<C> Connect for WebSocketServer<C>
where
    C: Connect,
    C::Reader: Sync,
    C::Writer: Sync,
{
    type Reader = ReadHalf<DuplexStream>;
    type Writer = WriteHalf<DuplexStream>;

    /// Opens a connection. A separate task carries its messages until either end closes it.
    async fn connect(&self) -> io::Result<(Self::Reader, Self::Writer)> {
        let request = self.request().map_err(io::Error::other)?;
        let (reader, writer) = self.way.connect().await?;
        let (counts, max_message) = (Counts::new(None, None), MaxMessage::of(&self.limits));
        let io = Counted::new(join(reader, writer), &counts);
        let connected = client_async_with_config(request, io, Some(settings(max_message))).await;
        let (socket, _) = connected.map_err(refused)?;
        let (pump, conversation) = Pump::new(socket, counts, max_message, self.options);
        tokio::spawn(carry(pump));
        Ok(split(conversation))
    }
}

async fn carry<IO: AsyncRead + AsyncWrite + Unpin>(mut pump: Pump<IO>) {
    match pump.run().await {
        Ok(Finished::ByConversation) => {
            pump.close(CloseFrame { code: CloseCode::Normal, reason: "".into() }).await;
        }
        Ok(Finished::ByPeer(frame)) => {
            let unusual = frame.filter(|frame| !matches!(frame.code, CloseCode::Normal | CloseCode::Away));
            if let Some(CloseFrame { code, reason }) = unusual {
                tracing::warn!("the server closed the connection: {} {reason}", u16::from(code));
            }
            pump.leave().await;
        }
        Err(error) => {
            tracing::warn!("the connection to the server has ended: {error}");
            if let Some(frame) = error.close_frame() {
                pump.close(frame).await;
            }
        }
    }
}

/// The error of a handshake.
fn refused(error: Error) -> io::Error {
    match error {
        Error::Io(error) => error,
        Error::Http(response) => {
            let kind = match response.status().as_u16() {
                401 | 403 => io::ErrorKind::PermissionDenied,
                _ => io::ErrorKind::ConnectionRefused,
            };
            io::Error::new(kind, format!("the server answered {} to the handshake of WebSocket", response.status()))
        }
        other => io::Error::other(other),
    }
}
