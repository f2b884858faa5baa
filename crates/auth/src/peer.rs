//! Attributes a request to a machine until its caller is authenticated.

use std::net::{IpAddr, Ipv6Addr};

/// Identifies the machine that a request comes from. Resources that are used before authentication, such as requests to
/// the issuer, are shared between these. All requests without a known address are one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PeerKey(Option<IpAddr>);

impl PeerKey {
    /// The machine at this address. The IPv6 addresses of one /64 network are one machine, because one machine usually
    /// has all of them.
    #[must_use]
    pub fn of_address(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(Some(address.into())),
            IpAddr::V6(address) => Self(Some(Ipv6Addr::from_bits(address.to_bits() & NETWORK).into())),
        }
    }
}

/// The network part of an IPv6 address.
const NETWORK: u128 = !0 << 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_are_one_machine() {
        let peer = |address: &str| PeerKey::of_address(address.parse().unwrap());
        assert_eq!(peer("2001:db8::1"), peer("2001:db8::ffff:1"));
        assert_ne!(peer("2001:db8::1"), peer("2001:db8:0:1::1"));
        assert_eq!(peer("::ffff:192.0.2.1"), peer("192.0.2.1"));
        assert_ne!(peer("192.0.2.1"), peer("192.0.2.2"));
        assert_ne!(peer("192.0.2.1"), PeerKey::default());
    }
}
