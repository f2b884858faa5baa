//! Requests of a conversation, which is a member of the MCP server.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use protomcp_server::{CallFacts, RunningCall, ServerRequest, ServerResult};
use protomcp_session::Extensions;
use protomcp_types::{ErrorObject, RequestId};
use tokio::sync::oneshot;

use crate::code;
use crate::fault::Fault;
use crate::serve::mcp::any_server::AnyMcpServer;

/// Makes the calls of one member.
pub(in crate::serve) struct SessionRequests {
    server: Arc<dyn AnyMcpServer>,
    /// The facts about the client, for all of its requests.
    facts: CallFacts,
    last: Arc<AtomicU64>,
}

impl SessionRequests {
    pub(in crate::serve) fn new(server: Arc<dyn AnyMcpServer>, facts: CallFacts) -> Self {
        Self { server, facts, last: Arc::default() }
    }

    /// The same for requests of this bearer of a token.
    pub(in crate::serve) fn for_bearer(&self, known: Extensions) -> Self {
        let mut facts = self.facts.for_request(RequestId::from(0));
        facts.known = known;
        Self { server: Arc::clone(&self.server), facts, last: Arc::clone(&self.last) }
    }

    /// Makes a call. Dropping the future cancels it.
    pub(super) async fn request(&self, request: ServerRequest) -> Result<ServerResult, Fault> {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let call = self.server.call(request, self.facts.for_request(RequestId::from(number)));
        if self.server.has_inline_calls() {
            return call.await.map_err(Fault::from);
        }
        in_own_task(call).await.ok_or_else(closed)?.map_err(Fault::from)
    }
}

/// Drives a call in its own task. Dropping the future cancels the call. `None`: the runtime shuts down.
async fn in_own_task(mut call: RunningCall) -> Option<Result<ServerResult, ErrorObject>> {
    let (mut done, answer) = oneshot::channel();
    tokio::spawn(async move {
        tokio::select! {
            // The request may be cancelled at this moment.
            outcome = &mut call => drop(done.send(outcome)),
            () = done.closed() => {}
        }
    });
    answer.await.ok()
}

/// The fault of a request that the end of the server has overtaken.
fn closed() -> Fault {
    Fault::new(code::INTERNAL_ERROR, "the server is shutting down").with("reason", "shutdown")
}

impl fmt::Debug for SessionRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionRequests").field("facts", &self.facts).finish_non_exhaustive()
    }
}
