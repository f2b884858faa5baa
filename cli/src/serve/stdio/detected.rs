//! A client whose protocol is detected by its first bytes: JSON-RPC or proto-mcp.

use std::io;

use protomcp_bufmcp::{BinaryPeer, BinaryServeError, DetectOptions, ServeAnyError};
use protomcp_server::{ServeError, Server, Service};
use protomcp_transport::TransportError;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::serve::terms::Terms;

/// The error that ends the conversation.
pub(super) type ClientError = ServeAnyError;

/// Serves the client.
pub(super) async fn serve_client<S, R, W>(
    terms: &Terms,
    server: Server<S>,
    max_line: usize,
    reader: R,
    writer: W,
) -> Result<(), ClientError>
where
    S: Service,
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let detect = DetectOptions { max_line, max_line_setting: Some("--max-line"), ..DetectOptions::STDIO };
    terms.both(server).serve_any(reader, writer, BinaryPeer::default(), detect).await
}

/// True if the client has only gone: a host that was killed takes both ends of the pipes with it.
pub(super) fn is_gone(error: &ClientError) -> bool {
    match error {
        ServeAnyError::Json(ServeError::Transport(TransportError::Closed)) => true,
        ServeAnyError::Binary(BinaryServeError::Io(error)) => error.kind() == io::ErrorKind::BrokenPipe,
        _ => false,
    }
}
