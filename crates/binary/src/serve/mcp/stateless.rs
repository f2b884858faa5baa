//! Requests without a session (MCP 2026-07-28): each is answered for itself.

use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};

use protomcp_server::{Peer, Replies, Reserved, Server, ServerHandle, Service};
use protomcp_session::{Extensions, Reservation, StatelessMeta};
use protomcp_types::{Implementation, JsonObject, Message, Params, ProtocolVersion, RawJson, Request, RequestId, meta};

use crate::fault::Fault;
use crate::serve::mcp::answer::{Answer, closed};

/// An MCP server of any type, for requests without a session.
pub(in crate::serve) trait StatelessServer: Send + Sync {
    fn handle(&self) -> &ServerHandle;

    /// Serves a request; its future drives the call.
    fn answer(&self, request: Request, meta: &StatelessMeta, peer: Peer, known: Extensions) -> Replies;

    fn tool_definition(&self, tool: &str) -> Option<RawJson>;
}

impl<S: Service> StatelessServer for Server<S> {
    fn handle(&self) -> &ServerHandle {
        Self::handle(self)
    }

    fn answer(&self, request: Request, meta: &StatelessMeta, peer: Peer, known: Extensions) -> Replies {
        Self::answer(self, request, meta, peer, known)
    }

    fn tool_definition(&self, tool: &str) -> Option<RawJson> {
        Self::tool_definition(self, tool)
    }
}

/// The requests that answer one request of a client.
pub(in crate::serve) struct StatelessRequests {
    server: Arc<dyn StatelessServer>,
    peer: Peer,
    known: Extensions,
    /// The bytes that results have reserved in the outbound budget.
    rooms: Mutex<Vec<Reservation>>,
}

impl StatelessRequests {
    pub(in crate::serve) fn new(server: Arc<dyn StatelessServer>, peer: Peer, known: Extensions) -> Self {
        Self { server, peer, known, rooms: Mutex::default() }
    }

    /// Sends a request. Dropping the future cancels it.
    pub(super) async fn request(&self, method: &'static str, params: Params) -> Answer {
        let request = Request { id: RequestId::from(1), method: method.into(), params: described(params) };
        let meta = self.server.handle().meta_of(&request.params);
        let mut replies = self.server.answer(request, &meta, self.peer.clone(), self.known.clone());
        while let Some(Reserved { message, room }) = poll_fn(|cx| replies.poll_next(cx)).await {
            // The client has asked for no notifications, and can answer no questions.
            let Message::Response(response) = message else { continue };
            self.rooms.lock().unwrap_or_else(PoisonError::into_inner).extend(room);
            return response.outcome.map(|body| anonymous(&body.into_raw())).map_err(Fault::from);
        }
        Err(closed())
    }

    pub(super) fn tool_definition(&self, tool: &str) -> Option<RawJson> {
        self.server.tool_definition(tool)
    }

    /// The reservations of all results. Hold them until the client has read the answer.
    pub(in crate::serve) fn take_rooms(&self) -> Vec<Reservation> {
        std::mem::take(&mut self.rooms.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Adds the members that every request without a session carries (MCP 2026-07-28, basic).
fn described(params: Params) -> Params {
    let mut members = match params {
        Params::Named(members) => members,
        Params::Absent | Params::Positional(_) => JsonObject::new(),
    };
    let meta = members.take("_meta").and_then(|meta| JsonObject::from_raw(&meta).ok()).unwrap_or_default();
    let client = RawJson::of(&Implementation::new("proto-mcp client", "")).expect("an implementation is JSON");
    let meta = meta
        .with(meta::PROTOCOL_VERSION, RawJson::text(ProtocolVersion::V2026_07_28.as_str()))
        .with(meta::CLIENT_CAPABILITIES, RawJson::EMPTY_OBJECT)
        .with(meta::CLIENT_INFO, client);
    members.insert("_meta", meta.to_body().into_raw());
    members.into()
}

/// A result without the server's identity, which only results without a session carry.
fn anonymous(result: &RawJson) -> RawJson {
    let Ok(mut members) = JsonObject::from_raw(result) else { return result.clone() };
    if let Some(meta) = members.take("_meta") {
        let mut kept = JsonObject::from_raw(&meta).unwrap_or_default();
        kept.take(meta::SERVER_INFO);
        if !kept.is_empty() {
            members.insert("_meta", kept.to_body().into_raw());
        }
    }
    members.to_body().into_raw()
}

impl fmt::Debug for StatelessRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatelessRequests").field("peer", &self.peer).finish_non_exhaustive()
    }
}
