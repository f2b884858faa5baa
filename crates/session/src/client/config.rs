//! The settings of a client's end of a connection.

use std::time::Duration;

use protomcp_types::{ClientCapabilities, Implementation, Level, ProtocolVersion};

/// The settings of a [`ClientConnection`](crate::ClientConnection).
#[derive(Debug, Clone, PartialEq)]
pub struct ClientConfig {
    /// The name and version of the client.
    pub implementation: Implementation,
    /// The capabilities of the client in the revisions with a handshake. Requests of the server that need any other are
    /// refused. The capabilities of the stateless revision follow from them.
    pub capabilities: ClientCapabilities,
    /// The eras that may be used.
    pub mode: Mode,
    /// The revision that a handshake asks for; one with sessions.
    pub version: ProtocolVersion,
    /// The streams of the connection.
    pub channel: Channel,
    /// The least severe level of the log messages that stateless requests ask for; `None`: no log messages.
    pub log_level: Option<Level>,
    /// Bounds and times.
    pub limits: ClientLimits,
}

/// The eras of MCP that a connection may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// Asks the server with `server/discover`, and falls back to a handshake.
    #[default]
    Auto,
    /// Begins with a handshake; a revision up to 2025-11-25.
    Stateful,
    /// Begins with a handshake, and falls back to `server/discover` where the server refuses it.
    StatefulFirst,
    /// Uses 2026-07-28 only.
    Stateless,
}

/// The streams of a connection, which decide how a request is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Channel {
    /// All messages share one stream, as over stdio.
    #[default]
    Shared,
    /// Each request has its own exchange, as over Streamable HTTP.
    Exchanges,
}

/// The bounds of a client's connection, and its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLimits {
    /// The time for `server/discover` on a shared stream; then a handshake follows, because old servers may not answer
    /// at all.
    pub discover_timeout: Duration,
    /// The time for all of the opening: discovery, handshake, or both.
    pub open_timeout: Duration,
    /// The time for which a request may be without an answer and without progress. It begins when the transport sends
    /// the request: over HTTP the wait for a slot does not count, nor a sign-in of the user.
    pub timeout: Duration,
    /// The time for which a request may take in all, whatever progress it reports. It includes the time in which the
    /// client answers questions of the server.
    pub total_timeout: Duration,
    /// The time for which a call may take in all after the server has made a task of it. Until then a poll that fails or
    /// has no answer is repeated.
    pub task_timeout: Duration,
    /// Requests without an answer. One more fails immediately.
    pub max_pending: usize,
    /// Bytes that wait because the server does not read them. A request beyond them fails immediately with
    /// [`TooMany`](crate::RequestError::TooMany). A transport in memory counts messages instead.
    pub max_unwritten: usize,
    /// Requests of the server that are being answered. One more is refused with −32603.
    pub max_incoming: usize,
    /// Bytes of the parameters of these requests. One that does not fit is refused with −32603.
    pub max_incoming_bytes: usize,
    /// The rounds of questions in one request (MCP 2026-07-28, basic/patterns/mrtr). A server that asks once more has
    /// failed the request.
    pub max_rounds: u32,
    /// Pings for a silent server, in revisions with a handshake; `None`: never.
    pub keep_alive: Option<Pings>,
}

/// Pings for a silent server (MCP 2025-11-25, basic/utilities/ping).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pings {
    /// The time of silence before a ping, and between two pings; at least 10 ms.
    pub every: Duration,
    /// The number of pings without any message from the server after which the connection is closed; at least 1.
    pub misses: u32,
}

impl ClientConfig {
    /// A client without capabilities.
    #[must_use]
    pub fn new(implementation: Implementation) -> Self {
        Self {
            implementation,
            capabilities: ClientCapabilities::new(),
            mode: Mode::Auto,
            version: ProtocolVersion::NEWEST_STATEFUL,
            channel: Channel::Shared,
            log_level: None,
            limits: ClientLimits::default(),
        }
    }
}

impl ClientLimits {
    /// The longest time that a deadline can be away; longer ones are cut. Ten years.
    pub const LONGEST: Duration = Duration::from_secs(10 * 366 * 24 * 3600);

    /// The shortest time between two pings: without a pause they would follow each other without end.
    const SHORTEST_SILENCE: Duration = Duration::from_millis(10);

    /// These limits with times that can be added to any moment, and with pauses between pings.
    pub(super) fn bounded(mut self) -> Self {
        for time in [
            &mut self.discover_timeout,
            &mut self.open_timeout,
            &mut self.timeout,
            &mut self.total_timeout,
            &mut self.task_timeout,
        ] {
            *time = (*time).min(Self::LONGEST);
        }
        if let Some(pings) = &mut self.keep_alive {
            pings.every = pings.every.clamp(Self::SHORTEST_SILENCE, Self::LONGEST);
            pings.misses = pings.misses.max(1);
        }
        self
    }
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            discover_timeout: Duration::from_secs(5),
            open_timeout: Duration::from_secs(30),
            timeout: Duration::from_secs(60),
            total_timeout: Duration::from_secs(600),
            task_timeout: Duration::from_secs(24 * 3600),
            max_pending: 1024,
            max_unwritten: 64 << 20,
            max_incoming: 64,
            max_incoming_bytes: 64 << 20,
            max_rounds: 10,
            keep_alive: None,
        }
    }
}
