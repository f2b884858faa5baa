//! How much has gone over a link.

use protomcp_metrics::Counter;

/// Bytes of frames, headers included.
#[derive(Debug, Default)]
pub struct ByteCounters {
    /// From the peer.
    pub received: Counter,
    /// To the peer.
    pub sent: Counter,
}
