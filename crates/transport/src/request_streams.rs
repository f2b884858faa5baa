//! A client's connections on which each request has its own exchange, as over Streamable HTTP.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use protomcp_types::{ProtocolVersion, RequestId};

/// The exchanges of a [`Sink`](crate::Sink) that sends each message of a client in its own request.
///
/// The client names the header fields and the ends that a stream of messages does not carry. Effects begin with the
/// next [`Sink::flush`](crate::Sink::flush).
pub trait RequestStreams: Send {
    /// Adds header fields to the request with this id, which is sent next: the arguments that a tool wants mirrored
    /// (`Mcp-Param-*`, MCP 2026-07-28, basic/transports). Values are encoded already. The fields that follow from the
    /// message itself (`MCP-Protocol-Version`, `Mcp-Method`, `Mcp-Name`) are the sink's own work.
    fn add_fields(&mut self, request: &RequestId, fields: Vec<(String, String)>);

    /// The time at which a request without an answer got its turn, if the sink makes requests wait for one: `now` while
    /// it waits. `None`: when it was sent. The time for an answer begins then.
    fn turn(&mut self, _request: &RequestId, _now: Instant) -> Option<Instant> {
        None
    }

    /// The token that requests are sent with. Private answers are kept for its user only (`cacheScope`, MCP 2026-07-28,
    /// server/utilities/caching). By default it never changes.
    fn authorization(&self) -> AuthorizationContext {
        AuthorizationContext::default()
    }

    /// Closes the response stream of a request. Since 2026-07-28 this cancels it; its answer is then not expected.
    fn close_stream(&mut self, request: &RequestId);

    /// A handshake has agreed on this revision. The next messages carry it, with the id of the session if the server
    /// has given one, and a stream for messages that belong to no request is opened after
    /// `notifications/initialized`.
    fn begin_session(&mut self, version: ProtocolVersion);

    /// Ends the session at the server (DELETE), if there is one. Without a further handshake only requests of the
    /// stateless revision can follow.
    fn end_session(&mut self);
}

/// Numbers the tokens that a sink sends requests with, and with them the users who may see an answer. Cloning is cheap.
#[derive(Clone)]
pub struct AuthorizationContext(Arc<dyn Fn() -> u64 + Send + Sync>);

impl AuthorizationContext {
    /// A context whose number `current` returns. It must not block.
    pub fn new(current: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(current))
    }

    /// The number of the token that a request would be sent with now.
    #[must_use]
    pub fn number(&self) -> u64 {
        (self.0)()
    }
}

impl Default for AuthorizationContext {
    fn default() -> Self {
        Self::new(|| 0)
    }
}

impl fmt::Debug for AuthorizationContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AuthorizationContext").field(&self.number()).finish()
    }
}
