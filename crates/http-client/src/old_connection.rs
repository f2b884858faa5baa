//! The transport of MCP 2024-11-05: one GET for all messages of the server, POSTs for the messages of the client.

use http::Uri;
use tokio_util::sync::CancellationToken;

/// The connection that carries the messages of the server.
#[derive(Debug)]
pub(crate) struct OldConnection {
    /// The address of POSTs, which the first event has named.
    pub(crate) endpoint: Uri,
    /// Cancelled when the stream has ended: the session is lost.
    pub(crate) lost: CancellationToken,
    /// Cancelled to end the stream.
    pub(crate) over: CancellationToken,
}

/// Ends the stream when nothing uses the connection any longer.
impl Drop for OldConnection {
    fn drop(&mut self) {
        self.over.cancel();
    }
}
