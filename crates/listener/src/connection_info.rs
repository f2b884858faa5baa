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
    /// The version of TLS; `None` for plain text.
    pub tls: Option<TlsVersion>,
}

/// A version of TLS that a [`Listener`](crate::Listener) speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TlsVersion {
    /// TLS 1.2 (RFC 5246).
    Tls12,
    /// TLS 1.3 (RFC 8446).
    Tls13,
}
