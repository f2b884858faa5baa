//! The connection of a request.

use std::net::SocketAddr;

/// The connection that a request arrived on. A [`Listener`](crate::Listener) adds it to the extensions of each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ConnectionInfo {
    /// The address of the peer.
    pub peer: SocketAddr,
    /// The number of the connection, unique in this process.
    pub number: u64,
}
