//! The unit by which limits are shared.

use std::net::IpAddr;
use std::sync::Arc;

use crate::network::Network;

/// The unit by which limits are shared: requests of one owner count together.
///
/// An address does not identify a user; it only keeps one machine from taking the shares of all others.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    /// An authenticated principal, from the transport.
    Principal(Arc<str>),
    /// The machine at a network address.
    Address(Network),
    /// A caller of this machine without a network between, such as a client on stdio.
    Local,
}

impl Owner {
    /// The owner of requests from this address.
    #[must_use]
    pub fn of_address(address: IpAddr) -> Self {
        Self::Address(Network::of(address))
    }

    /// The owner of the requests of a principal, or else of an address.
    #[must_use]
    pub fn of(principal: Option<Arc<str>>, address: Option<IpAddr>) -> Self {
        match (principal, address) {
            (Some(principal), _) => Self::Principal(principal),
            (None, Some(address)) => Self::of_address(address),
            (None, None) => Self::Local,
        }
    }
}
