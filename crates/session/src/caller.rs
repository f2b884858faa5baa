//! The callers of requests, and the owners that their requests count for when limits are shared.
//!
//! Queues, sessions, parked calls and bytes are shared by [`Owner`]: a caller who holds little is never refused because
//! another holds much, however many connections or sessions the other opens. Within one owner, conversations take
//! turns.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use crate::client_info::SessionId;

/// Identifies the caller of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CallerKey {
    /// The owner that the request counts for.
    pub owner: Owner,
    /// The conversation that the request is part of.
    pub conversation: Conversation,
}

/// The unit by which limits are shared: requests of one owner count together.
///
/// An address does not identify a user; it only keeps one machine from taking the shares of all others.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    /// An authenticated principal, from the transport.
    Principal(Arc<str>),
    /// A network address; of an IPv6 address, its /64 network. Built by [`Owner::of_address`].
    Address(IpAddr),
    /// A caller of this machine without a network between, such as a client on stdio.
    Local,
}

/// The conversation that a request is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Conversation {
    /// A session, or a connection that is served as one.
    Session(SessionId),
    /// A connection that carries requests without a session, by its number.
    Connection(u64),
}

impl Owner {
    /// The owner of requests from this address. IPv6 addresses of one /64 network are one owner, because one machine
    /// usually has all of them.
    #[must_use]
    pub fn of_address(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::Address(address.into()),
            IpAddr::V6(address) => Self::Address(Ipv6Addr::from_bits(address.to_bits() & NETWORK).into()),
        }
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

/// The network part of an IPv6 address.
const NETWORK: u128 = !0 << 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_machine_are_one_owner() {
        let owner = |address: &str| Owner::of_address(address.parse().unwrap());
        assert_eq!(owner("2001:db8::1"), owner("2001:db8::ffff:1"));
        assert_ne!(owner("2001:db8::1"), owner("2001:db8:0:1::1"));
        assert_eq!(owner("::ffff:192.0.2.1"), owner("192.0.2.1"));
        assert_ne!(owner("192.0.2.1"), owner("192.0.2.2"));
    }
}
