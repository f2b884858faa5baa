//! A certificate and its key, from PEM (RFC 7468).

use std::time::{SystemTime, UNIX_EPOCH};

use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys};

use super::error::TlsError;
use super::validity::Validity;

/// Reads a matching pair. The places name the two texts in errors.
pub(super) fn read(
    certificate: &[u8],
    key: &[u8],
    certificate_place: &str,
    key_place: &str,
) -> Result<CertifiedKey, TlsError> {
    let (certificate, key) = (without_mark(certificate), without_mark(key));
    let place = || certificate_place.to_owned();
    let chain: Vec<_> = CertificateDer::pem_slice_iter(certificate)
        .collect::<Result<_, _>>()
        .map_err(|error| TlsError::Damaged { place: place(), why: error.to_string() })?;
    let Some(own) = chain.first() else { return Err(TlsError::NoCertificate { place: place() }) };
    let validity = Validity::of(own);
    let place = || key_place.to_owned();
    let private = PrivateKeyDer::from_pem_slice(key).map_err(|error| match error {
        pem::Error::NoItemsFound if is_encrypted(key) => TlsError::EncryptedKey { place: place() },
        pem::Error::NoItemsFound => TlsError::NoKey { place: place() },
        error => TlsError::Damaged { place: place(), why: error.to_string() },
    })?;
    let provider = ring::default_provider();
    let private = provider
        .key_provider
        .load_private_key(private)
        .map_err(|error| TlsError::Unusable { place: place(), error })?;
    let pair = CertifiedKey::new(chain, private);
    match pair.keys_match() {
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => {}
        Err(Error::InconsistentKeys(_)) => {
            return Err(TlsError::Mismatch { certificate: certificate_place.to_owned(), key: place() });
        }
        Err(error) => return Err(TlsError::Unusable { place: certificate_place.to_owned(), error }),
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    if let Some(why) = validity.and_then(|validity| validity.error_at(now)) {
        tracing::warn!("{certificate_place}: {why}; clients will refuse it");
    }
    Ok(pair)
}

/// A text without a byte order mark at its beginning, which editors on Windows write.
pub(super) fn without_mark(pem: &[u8]) -> &[u8] {
    pem.strip_prefix("\u{feff}".as_bytes()).unwrap_or(pem)
}

/// Recognises an encrypted key, in PKCS #8 or the older form.
fn is_encrypted(key: &[u8]) -> bool {
    let text = String::from_utf8_lossy(key);
    text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED")
}
