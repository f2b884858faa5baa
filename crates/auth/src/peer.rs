//! Attributes a request to a machine until its caller is authenticated.

use std::net::IpAddr;

use protomcp_fair::Network;

/// Identifies the machine that a request comes from. Resources that are used before authentication, such as requests to
/// the issuer, are shared between these. All requests without a known address are one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PeerKey(Option<Network>);

impl PeerKey {
    /// The machine at this address. The IPv6 addresses of one /64 network are one machine, because one machine usually
    /// has all of them.
    #[must_use]
    pub fn of_address(address: IpAddr) -> Self {
        Self(Some(Network::of(address)))
    }
}
