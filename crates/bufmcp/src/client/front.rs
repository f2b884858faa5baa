//! A conversation in proto-mcp as a connection to an MCP server, for clients of JSON-RPC in this process.

use std::sync::Arc;
use std::time::Duration;

use protomcp_server::{Audience, Handler, Limits, Server, ServerHandle};
use protomcp_transport::memory::{self, Memory};

use crate::client::error::BinaryCloseReason;
use crate::client::handle::BinaryClient;
use crate::client::handler::BinaryBackend;
use crate::convert::reports::log_from_proto;
use crate::schemas::ToolSchemas;

impl BinaryClient {
    /// This conversation as a connection for a client of MCP. They end together: requests whose answers are lost with the
    /// conversation have none. Must be called inside a tokio runtime with timers.
    #[must_use]
    pub fn into_transport(self, schemas: Arc<dyn ToolSchemas>) -> Memory {
        let (near, far) = memory::pair();
        let handler = BinaryBackend::until_closed(self.clone(), schemas);
        // The bounds on requests are the conversation's, which its callers share.
        // A cancelled request has its grace where its work is done.
        let limits = Limits { max_pending: MAX_PENDING, cancel_grace: Duration::ZERO, ..Limits::default() };
        let server = Server::with_sessions(ServerHandle::new(handler.info(), limits), handler);
        tokio::spawn(async move {
            let handle = server.handle().clone();
            let front = handle.clone();
            self.on_log(move |log| {
                let (level, logger, data) = log_from_proto(log);
                front.log(Audience::Everyone, level, logger.as_deref(), &data);
            });
            let front = handle.clone();
            self.on_update(move |uri| front.resource_updated(&uri));
            let following = follow(self, handle);
            let serving = server.serve(far);
            tokio::pin!(serving);
            tokio::select! {
                outcome = &mut serving => outcome.unwrap_or_else(|error| {
                    tracing::debug!("a client in front of proto-mcp has ended: {error}");
                }),
                reason = following => {
                    tracing::info!("a conversation with a server of proto-mcp has ended: {reason}");
                    // Answers that were read before the end are on their way.
                    drop(tokio::time::timeout(LAST_ANSWERS, serving).await);
                }
            }
        });
        near
    }
}

/// Announces changes of the server's lists until the conversation ends. Then the session in front of it takes no more
/// requests.
async fn follow(client: BinaryClient, front: ServerHandle) -> BinaryCloseReason {
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
        if now.prompts != seen.prompts {
            front.prompts_changed(Audience::Everyone);
        }
        seen = now;
    }
    // The driver has dropped its end, so the conversation is over.
    front.shutdown();
    client.closed().await
}

/// The requests in front of a conversation that have no answer. It is more than those that may wait in it by default.
const MAX_PENDING: usize = 48 * 1024;

/// The time in which answers that were read before the end of a conversation reach their client.
const LAST_ANSWERS: Duration = Duration::from_millis(100);
