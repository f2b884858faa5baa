//! The times of a connection.

use std::time::Duration;

/// The times of a connection over WebSocket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WebSocketOptions {
    /// The time between two pings. Default 30 seconds.
    pub ping_interval: Duration,
    /// The most pings in a row without a message of the peer, a pong, or 64 KiB of a message that is on its way. When the
    /// next one is due the connection ends. Default 2.
    pub max_missed: u32,
    /// The time in which the peer must take 64 KiB, or everything that waits for it, pongs included. Default 60 seconds.
    /// When a server has shut down and its conversation has ended, the peer has the drain timeout of the conversation for
    /// everything that is left.
    pub write_timeout: Duration,
}

impl Default for WebSocketOptions {
    fn default() -> Self {
        Self { ping_interval: Duration::from_secs(30), max_missed: 2, write_timeout: Duration::from_secs(60) }
    }
}

impl WebSocketOptions {
    /// Sets [`WebSocketOptions::ping_interval`].
    #[must_use]
    pub fn with_ping_interval(mut self, interval: Duration) -> Self {
        self.ping_interval = interval;
        self
    }

    /// Sets [`WebSocketOptions::max_missed`].
    #[must_use]
    pub fn with_max_missed(mut self, pings: u32) -> Self {
        self.max_missed = pings;
        self
    }

    /// Sets [`WebSocketOptions::write_timeout`].
    #[must_use]
    pub fn with_write_timeout(mut self, timeout: Duration) -> Self {
        self.write_timeout = timeout;
        self
    }

    /// These options with times that can be used: fields can be set to any.
    pub(crate) fn bounded(mut self) -> Self {
        self.ping_interval = self.ping_interval.min(LONGEST);
        self.write_timeout = self.write_timeout.min(LONGEST);
        self
    }
}

/// Longer times are cut, so that they can be added to any moment.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);
