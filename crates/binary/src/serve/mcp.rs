//! Requests to the MCP server: in a session, or each for itself.

pub(super) mod any_server;
mod served_method;
pub(super) mod session;
pub(super) mod stateless;

use std::fmt;

use protomcp_fair::Reservation;
use protomcp_server::ServerResult;
use protomcp_types::Tool;

use crate::code;
use crate::fault::Fault;
use crate::serve::account::FREE;
use crate::serve::large_values::Values;
use crate::serve::mcp::served_method::ServedMethod;
use crate::serve::mcp::session::SessionRequests;
use crate::serve::mcp::stateless::StatelessRequests;

/// Makes requests to the MCP server.
#[derive(Debug)]
pub(super) struct Mcp {
    pub(super) requests: Requests,
    /// Reads and writes large messages.
    pub(super) worker: Values,
    /// An empty reservation for results of a session, where they count. Those without a session bring their own.
    pub(super) outbound: Option<Reservation>,
}

/// The result of a request.
#[derive(Debug)]
pub(super) struct Outcome<T> {
    pub(super) result: T,
    /// The bytes that it takes until the answer to the client is made.
    pub(super) room: Option<Reservation>,
}

/// The way of requests to the MCP server.
#[derive(Debug)]
pub(super) enum Requests {
    /// In the session of a conversation.
    Session(SessionRequests),
    /// Without a session.
    Stateless(StatelessRequests),
}

impl Mcp {
    /// Makes a request. Dropping the future cancels it.
    pub(super) async fn request<M: ServedMethod>(&self, params: M::Params) -> Result<Outcome<M::Result>, Fault> {
        let request = M::request(params);
        let result = match &self.requests {
            Requests::Session(session) => session.request(request).await?,
            Requests::Stateless(requests) => requests.request(request).await?,
        };
        let room = self.room(result.weight())?;
        let fault = |why: &dyn fmt::Display| Fault::new(code::INTERNAL_ERROR, format!("{}: {why}", M::NAME));
        let result = match result {
            // A service may answer with any object.
            ServerResult::Body(body) => {
                let raw = body.into_raw();
                let read = self.worker.run(raw.len(), move || raw.to()).await;
                read.map_err(|error: serde_json::Error| fault(&error))?
            }
            result => M::result(result).ok_or_else(|| fault(&"the result is one of another method"))?,
        };
        Ok(Outcome { result, room })
    }

    /// Takes the bytes of a result, which may have to wait for its turn. A small one is free.
    fn room(&self, bytes: usize) -> Result<Option<Reservation>, Fault> {
        let Some(outbound) = self.outbound.as_ref().filter(|_| bytes > FREE) else { return Ok(None) };
        let mut room = outbound.sibling();
        let no_room = |_| Fault::new(code::INTERNAL_ERROR, "there is no room for the result until others are read");
        room.grow(bytes).map_err(no_room)?;
        Ok(Some(room))
    }

    /// The definition of a tool, if it is the same for every client and known without a request.
    pub(super) fn tool_definition(&self, name: &str) -> Option<Tool> {
        match &self.requests {
            Requests::Session(_) => None,
            Requests::Stateless(requests) => requests.tool_definition(name)?.to().ok(),
        }
    }
}
