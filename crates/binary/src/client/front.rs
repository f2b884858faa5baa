//! A conversation in proto-mcp as a connection to an MCP server, for clients of JSON-RPC in this process.

use std::sync::Arc;

use protomcp_server::{Audience, Server, ServerHandle};
use protomcp_transport::memory::{self, Memory};

use crate::client::handle::BinaryClient;
use crate::client::handler::BinaryBackend;
use crate::schemas::ToolSchemas;

impl BinaryClient {
    /// This conversation as a connection for a client of MCP. They end together; an end of the server's is preceded by
    /// the errors of the requests in flight. Must be called inside a tokio runtime with timers.
    #[must_use]
    pub fn into_transport(self, schemas: Arc<dyn ToolSchemas>) -> Memory {
        let (near, far) = memory::pair();
        let server = Server::from_handler(BinaryBackend::new(self.clone(), schemas));
        tokio::spawn(async move {
            let handle = server.handle().clone();
            let following = follow(self, handle);
            let serving = server.serve(far);
            tokio::pin!(serving);
            let outcome = tokio::select! {
                outcome = &mut serving => outcome,
                () = following => serving.await,
            };
            if let Err(error) = outcome {
                tracing::debug!("a client in front of proto-mcp has ended: {error}");
            }
        });
        near
    }
}

/// Announces changes of the server's lists until the conversation ends; then the sessions in front of it end, too.
async fn follow(client: BinaryClient, front: ServerHandle) {
    let mut changes = client.changes();
    let mut seen = *changes.borrow_and_update();
    while changes.changed().await.is_ok() {
        let now = *changes.borrow_and_update();
        if now.tools != seen.tools {
            front.tools_changed(Audience::Everyone);
        }
        if now.resources != seen.resources {
            front.resources_changed(Audience::Everyone);
        }
        seen = now;
    }
    // The driver has dropped its end, so the conversation is over.
    front.shutdown();
}
