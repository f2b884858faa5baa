//! Where HTTP requests come from: facts that servers in front of this one put into the extensions of a request.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::request::Parts;

/// Where a request came from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caller {
    pub(crate) principal: Option<Principal>,
    pub(crate) address: Option<IpAddr>,
    pub(crate) connection: Option<Connection>,
}

impl Caller {
    /// The caller of a request with this head.
    pub(crate) fn of(parts: &Parts) -> Self {
        Self {
            principal: parts.extensions.get().cloned(),
            address: parts.extensions.get::<PeerAddr>().map(|peer| peer.0.ip()),
            connection: parts.extensions.get().copied(),
        }
    }
}

/// The address that a request has come from, in its extensions. [`Listener`](crate::Listener) puts it there; in another
/// server, put it there to share limits by address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddr(pub SocketAddr);

/// Who uses a session, as far as that was authenticated. Put it into the extensions of a request, and sessions are
/// bound to it: nobody else can use them, whatever they know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal(pub Arc<str>);

/// The connection that a request has come by, under a number that no other has. [`Listener`](crate::Listener) puts it into the
/// extensions of each request; requests without a session and a [`Principal`] take turns by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Connection(pub u64);
