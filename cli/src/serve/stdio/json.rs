//! A client that speaks JSON-RPC: without the feature `proto-mcp` there is no other protocol.

use protomcp_server::{ServeError, Server, Service};
use protomcp_transport::TransportError;
use protomcp_transport::lines::Lines;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::serve::terms::Terms;

/// The error that ends the conversation.
pub(super) type ClientError = ServeError;

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
    let lines = Lines::new(reader, writer).with_max_line(max_line).with_max_line_name("--max-line");
    terms.json(server).serve(lines).await
}

/// True if the client has only gone: a host that was killed takes both ends of the pipes with it.
pub(super) fn is_gone(error: &ClientError) -> bool {
    matches!(error, ServeError::Transport(TransportError::Closed))
}
