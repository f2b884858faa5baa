//! Doors for the fuzzer into what is private; only there when it compiles.

#![allow(missing_docs)]

/// From when until when a certificate is valid, in seconds since 1970.
#[cfg(feature = "tls")]
pub fn validity_of(certificate: &[u8]) -> Option<(u64, u64)> {
    crate::tls::validity_of(certificate)
}
