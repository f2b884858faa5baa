//! A connection that stands for a stream with a peer.

use std::net::IpAddr;
use std::sync::Arc;

use protomcp_transport::Transport;

use crate::serve::peer::BinaryPeer;

/// The connection `inner`, as one with this peer.
pub(super) struct PeerTransport<T> {
    pub(super) inner: T,
    pub(super) peer: BinaryPeer,
}

impl<T: Transport> Transport for PeerTransport<T> {
    type Source = T::Source;
    type Sink = T::Sink;

    fn principal(&self) -> Option<Arc<str>> {
        self.peer.principal.clone()
    }

    fn address(&self) -> Option<IpAddr> {
        self.peer.address
    }

    fn split(self) -> (T::Source, T::Sink) {
        self.inner.split()
    }
}
