//! Counters of the bytes sent and received over links.

use protomcp_metrics::Counter;

/// Bytes of frames, headers included.
#[derive(Debug, Default)]
pub struct ByteCounters {
    /// Received from the peer.
    pub received: Counter,
    /// Sent to the peer.
    pub sent: Counter,
}
