//! The state that all connections of a listener share.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::accept_log::AcceptLog;
use crate::config::ListenerConfig;
use crate::descriptors;
use crate::slots::Slots;

/// Connections beyond the limit that are still being closed in favour of others.
const CLOSING: usize = 32;

/// Limits, logs and shutdown tokens.
#[derive(Debug)]
pub(crate) struct Connections {
    pub(crate) config: ListenerConfig,
    /// Open requests may finish; new ones are refused.
    pub(crate) stop: CancellationToken,
    /// Connections end immediately.
    pub(crate) abort: CancellationToken,
    pub(crate) slots: Arc<Slots>,
    /// Bounds the descriptors of connections, including those that have lost their slot.
    pub(crate) descriptors: Arc<Semaphore>,
    pub(crate) log: AcceptLog,
    #[cfg(feature = "tls")]
    pub(crate) handshakes: Arc<Slots>,
}

impl Connections {
    pub(crate) fn new(config: ListenerConfig) -> Self {
        let config = config.bounded();
        let limit = descriptors::limit();
        let connections = descriptors::connections(config.max_connections, limit);
        if connections < config.max_connections {
            let limit = limit.unwrap_or_default();
            tracing::info!("the limit of open files, {limit}, allows {connections} connections");
        }
        Self {
            stop: CancellationToken::new(),
            abort: CancellationToken::new(),
            slots: Slots::new(connections),
            descriptors: Arc::new(Semaphore::new((connections + CLOSING).min(Semaphore::MAX_PERMITS))),
            log: AcceptLog::default(),
            #[cfg(feature = "tls")]
            handshakes: Slots::new(config.max_handshakes),
            config,
        }
    }

    /// Ends the connections: gracefully at first, and immediately after the drain timeout.
    pub(crate) async fn drain(&self, tasks: &TaskTracker) {
        self.stop.cancel();
        self.log.write_now();
        tasks.close();
        if tokio::time::timeout(self.config.drain_timeout, tasks.wait()).await.is_err() {
            tracing::warn!(connections = tasks.len(), "closing connections after the drain timeout");
            self.abort.cancel();
            tasks.wait().await;
        }
    }
}
