//! Pinned keys: connections are refused unless the server's certificate has one of the expected public keys.
//!
//! A pin is the SHA-256 of the `SubjectPublicKeyInfo` (RFC 7469, section 2.4). The certificate is verified as usual
//! before.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};
use sha2::{Digest, Sha256};

/// The digest of a public key that is expected of a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pin([u8; 32]);

/// The text is not the base64 form of 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a pin is the base64 form of a SHA-256 digest")]
pub struct PinError;

impl Pin {
    /// The pin of a certificate. `None` if the certificate is malformed.
    #[must_use]
    pub fn of_certificate(certificate: &[u8]) -> Option<Self> {
        public_key_info(certificate).map(|info| Self(Sha256::digest(info).into()))
    }
}

impl FromStr for Pin {
    type Err = PinError;

    fn from_str(text: &str) -> Result<Self, PinError> {
        let digest = STANDARD.decode(text.strip_prefix("sha256/").unwrap_or(text)).map_err(|_| PinError)?;
        digest.try_into().map(Self).map_err(|_| PinError)
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

/// Verifies a certificate as usual, then its key.
#[derive(Debug)]
pub(crate) struct PinnedVerifier {
    pub(crate) inner: Arc<dyn ServerCertVerifier>,
    pub(crate) pins: Vec<Pin>,
}

impl ServerCertVerifier for PinnedVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)?;
        match Pin::of_certificate(end_entity) {
            Some(pin) if self.pins.contains(&pin) => Ok(verified),
            Some(pin) => Err(Error::General(format!("the key of the registry, sha256/{pin}, is not a pinned one"))),
            None => Err(Error::General("the certificate of the registry is malformed".to_owned())),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// The `SubjectPublicKeyInfo` of a certificate (RFC 5280, section 4.1), with its tag and length.
fn public_key_info(certificate: &[u8]) -> Option<&[u8]> {
    let (_, certificate, _) = element(certificate)?;
    let (_, mut rest, _) = element(certificate)?;
    // `version` is optional, and has its own tag.
    let (tag, _, behind) = element(rest)?;
    if tag == 0xa0 {
        rest = behind;
    }
    // `serialNumber`, `signature`, `issuer`, `validity`, `subject`.
    for _ in 0..5 {
        rest = element(rest)?.2;
    }
    let behind = element(rest)?.2;
    rest.get(..rest.len() - behind.len())
}

/// The first element of DER bytes: its tag, its contents, and the bytes behind it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let mut len = usize::from(first);
    if first >= 0x80 {
        let count = usize::from(first & 0x7f);
        let (digits, behind) = rest.split_at_checked(count).filter(|_| (1..=4).contains(&count))?;
        len = digits.iter().fold(0, |len, digit| len << 8 | usize::from(*digit));
        rest = behind;
    }
    let (contents, behind) = rest.split_at_checked(len)?;
    Some((tag, contents, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pin_is_the_digest_of_the_key() {
        let made = rcgen::generate_simple_self_signed(["registry.test".to_owned()]).expect("a certificate");
        let pin = Pin::of_certificate(made.cert.der()).expect("it is well-formed");
        let info = rcgen::PublicKeyData::subject_public_key_info(&made.signing_key);
        assert_eq!(pin, Pin(Sha256::digest(info).into()));
        assert_eq!(pin.to_string().parse(), Ok(pin));
        assert_eq!(format!("sha256/{pin}").parse(), Ok(pin));
    }

    #[test]
    fn malformed_certificates_have_no_pin() {
        let made = rcgen::generate_simple_self_signed(["registry.test".to_owned()]).expect("a certificate");
        let der = made.cert.der();
        for len in 0..der.len() {
            let _ = Pin::of_certificate(&der[..len]);
        }
        assert_eq!(Pin::of_certificate(&der[..der.len() - 1]), None);
        assert_eq!(Pin::of_certificate(&[]), None);
        assert!("abc".parse::<Pin>().is_err());
    }
}
