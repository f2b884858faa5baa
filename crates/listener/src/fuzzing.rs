//! Access for the fuzzer to private parts; compiled for the fuzzer only.

#![allow(missing_docs)]

/// The validity of a certificate, in seconds since 1970.
#[cfg(feature = "tls")]
pub fn validity_of(certificate: &[u8]) -> Option<(u64, u64)> {
    crate::tls::validity_of(certificate)
}
