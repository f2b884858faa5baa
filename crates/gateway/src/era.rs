//! The era in which a server is spoken to: the era of the client that calls, where the server has both.

use protomcp_client::{Mode, ServerView};
use protomcp_server::Context;

/// The eras of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// The revisions with a handshake and sessions, up to 2025-11-25.
    Stateful,
    /// 2026-07-28.
    Stateless,
}

impl Era {
    /// The era of the client of a call.
    pub(crate) fn of(context: &Context) -> Self {
        if context.is_stateless() { Self::Stateless } else { Self::Stateful }
    }

    /// The era of an open session with a server.
    pub(crate) fn of_server(server: &ServerView) -> Self {
        if server.is_stateful() { Self::Stateful } else { Self::Stateless }
    }

    pub(crate) fn other(self) -> Self {
        match self {
            Self::Stateful => Self::Stateless,
            Self::Stateless => Self::Stateful,
        }
    }

    /// The eras that a session in this one may use: if both are allowed, this one first.
    pub(crate) fn first(self, allowed: Mode) -> Mode {
        match (self, allowed) {
            (Self::Stateful, Mode::Auto) => Mode::StatefulFirst,
            (_, allowed) => allowed,
        }
    }
}
