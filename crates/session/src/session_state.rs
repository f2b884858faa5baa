//! The state of a session that another process can continue.

use std::sync::Arc;

use protomcp_types::{Level, RawJson};

use crate::client_info::ClientInfo;

/// The state of a session that another process can continue. Open requests are not part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionState {
    /// The client, with the negotiated revision.
    pub client: Arc<ClientInfo>,
    /// The lowest level of log messages that the client has requested.
    pub level: Level,
    /// The resources that the client has subscribed to, sorted.
    pub subscriptions: Vec<String>,
    /// The tools that the session sees, in the form of the observer that selects them; `None`: the tools of every
    /// session.
    pub selection: Option<RawJson>,
}

/// A session that another process has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredSession {
    /// Its state.
    pub state: SessionState,
    /// The number of its holders so far, this process included. The ids of requests to the client begin after those that
    /// earlier holders may have used, so that a late answer to one of them answers no other.
    pub holder: u64,
}
