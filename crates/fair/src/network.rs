//! The machine that an address belongs to.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// An IPv4 address, or the /64 network of an IPv6 address: one machine usually has all addresses of such a network. An IPv4
/// address that is mapped into IPv6 is the IPv4 address.
///
/// ```
/// use protomcp_fair::Network;
///
/// let network = |address: &str| Network::of(address.parse().unwrap());
/// assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:1"));
/// assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
/// assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Network(IpAddr);

/// The network part of an IPv6 address.
const PREFIX: u128 = !0 << 64;

impl Network {
    /// The network of an address.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(address.into()),
            IpAddr::V6(address) => Self(Ipv6Addr::from_bits(address.to_bits() & PREFIX).into()),
        }
    }

    /// The first address of the network.
    #[must_use]
    pub fn address(self) -> IpAddr {
        self.0
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_machine_are_one_network() {
        let network = |address: &str| Network::of(address.parse().unwrap());
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:1"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
        assert_eq!(format!("{:?}", network("2001:db8::1")), "2001:db8::");
    }
}
