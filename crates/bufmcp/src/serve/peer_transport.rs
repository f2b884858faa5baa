//! A connection that stands for a stream with a peer.

use std::net::IpAddr;
use std::sync::Arc;

use protomcp_session::Extensions;
use protomcp_transport::{Received, Source, Transport, TransportError};

use crate::serve::peer::BinaryPeer;

/// The connection `inner`, as one with this peer.
pub(super) struct PeerTransport<T> {
    pub(super) inner: T,
    pub(super) peer: BinaryPeer,
}

impl<T: Transport> Transport for PeerTransport<T> {
    type Source = PeerSource<T::Source>;
    type Sink = T::Sink;

    fn principal(&self) -> Option<Arc<str>> {
        self.peer.principal.clone()
    }

    fn address(&self) -> Option<IpAddr> {
        self.peer.address
    }

    fn split(self) -> (Self::Source, T::Sink) {
        let (inner, sink) = self.inner.split();
        (PeerSource { inner, peer: self.peer.known }, sink)
    }
}

/// The messages of `inner`, each with the facts about the peer.
pub(super) struct PeerSource<S> {
    inner: S,
    peer: Extensions,
}

impl<S: Source> Source for PeerSource<S> {
    async fn next(&mut self) -> Result<Option<Received>, TransportError> {
        self.inner.next().await
    }

    fn extensions(&mut self) -> Extensions {
        self.peer.clone()
    }

    fn text_len(&self) -> usize {
        self.inner.text_len()
    }
}
