//! Counters of the bytes sent and received over links.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of frames, headers included.
#[derive(Debug, Default)]
pub struct ByteCounters {
    received: AtomicU64,
    sent: AtomicU64,
}

impl ByteCounters {
    /// The bytes received from the peer.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// The bytes sent to the peer.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    #[cfg(feature = "driver")]
    pub(crate) fn add_received(&self, count: usize) {
        self.received.fetch_add(count as u64, Ordering::Relaxed);
    }

    #[cfg(feature = "driver")]
    pub(crate) fn add_sent(&self, count: usize) {
        self.sent.fetch_add(count as u64, Ordering::Relaxed);
    }
}
