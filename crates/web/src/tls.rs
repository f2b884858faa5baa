//! The certificates that a client trusts, and its own.

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};

use http::Uri;
use hyper_util::rt::TokioIo;
use protomcp_types::without_byte_order_mark;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use crate::connector::{Alpn, BoxError, Io, Plain};

/// The TLS of a client: TLS 1.2 and 1.3. Cloning is cheap.
///
/// By default the certificate of a server is checked against those that the system trusts, or against the file that
/// `SSL_CERT_FILE` names. For anything else convert a [`ClientConfig`] into this; its ALPN protocols are replaced.
#[derive(Clone)]
pub struct Tls {
    source: Source,
    made: Arc<OnceLock<Arc<ClientConfig>>>,
}

#[derive(Clone)]
enum Source {
    Parts(Parts),
    Config(Arc<ClientConfig>),
    Made(Arc<dyn Fn() -> io::Result<ClientConfig> + Send + Sync>),
}

#[derive(Clone, Default)]
struct Parts {
    /// Certificates of authorities that are trusted in addition to the system's.
    roots: Vec<CertificateDer<'static>>,
    identity: Option<Arc<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>>,
}

/// Certificates or a key that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The text is not PEM, or has no certificate.
    #[error("there is no certificate in the PEM text")]
    NoCertificate,
    /// The text is not PEM, or has no private key.
    #[error("there is no private key in the PEM text")]
    NoKey,
    /// The configuration was made elsewhere.
    #[error("a configuration that was made elsewhere cannot be changed")]
    Fixed,
}

impl Default for Tls {
    fn default() -> Self {
        Self { source: Source::Parts(Parts::default()), made: Arc::default() }
    }
}

impl Tls {
    /// The configuration that this function makes for the first connection, where it may read files; its ALPN protocols are
    /// replaced.
    #[must_use]
    pub fn made_by(make: impl Fn() -> io::Result<ClientConfig> + Send + Sync + 'static) -> Self {
        Self { source: Source::Made(Arc::new(make)), made: Arc::default() }
    }

    /// Trusts these authorities too: one or more certificates in PEM form.
    ///
    /// # Errors
    /// If there is no certificate.
    pub fn trust_pem(mut self, pem: &[u8]) -> Result<Self, TlsError> {
        let certificates = certificates(pem)?;
        self.parts()?.roots.extend(certificates);
        Ok(self)
    }

    /// Presents a certificate to servers that ask for one: its chain and its private key in PEM form.
    ///
    /// # Errors
    /// If the certificate or the key is missing.
    pub fn with_identity_pem(mut self, certificate: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let chain = certificates(certificate)?;
        let key = PrivateKeyDer::from_pem_slice(without_byte_order_mark(key)).map_err(|_| TlsError::NoKey)?;
        self.parts()?.identity = Some(Arc::new((chain, key)));
        Ok(self)
    }

    /// The same without the certificate of the client, which is for one server. One in a configuration that was made elsewhere
    /// stays.
    #[must_use]
    pub fn without_identity(&self) -> Self {
        match &self.source {
            Source::Parts(parts) if parts.identity.is_some() => {
                let parts = Parts { roots: parts.roots.clone(), identity: None };
                Self { source: Source::Parts(parts), made: Arc::default() }
            }
            _ => self.clone(),
        }
    }

    fn parts(&mut self) -> Result<&mut Parts, TlsError> {
        self.made = Arc::default();
        match &mut self.source {
            Source::Parts(parts) => Ok(parts),
            Source::Config(_) | Source::Made(_) => Err(TlsError::Fixed),
        }
    }

    /// The configuration of handshakes that are not for HTTP: it offers no protocols.
    ///
    /// # Errors
    /// If the certificates that the system trusts cannot be read, or the certificate and the key do not match.
    pub async fn client_config(&self) -> io::Result<Arc<ClientConfig>> {
        let mut config = ClientConfig::clone(&*self.config().await?);
        config.alpn_protocols.clear();
        Ok(Arc::new(config))
    }

    /// Shakes hands over a connection, and returns true if it will speak HTTP/2.
    pub(crate) async fn connect(&self, target: &Uri, io: Box<dyn Io>, alpn: Alpn) -> Result<(Plain, bool), BoxError> {
        let host = target.host().unwrap_or_default();
        let name = ServerName::try_from(host.trim_start_matches('[').trim_end_matches(']').to_owned())?;
        let config = self.config().await?;
        let connector = TlsConnector::from(config);
        let handshake = match alpn {
            Alpn::Both => connector.connect(name, io),
            Alpn::Http1 => connector.with_alpn(vec![b"http/1.1".to_vec()]).connect(name, io),
        };
        let stream = handshake.await?;
        let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok((TokioIo::new(Box::new(stream)), is_h2))
    }

    async fn config(&self) -> io::Result<Arc<ClientConfig>> {
        if let Some(made) = self.made.get() {
            return Ok(Arc::clone(made));
        }
        let source = self.source.clone();
        // On a blocking task, because it reads a long file.
        let config = tokio::task::spawn_blocking(move || make(&source)).await.map_err(io::Error::other)??;
        Ok(Arc::clone(self.made.get_or_init(|| config)))
    }
}

impl From<Arc<ClientConfig>> for Tls {
    fn from(config: Arc<ClientConfig>) -> Self {
        Self { source: Source::Config(config), made: Arc::default() }
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(without_byte_order_mark(pem)).collect();
    read.ok().filter(|certificates| !certificates.is_empty()).ok_or(TlsError::NoCertificate)
}

fn make(source: &Source) -> io::Result<Arc<ClientConfig>> {
    let mut config = match source {
        Source::Parts(parts) => from_parts(parts)?,
        Source::Config(config) => ClientConfig::clone(config),
        Source::Made(make) => make()?,
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn from_parts(parts: &Parts) -> io::Result<ClientConfig> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (taken, _) = roots.add_parsable_certificates(found.certs);
    if taken == 0 && parts.roots.is_empty() {
        let why = found.errors.first().map_or_else(String::new, |error| format!(": {error}"));
        return Err(io::Error::other(format!("this system trusts no certificates{why}")));
    }
    for root in &parts.roots {
        roots.add(root.clone()).map_err(io::Error::other)?;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots);
    match parts.identity.as_deref() {
        Some((chain, key)) => builder.with_client_auth_cert(chain.clone(), key.clone_key()).map_err(io::Error::other),
        None => Ok(builder.with_no_client_auth()),
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Tls");
        if let Source::Parts(parts) = &self.source {
            shown.field("roots", &parts.roots.len()).field("has_identity", &parts.identity.is_some());
        }
        shown.finish_non_exhaustive()
    }
}
