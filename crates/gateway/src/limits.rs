//! The bounds of a gateway.

use std::time::Duration;

/// The bounds and times of a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatewayLimits {
    /// The time in which a server must be connected, for one attempt. Default 60 s.
    pub open_timeout: Duration,
    /// The time in which a server must be connected and answer all pages of a list. Otherwise its elements are left out,
    /// and asked for in the background, in [`timeout`](Self::timeout) for all pages; then the list is announced as
    /// changed. Default 10 s.
    pub list_timeout: Duration,
    /// The time for which a request may be without an answer and without progress. Servers are asked for progress if the
    /// client asks for it, or if this time is shorter than [`total_timeout`](Self::total_timeout), so that progress
    /// prolongs it. Default 5 min.
    pub timeout: Duration,
    /// The time for which a request may take in all, with the questions that it asks. Default 1 h.
    pub total_timeout: Duration,
    /// The most sessions with one server that belong to single clients, and the most for single calls of clients without
    /// a session. One owner of calls (a user, or an address) has at most four times as many as are free. One more replaces
    /// an idle one, or is refused with the code `OVERLOADED`. Default 1024.
    pub max_sessions: usize,
    /// The time after the last request of its client for which a session with a server is kept. Default 30 min.
    pub idle_timeout: Duration,
    /// The most earlier versions of a server with watched files that finish their calls at the same time. For another
    /// reload the oldest one ends, when it was replaced for longer than [`timeout`](Self::timeout). Default 4.
    pub max_retiring: usize,
}

impl Default for GatewayLimits {
    fn default() -> Self {
        Self {
            open_timeout: Duration::from_secs(60),
            list_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(300),
            total_timeout: Duration::from_secs(3600),
            max_sessions: 1024,
            idle_timeout: Duration::from_secs(1800),
            max_retiring: 4,
        }
    }
}

/// The bytes of one list of one server.
pub(crate) const MAX_LIST_BYTES: usize = 64 << 20;

/// The bytes of all lists that are kept between requests, in all sessions. Without room they are asked for again.
pub(crate) const MAX_KEPT_BYTES: usize = 256 << 20;
