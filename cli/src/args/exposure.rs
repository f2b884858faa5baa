//! The rule for addresses that other machines can reach.

use std::net::SocketAddr;

use crate::exit::Failure;

/// The protections of a listener.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exposure {
    pub(super) authentication: Protection,
    pub(super) encryption: Protection,
}

/// A protection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protection {
    /// The listener has it.
    Given,
    /// The user does without it.
    Waived,
    /// Nothing was said about it.
    Missing,
}

impl Protection {
    /// Given or missing.
    pub(super) fn of(is_given: bool) -> Self {
        if is_given { Self::Given } else { Self::Missing }
    }

    /// One that is missing is waived if there is the flag for that.
    pub(super) fn or_waived(self, is_waived: bool) -> Self {
        if self == Self::Missing && is_waived { Self::Waived } else { self }
    }
}

impl Exposure {
    /// Checks the addresses to listen on. Those that other machines can reach need authentication and encryption, or the
    /// flags that waive them. `ways` are the flags for authentication.
    pub(super) fn permit(self, addresses: &[SocketAddr], ways: &str) -> Result<(), Failure> {
        let Some(refuse) = beyond_this_machine(addresses) else { return Ok(()) };
        if self.authentication == Protection::Missing {
            return refuse(&format!("add {ways}, or --no-auth to disable authentication"));
        }
        if self.encryption == Protection::Missing {
            return refuse(
                "traffic would be unencrypted; add --tls-cert and --tls-key, put a proxy with TLS in front of localhost, \
                 or add --insecure-plaintext",
            );
        }
        Ok(())
    }
}

/// The error for an address that other machines can reach, if there is one.
pub(super) fn beyond_this_machine(addresses: &[SocketAddr]) -> Option<impl Fn(&str) -> Result<(), Failure>> {
    // `::ffff:127.0.0.1` is 127.0.0.1.
    let address = addresses.iter().map(SocketAddr::ip).find(|address| !address.to_canonical().is_loopback())?;
    Some(move |why: &str| Err(Failure::usage(format!("{address} can be reached from other machines: {why}"))))
}
