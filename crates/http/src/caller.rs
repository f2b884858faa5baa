//! The origin of HTTP requests: facts that servers in front of this one put into the extensions of a request.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::request::Parts;
#[cfg(feature = "listener")]
use protomcp_listener::{ClientName, ConnectionInfo, TlsVersion};
use protomcp_server::{CallerIdentity, Owner, Peer};

use crate::forwarded;
use crate::network::IpNetwork;

/// The origin of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caller {
    pub(crate) principal: Option<Principal>,
    pub(crate) address: Option<IpAddr>,
    pub(crate) connection: Option<Connection>,
    pub(crate) identity: Option<Arc<CallerIdentity>>,
}

impl Caller {
    /// The caller of a request with this head.
    pub(crate) fn of(parts: &Parts) -> Self {
        Self {
            principal: parts.extensions.get().cloned(),
            address: address(parts),
            connection: connection(parts),
            identity: parts.extensions.get().cloned(),
        }
    }

    /// The owner that the request counts for when limits are shared.
    pub(crate) fn owner(&self) -> Owner {
        Owner::of(self.who(), self.address)
    }

    /// The caller as the server knows it.
    pub(crate) fn peer(&self) -> Peer {
        Peer::new(self.who(), self.address, self.connection.map(|Connection(number)| number))
    }

    fn who(&self) -> Option<Arc<str>> {
        self.principal.as_ref().map(|Principal(who)| Arc::clone(who))
    }
}

/// True if a request came within TLS 1.2, as far as its connection is known.
pub(crate) fn is_within_tls_1_2(parts: &Parts) -> bool {
    #[cfg(feature = "listener")]
    let is_old = parts.extensions.get().is_some_and(|info: &ConnectionInfo| info.tls == Some(TlsVersion::Tls12));
    #[cfg(not(feature = "listener"))]
    let is_old = {
        let _ = parts;
        false
    };
    is_old
}

fn connection(parts: &Parts) -> Option<Connection> {
    let noted = parts.extensions.get().copied();
    #[cfg(feature = "listener")]
    let noted = noted.or_else(|| parts.extensions.get().map(|info: &ConnectionInfo| Connection(info.number)));
    noted
}

fn address(parts: &Parts) -> Option<IpAddr> {
    let forwarded = parts.extensions.get().map(|ClientAddr(address)| *address);
    forwarded.or_else(|| parts.extensions.get::<PeerAddr>().map(|peer| peer.0.ip()))
}

/// Notes the address of the peer, and the client that a trusted proxy has forwarded a request for.
pub(crate) fn note_client(parts: &mut Parts, proxies: &[IpNetwork]) {
    #[cfg(feature = "listener")]
    if let Some(info) = parts.extensions.get::<ConnectionInfo>() {
        let peer = PeerAddr(info.peer);
        parts.extensions.insert(peer);
    }
    // A token names its bearer later.
    #[cfg(feature = "listener")]
    if let Some(client) = parts.extensions.get::<ClientName>().cloned() {
        parts.extensions.insert(Principal(client.into()));
    }
    let peer = parts.extensions.get::<PeerAddr>().map(|peer| peer.0.ip());
    if let (Some(peer), None, false) = (peer, parts.extensions.get::<ClientAddr>(), proxies.is_empty()) {
        parts.extensions.insert(ClientAddr(forwarded::client(peer, &parts.headers, proxies)));
    }
}

/// The address that a request came from, in its extensions. Set for requests of
/// [`protomcp_listener`](https://docs.rs/protomcp-listener); with another server, insert it to share limits by address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerAddr(pub SocketAddr);

/// The address that a request counts for when limits are shared by address, in its extensions: with
/// [`Access::trusted_proxies`](crate::Access::trusted_proxies) the address of the client behind the proxy. A server in
/// front of this one may put it there itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddr(pub IpAddr);

/// The authenticated user of a session. Put it into the extensions of a request: a session is bound to the principal of
/// its first request, and requests of others are rejected even if they know the id of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal(pub Arc<str>);

/// The number of the connection that a request arrived on, unique in this process, in its extensions. Requests without
/// a session and a [`Principal`] take turns by it. Known for requests of `protomcp_listener`; with another server,
/// insert it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Connection(pub u64);
