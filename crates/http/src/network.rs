//! Networks of addresses, as a configuration names them.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The addresses that share a prefix, such as `10.0.0.0/8`; a single address is a network of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpNetwork {
    address: IpAddr,
    prefix: u8,
}

/// Text that does not name a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected an address or a network, such as 10.0.0.1 or 10.0.0.0/8")]
pub struct InvalidNetwork;

impl IpNetwork {
    /// The addresses that share their first `prefix` bits with this one.
    ///
    /// # Errors
    /// When the address does not have this many bits.
    pub fn new(address: IpAddr, prefix: u8) -> Result<Self, InvalidNetwork> {
        if prefix > bits(address) { Err(InvalidNetwork) } else { Ok(Self { address, prefix }) }
    }

    /// True if an address belongs to the network. An IPv4 address that is mapped into IPv6 counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let host = 32 - u32::from(self.prefix);
                (own.to_bits() ^ other.to_bits()).checked_shr(host).unwrap_or_default() == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let host = 128 - u32::from(self.prefix);
                (own.to_bits() ^ other.to_bits()).checked_shr(host).unwrap_or_default() == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl From<IpAddr> for IpNetwork {
    fn from(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self { address, prefix: bits(address) }
    }
}

impl FromStr for IpNetwork {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| InvalidNetwork)?;
        match prefix {
            Some(prefix) => Self::new(address, prefix.parse().map_err(|_| InvalidNetwork)?),
            None => Ok(address.into()),
        }
    }
}

impl fmt::Display for IpNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_contains_what_shares_its_prefix() {
        for (network, address, expected) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("::ffff:192.0.2.1", "192.0.2.1", true),
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.1.2.3/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/31", "10.0.0.1", true),
            ("10.0.0.0/31", "10.0.0.2", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "2001:db8::1", true),
            ("::/0", "10.0.0.1", false),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
        ] {
            let parsed: IpNetwork = network.parse().unwrap();
            assert_eq!(parsed.contains(address.parse().unwrap()), expected, "{network} {address}");
        }
    }

    #[test]
    fn text_that_names_no_network_is_refused() {
        for text in
            ["", "/8", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0/8", "example.com", "10.0.0.0/-1", "1.2.3.4:80"]
        {
            assert_eq!(text.parse::<IpNetwork>(), Err(InvalidNetwork), "{text}");
        }
        assert_eq!("10.0.0.0/8".parse::<IpNetwork>().unwrap().to_string(), "10.0.0.0/8");
    }
}
