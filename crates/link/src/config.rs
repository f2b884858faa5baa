//! Limits and timeouts of a connection.

use std::sync::Arc;
use std::time::Duration;

use protomcp_codec::Limits;

use crate::byte_counters::ByteCounters;
use crate::tap::Tap;

/// The end of the link that a [`Connection`](crate::Connection) plays.
///
/// The bridge listens, requests the tool list and sends calls; the tool side answers. Both ends are implemented so that
/// a test can join them, and so that an SDK can be written on the same machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The program that runs the tool process.
    Bridge,
    /// The tool process.
    Tool,
}

impl Side {
    /// The end that it talks to.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Bridge => Self::Tool,
            Self::Tool => Self::Bridge,
        }
    }
}

/// Limits and timeouts of one connection.
#[derive(Debug, Clone)]
pub struct Config {
    /// Sizes of frames and payloads.
    pub limits: Limits,
    /// The most requests in flight. Further requests fail with [`CallError::Busy`](crate::CallError::Busy).
    pub max_pending: usize,
    /// The most bytes that may wait to be written, not counting bytes already returned by
    /// [`poll_transmit`](crate::Connection::poll_transmit). If the peer stops reading, further calls fail with
    /// [`CallError::Busy`](crate::CallError::Busy). If the peer sends requests without reading the replies, reading
    /// from it pauses ([`may_read`](crate::Connection::may_read)).
    pub max_unwritten: usize,
    /// The most bytes that incomplete answers may hold together.
    pub max_assembling: usize,
    /// The most middleware a process may register per handshake. Further registrations are rejected in their
    /// acknowledgement.
    pub max_middleware: usize,
    /// The driver requests the tool list at the start. If false, its owner does so with `Link::begin`, after other
    /// requests.
    pub requests_list: bool,
    /// The time in which the tool process must answer the first request for its list, and again the time in which it
    /// must finish registering after that.
    pub handshake_timeout: Duration,
    /// The silence after the tool list that means "finished registering", for SDKs that send no signal: 500 ms by
    /// docs/envelope.md, "Handshake". Each middleware registration restarts it.
    pub handshake_quiet: Duration,
    /// The time in which a process must answer a reload request; without an answer it cannot reload in place.
    pub reload_timeout: Duration,
    /// The silence of a process after which it is sent a ping, if it answers pings
    /// ([`Connection::keep_alive`](crate::Connection::keep_alive)).
    pub ping_interval: Duration,
    /// The further silence after which a process without requests is given up, and one with requests reported.
    pub ping_timeout: Duration,
    /// Counts bytes. Links that share this value are counted together.
    pub byte_counters: Arc<ByteCounters>,
    /// Sees each message.
    pub tap: Option<Tap>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            max_pending: 4096,
            max_unwritten: 128 << 20,
            max_assembling: 512 << 20,
            max_middleware: 256,
            requests_list: true,
            handshake_timeout: Duration::from_secs(30),
            handshake_quiet: Duration::from_millis(500),
            reload_timeout: Duration::from_secs(3),
            ping_interval: Duration::from_secs(30),
            ping_timeout: Duration::from_secs(30),
            byte_counters: Arc::default(),
            tap: None,
        }
    }
}
