//! The ends of a connection, and their codes.

use std::io;
use std::time::Duration;

use protomcp_bufmcp::BinaryServeError;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::error::{CapacityError, ProtocolError};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::pump::MaxMessage;

/// The reason for an early end of a connection over WebSocket. Requests in flight have been cancelled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebSocketError {
    /// The connection has failed, or has ended without a close message.
    #[error("the connection failed")]
    Io(#[from] io::Error),
    /// The peer does not keep to the protocol WebSocket; it was told so (1002).
    #[error("the peer does not speak WebSocket: {0}")]
    Protocol(String),
    /// The peer has sent text; it was told so (1003).
    #[error("the peer has sent text, and proto-mcp is binary")]
    Text,
    /// The peer has sent a message that is too large; it was told so (1009).
    #[error("{}", too_large(*limit, *setting))]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
        /// The name of the setting that raises it ([`FrameLimits::setting`](protomcp_bufmcp::FrameLimits::setting)).
        setting: Option<&'static str>,
    },
    /// The bytes of the peer exceed the capacity that the bytes of others leave; it was told so (1013).
    #[error("there is no room for the messages of the peer")]
    Overloaded,
    /// The peer has not answered pings.
    #[error("the peer has not answered the pings of {0:?}")]
    Dead(Duration),
    /// The peer does not read.
    #[error("the peer does not read: it has taken too little within {0:?}")]
    Stalled(Duration),
    /// The conversation has ended; the peer was told why.
    #[error(transparent)]
    Conversation(#[from] BinaryServeError),
}

impl WebSocketError {
    /// An error of the library for WebSocket. `None`: the connection has ended as it should.
    pub(crate) fn of(error: Error, MaxMessage { bytes: limit, setting }: MaxMessage) -> Option<Self> {
        Some(match error {
            Error::ConnectionClosed | Error::AlreadyClosed => return None,
            Error::Io(error) if error.kind() == io::ErrorKind::OutOfMemory => Self::Overloaded,
            Error::Io(error) => Self::Io(error),
            Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
                Self::Io(io::ErrorKind::UnexpectedEof.into())
            }
            Error::Capacity(CapacityError::MessageTooLong { .. }) => Self::TooLarge { limit, setting },
            other => Self::Protocol(other.to_string()),
        })
    }

    /// The close message for the peer. `None`: the peer cannot be reached.
    pub(crate) fn close_frame(&self) -> Option<CloseFrame> {
        let (code, reason) = match self {
            Self::Io(_) | Self::Dead(_) | Self::Stalled(_) => return None,
            Self::Protocol(_) => (CloseCode::Protocol, "not the protocol WebSocket"),
            Self::Text => (CloseCode::Unsupported, "proto-mcp is binary"),
            Self::TooLarge { limit, setting } => {
                return Some(CloseFrame { code: CloseCode::Size, reason: too_large(*limit, *setting).into() });
            }
            Self::Overloaded => (CloseCode::Again, "there is no room for the message"),
            Self::Conversation(error) => match error {
                BinaryServeError::TooLarge(_) => (CloseCode::Size, "the message is too large"),
                BinaryServeError::Garbage | BinaryServeError::Truncated => (CloseCode::Protocol, "not proto-mcp"),
                BinaryServeError::Overloaded => (CloseCode::Again, "there is no room for the messages"),
                BinaryServeError::Io(_) | BinaryServeError::Stalled => return None,
                _ => (CloseCode::Error, "the conversation has failed"),
            },
        };
        Some(CloseFrame { code, reason: reason.into() })
    }
}

/// Short enough for the reason of a close message.
fn too_large(limit: usize, setting: Option<&str>) -> String {
    let raise = setting.map(|name| format!("; raise {name}")).unwrap_or_default();
    format!("the message is larger than the limit of {limit} bytes{raise}")
}
