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
        (PeerSource { inner, known: self.peer.known }, sink)
    }
}

/// The messages of `inner`, each with the same facts about its sender.
pub(super) struct PeerSource<S> {
    inner: S,
    known: Extensions,
}

impl<S: Source> Source for PeerSource<S> {
    fn next(&mut self) -> impl Future<Output = Result<Option<Received>, TransportError>> + Send {
        self.inner.next()
    }

    fn extensions(&mut self) -> Extensions {
        self.known.clone()
    }

    fn text_len(&self) -> usize {
        self.inner.text_len()
    }
}
