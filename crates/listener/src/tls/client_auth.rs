//! Certificates of clients: the authority that has signed them, and the names that are allowed.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};

use super::alternative_names;
use super::error::TlsError;
use super::pair::without_mark;
use crate::client_name::ClientName;

/// The clients that may connect.
#[derive(Clone)]
pub(super) struct ClientAuth {
    by_authority: Arc<dyn ClientCertVerifier>,
    /// Empty: every name.
    names: Arc<[String]>,
}

impl ClientAuth {
    pub(super) fn new(authority: &[u8], place: &str, names: Vec<String>) -> Result<Self, TlsError> {
        let place = || place.to_owned();
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(without_mark(authority)) {
            let certificate =
                certificate.map_err(|error| TlsError::Damaged { place: place(), why: error.to_string() })?;
            roots.add(certificate).map_err(|error| TlsError::Unusable { place: place(), error })?;
        }
        if roots.is_empty() {
            return Err(TlsError::NoCertificate { place: place() });
        }
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        let by_authority = verifier.map_err(|error| TlsError::Damaged { place: place(), why: error.to_string() })?;
        Ok(Self { by_authority, names: names.into() })
    }

    /// The name of the client with this certificate; `None`: it has no name, or none that is allowed.
    pub(super) fn name(&self, certificate: &[u8]) -> Option<ClientName> {
        let mut names = alternative_names::of(certificate).into_iter();
        let is_allowed = |name: &&str| self.names.is_empty() || self.names.iter().any(|allowed| allowed == name);
        names.find(is_allowed).map(|name| ClientName(name.into()))
    }
}

impl ClientCertVerifier for ClientAuth {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.by_authority.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        own: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.by_authority.verify_client_cert(own, chain, now)?;
        match self.name(own) {
            Some(_) => Ok(verified),
            None => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.by_authority.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.by_authority.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.by_authority.supported_verify_schemes()
    }
}

impl fmt::Debug for ClientAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientAuth").field("names", &self.names).finish_non_exhaustive()
    }
}
