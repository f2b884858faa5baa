//! Requests to the MCP server: in a session, or each for itself.

mod answer;
mod session;
mod stateless;

use protomcp_types::{Method, Params, Tool};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::code;
use crate::fault::Fault;

pub(super) use crate::serve::mcp::session::{Command, SessionRequests};
pub(super) use crate::serve::mcp::stateless::{StatelessRequests, StatelessServer};

/// Sends requests to the MCP server.
#[derive(Debug)]
pub(super) enum Mcp {
    /// In the session of a conversation.
    Session(SessionRequests),
    /// Without a session.
    Stateless(StatelessRequests),
}

impl Mcp {
    /// Sends a request. Dropping the future cancels it.
    pub(super) async fn request<M: Method>(&self, params: M::Params) -> Result<M::Result, Fault>
    where
        M::Params: Serialize,
        M::Result: DeserializeOwned,
    {
        let unreadable = |error: serde_json::Error| Fault::new(code::INTERNAL_ERROR, format!("{}: {error}", M::NAME));
        let params = {
            let typed = params;
            Params::of(&typed).map_err(unreadable)?
        };
        let raw = match self {
            Self::Session(session) => session.request(M::NAME, params).await?,
            Self::Stateless(requests) => requests.request(M::NAME, params).await?,
        };
        raw.to().map_err(unreadable)
    }

    /// The definition of a tool, if it is the same for every client and known without a request.
    pub(super) fn tool_definition(&self, name: &str) -> Option<Tool> {
        match self {
            Self::Session(_) => None,
            Self::Stateless(requests) => requests.tool_definition(name)?.to().ok(),
        }
    }
}
