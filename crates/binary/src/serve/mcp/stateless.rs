//! Requests without a session (MCP 2026-07-28): each is answered for itself.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use protomcp_fair::Reservation;
use protomcp_server::{Peer, ServerRequest, ServerResult, SingleAnswer};
use protomcp_session::Extensions;
use protomcp_types::RawJson;

use crate::fault::Fault;
use crate::serve::mcp::any_server::AnyMcpServer;

/// The requests that answer one request of a client.
pub(in crate::serve) struct StatelessRequests {
    server: Arc<dyn AnyMcpServer>,
    peer: Peer,
    known: Extensions,
    /// The bytes that results have reserved in the outbound budget.
    rooms: Mutex<Vec<Reservation>>,
}

impl StatelessRequests {
    pub(in crate::serve) fn new(server: Arc<dyn AnyMcpServer>, peer: Peer, known: Extensions) -> Self {
        Self { server, peer, known, rooms: Mutex::default() }
    }

    /// Makes a call. Dropping the future cancels it.
    pub(super) async fn request(&self, request: ServerRequest) -> Result<ServerResult, Fault> {
        let call = self.server.call_once(request, self.peer.clone(), self.known.clone());
        let SingleAnswer { outcome, room } = call.await;
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner).extend(room);
        outcome.map_err(Fault::from)
    }

    pub(super) fn tool_definition(&self, tool: &str) -> Option<RawJson> {
        self.server.tool_definition(tool)
    }

    /// The reservations of all results. Hold them until the client has read the answer.
    pub(in crate::serve) fn take_rooms(&self) -> Vec<Reservation> {
        std::mem::take(&mut self.rooms.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for StatelessRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatelessRequests").field("peer", &self.peer).finish_non_exhaustive()
    }
}
