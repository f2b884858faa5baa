//! The progress of the handshake.

use std::sync::Arc;

use crate::client_info::ClientInfo;

/// The progress of the handshake. Requests of the stateless revision come and go independently of it.
#[derive(Debug)]
pub(super) enum Lifecycle {
    Fresh,
    Introduced(Arc<ClientInfo>),
    Ready(Arc<ClientInfo>),
}
