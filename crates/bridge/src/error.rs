//! Why a bridge does not run.

use protomcp_watch::WatchError;

use crate::starter::StartError;

/// What kept a bridge from starting.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BridgeError {
    /// The tool process could not be taken into service.
    #[error("failed to start tool process: {0}")]
    Start(#[from] StartError),
    /// Its files could not be watched.
    #[error("cannot watch for changes: {0}")]
    Watch(#[from] WatchError),
}
