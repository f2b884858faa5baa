//! The client at the other end of a stream, as far as the stream knows it.

use std::net::IpAddr;
use std::sync::Arc;

/// The other end of a stream.
#[derive(Debug, Clone, Default)]
pub struct BinaryPeer {
    /// The authenticated principal, from a certificate for example.
    pub principal: Option<Arc<str>>,
    /// The network address, if the stream crosses a network.
    pub address: Option<IpAddr>,
}
