//! A connection that stands for a stream with a peer.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protomcp_session::Extensions;
use protomcp_transport::{Received, Source, Transport, TransportError};
use protomcp_types::{Incoming, Message, RequestId};

use crate::serve::peer::BinaryPeer;

/// The facts about the bearers of tokens, by the ids of their requests. Each one is taken once.
#[derive(Debug, Clone, Default)]
pub(super) struct Bearers(Arc<Mutex<HashMap<RequestId, Extensions>>>);

impl Bearers {
    /// These facts belong to the request of this id, which is sent next.
    pub(super) fn add(&self, request: RequestId, known: Extensions) {
        self.lock().insert(request, known);
    }

    fn take(&self, request: &RequestId) -> Option<Extensions> {
        self.lock().remove(request)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, Extensions>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection `inner`, as one with this peer.
pub(super) struct PeerTransport<T> {
    pub(super) inner: T,
    pub(super) peer: BinaryPeer,
    pub(super) bearers: Bearers,
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
        (PeerSource { inner, peer: self.peer.known, bearers: self.bearers, sender: None }, sink)
    }
}

/// The messages of `inner`, each with the facts about its sender.
pub(super) struct PeerSource<S> {
    inner: S,
    /// The facts about the peer, for messages without a bearer.
    peer: Extensions,
    bearers: Bearers,
    /// The bearer of the last message.
    sender: Option<Extensions>,
}

impl<S: Source> Source for PeerSource<S> {
    async fn next(&mut self) -> Result<Option<Received>, TransportError> {
        let received = self.inner.next().await;
        self.sender = match &received {
            Ok(Some(Ok(Incoming::One(Message::Request(request))))) => self.bearers.take(&request.id),
            _ => None,
        };
        received
    }

    fn extensions(&mut self) -> Extensions {
        self.sender.take().unwrap_or_else(|| self.peer.clone())
    }

    fn text_len(&self) -> usize {
        self.inner.text_len()
    }
}
