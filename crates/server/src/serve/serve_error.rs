//! The reasons for an early end of serving a client.

use protomcp_transport::TransportError;

/// The reason for an early end of serving a client. Calls that were running have been cancelled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The connection broke. [`TransportError::Closed`]: the client closed it before all answers were written.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The client has stopped reading; the last answers could not be written.
    #[error("the client does not read its answers")]
    Stalled,
    /// The client did not answer a ping
    /// ([`Limits::ping_interval`](crate::Limits::ping_interval)).
    #[error("the client did not answer a ping")]
    Silent,
}
