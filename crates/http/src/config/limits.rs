//! The bounds of sessions and requests over HTTP.

use std::time::Duration;

/// The bounds of sessions and requests over HTTP, and their timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    /// The longest body, in bytes. Longer ones get 413. Default 64 MiB.
    pub max_body: usize,
    /// The name of the setting of `max_body`, for errors: the flag of a command, for example.
    pub max_body_setting: Option<&'static str>,
    /// The time for a client to send a body. Default 60 s.
    pub body_timeout: Duration,
    /// The most open sessions. Owners (a principal, or else an address) share them: at the limit a new session replaces
    /// one of the owner with the most. Within one owner, and between owners with about as many, only a session that was
    /// unused for a minute, or has not completed its handshake in ten seconds, is replaced; otherwise the new one gets
    /// 503. Default 10,000.
    pub max_sessions: usize,
    /// The time without a connection and without a request after which a session is closed. Default 1 h.
    pub session_idle: Duration,
    /// The most open responses of one session. Another one gets 503. Default 1088: one for each request
    /// that a session takes.
    pub max_streams: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            max_body: 64 * 1024 * 1024,
            max_body_setting: None,
            body_timeout: Duration::from_secs(60),
            max_sessions: 10_000,
            session_idle: Duration::from_secs(3600),
            max_streams: 1024 + 64,
        }
    }
}
