//! The responses that are streams of events.

use std::sync::Arc;
use std::time::Duration;

use crate::store::EventStore;
use crate::store::memory::MemoryStore;

/// The responses that are streams of events, and their resumption.
#[derive(Debug, Clone)]
pub struct StreamConfig {
    /// The time without an answer after which the response to a request becomes a stream of events. It keeps proxies
    /// from closing the connection, and lets clients of stateful revisions come back for the answer. Default 1 s.
    pub stream_after: Duration,
    /// The time without a message after which a comment is sent on an open stream. Default 15 s.
    pub keep_alive: Duration,
    /// The delay that clients are asked to keep before they reconnect to a closed stream. Default 500 ms.
    pub retry: Duration,
    /// The time that a client has to reconnect to a broken stream. Then questions of its request fail, because no
    /// response carries them; the answer to the request itself is kept for a later reconnect. Default 60 s.
    pub reconnect_window: Duration,
    /// Keeps events for clients that reconnect; `None` disables resuming. By default they are kept in memory.
    pub event_store: Option<Arc<dyn EventStore>>,
}

impl Default for StreamConfig {
    fn default() -> Self {
        Self {
            stream_after: Duration::from_secs(1),
            keep_alive: Duration::from_secs(15),
            retry: Duration::from_millis(500),
            reconnect_window: Duration::from_secs(60),
            event_store: Some(Arc::new(MemoryStore::default())),
        }
    }
}
