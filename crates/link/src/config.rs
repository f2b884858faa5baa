//! What a connection allows and how long it waits.

use std::sync::Arc;
use std::time::Duration;

use protomcp_codec::Limits;

use crate::byte_counters::ByteCounters;

/// Which end of the link a [`Connection`](crate::Connection) plays.
///
/// The bridge listens, asks for the tool list and sends calls; the tool side answers. Both are here so that a test
/// can join two of them, and so that an SDK can be written on the same machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The program that runs the tool process.
    Bridge,
    /// The tool process.
    Tool,
}

/// Bounds and waiting times of one connection.
#[derive(Debug, Clone)]
pub struct Config {
    /// Sizes of frames and payloads.
    pub limits: Limits,
    /// Requests that may be unanswered at once. More are refused with [`CallError::Busy`](crate::CallError::Busy).
    pub max_pending: usize,
    /// Bytes that may wait to be written, not counting what has been handed out by
    /// [`poll_transmit`](crate::Connection::poll_transmit). A peer that stops reading makes further calls fail with
    /// [`CallError::Busy`](crate::CallError::Busy), and one that asks without reading the replies is no longer read
    /// ([`may_read`](crate::Connection::may_read)), instead of growing memory.
    pub max_unwritten: usize,
    /// Bytes that answers may hold together while they are incomplete.
    pub max_assembling: usize,
    /// Middleware that a process may register from one handshake to the next. More is refused in its acknowledgement.
    pub max_middleware: usize,
    /// How long the tool process may take to answer the first request for its list, and again how long it may go on
    /// registering after that.
    pub handshake_timeout: Duration,
    /// Silence after the tool list that means "finished registering" for SDKs that send no signal: 500 ms by the
    /// wire contract, restarted by each middleware registration.
    pub handshake_quiet: Duration,
    /// How long a process may take to answer a reload request before it counts as unable to reload in place.
    pub reload_timeout: Duration,
    /// Counts bytes. Links that are given the same one are counted together.
    pub byte_counters: Arc<ByteCounters>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            max_pending: 4096,
            max_unwritten: 128 << 20,
            max_assembling: 512 << 20,
            max_middleware: 256,
            handshake_timeout: Duration::from_secs(30),
            handshake_quiet: Duration::from_millis(500),
            reload_timeout: Duration::from_secs(3),
            byte_counters: Arc::default(),
        }
    }
}
