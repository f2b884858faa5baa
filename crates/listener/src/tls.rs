//! The certificate of a listener, replaced when its files change.
//!
//! TLS 1.2 and 1.3, HTTP/2 and HTTP/1.1 by ALPN (RFC 7301). New connections get a renewed certificate; open connections
//! continue. A certificate that cannot be used is logged and changes nothing.

mod alternative_names;
mod certificate_files;
mod client_auth;
mod current;
mod der;
mod error;
mod freshness;
mod pair;
mod validity;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::version::{TLS12, TLS13};
use rustls::{ProtocolVersion, ServerConfig, ServerConnection, SupportedProtocolVersion};

use self::certificate_files::CertificateFiles;
use self::client_auth::ClientAuth;
use self::current::CurrentCertificate;
pub use self::error::TlsError;
use crate::client_name::ClientName;
use crate::connection_info::TlsVersion;

/// TLS 1.3.
static NEWEST: &[&SupportedProtocolVersion] = &[&TLS13];

/// TLS 1.2 and 1.3.
static USUAL: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];

/// The interval at which the files are checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A certificate with its key, for [`ListenerConfig::tls`](crate::ListenerConfig::tls). Cloning is cheap.
///
/// For other features of TLS, such as one certificate for each name, convert a [`ServerConfig`]
/// into this; list the protocols `h2` and `http/1.1` in its ALPN.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
    /// The parts of the configuration, unless it was made elsewhere.
    parts: Option<Parts>,
    files: Option<Arc<CertificateFiles>>,
}

/// A client without a name that is allowed, although it has completed the handshake.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unnamed;

#[derive(Clone)]
struct Parts {
    current: Arc<CurrentCertificate>,
    clients: Option<ClientAuth>,
    versions: &'static [&'static SupportedProtocolVersion],
    /// The protocols of ALPN.
    protocols: &'static [&'static [u8]],
}

impl Tls {
    /// Reads a certificate chain and its private key from two PEM files. A listener checks the files each second, and
    /// reads them again when they have changed and then stayed the same for a second.
    ///
    /// # Errors
    /// When the files cannot be read, or do not hold a matching pair. An expired certificate is used, with a warning in
    /// the log.
    pub fn from_files(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Result<Self, TlsError> {
        let files = Arc::new(CertificateFiles::open(certificate.into(), key.into())?);
        let parts = Parts::new(Arc::clone(files.current()));
        Ok(Self { files: Some(files), ..Self::of(parts) })
    }

    /// Uses a certificate chain and its private key in PEM form. They are never replaced.
    ///
    /// # Errors
    /// When they are not a matching pair.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let pair = pair::read(certificate, key, "the certificate", "the key")?;
        Ok(Self::of(Parts::new(Arc::new(CurrentCertificate::new(pair)))))
    }

    /// The same certificate for connections that are not HTTP: TLS 1.3 alone, and no choice of protocols by ALPN. A
    /// configuration that was made elsewhere stays as it is.
    #[must_use]
    pub fn for_streams(self) -> Self {
        self.without_tls12().change(|parts| parts.protocols = &[])
    }

    /// The same certificate with TLS 1.3 alone. A configuration that was made elsewhere stays as it is.
    #[must_use]
    pub fn without_tls12(self) -> Self {
        self.change(|parts| parts.versions = NEWEST)
    }

    /// Asks clients for certificates: one that this authority has signed (one or more certificates in PEM form; `place`
    /// names the text in errors), with one of these alternative names; without names, with any. Other clients do not get
    /// through the handshake. The name becomes the [`ClientName`] of each request.
    ///
    /// # Errors
    /// If there is no certificate of an authority, or the configuration was made elsewhere.
    pub fn require_clients(self, authority: &[u8], place: &str, names: Vec<String>) -> Result<Self, TlsError> {
        let clients = ClientAuth::new(authority, place, names)?;
        if self.parts.is_none() {
            return Err(TlsError::Fixed);
        }
        Ok(self.change(|parts| parts.clients = Some(clients)))
    }

    fn of(parts: Parts) -> Self {
        Self { config: parts.config(), parts: Some(parts), files: None }
    }

    fn change(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        if let Some(parts) = &mut self.parts {
            change(parts);
            self.config = parts.config();
        }
        self
    }

    /// The name of the client at the other end of a connection; `Ok(None)` if clients are not asked for certificates.
    pub(crate) fn client_name(&self, connection: &ServerConnection) -> Result<Option<ClientName>, Unnamed> {
        let Some(clients) = self.parts.as_ref().and_then(|parts| parts.clients.as_ref()) else { return Ok(None) };
        let own = connection.peer_certificates().and_then(<[_]>::first);
        own.and_then(|own| clients.name(own)).map(Some).ok_or(Unnamed)
    }

    /// Reloads the files when they change. Never resolves.
    pub(crate) async fn reload(&self) {
        let Some(files) = &self.files else { return std::future::pending().await };
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            let files = Arc::clone(files);
            // On a blocking thread: a disk may be slow.
            if let Err(error) = tokio::task::spawn_blocking(move || files.reload()).await {
                tracing::error!("cannot stat certificate file: {error}");
            }
        }
    }

    /// The configuration of new handshakes.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}

impl From<Arc<ServerConfig>> for Tls {
    fn from(config: Arc<ServerConfig>) -> Self {
        Self { config, parts: None, files: None }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}

/// The version of a connection whose handshake is complete.
pub(crate) fn version_of(connection: &ServerConnection) -> TlsVersion {
    match connection.protocol_version() {
        Some(ProtocolVersion::TLSv1_3) => TlsVersion::Tls13,
        // There is no other one in rustls.
        _ => TlsVersion::Tls12,
    }
}

/// The validity of a certificate, in seconds since 1970.
#[cfg(fuzzing)]
pub(crate) fn validity_of(certificate: &[u8]) -> Option<(u64, u64)> {
    validity::Validity::of(certificate).map(|validity| (validity.from, validity.until))
}

impl Parts {
    fn new(current: Arc<CurrentCertificate>) -> Self {
        Self { current, clients: None, versions: USUAL, protocols: &[b"h2", b"http/1.1"] }
    }

    fn config(&self) -> Arc<ServerConfig> {
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(self.versions)
            .expect("ring has what TLS 1.2 and 1.3 need");
        let builder = match &self.clients {
            Some(clients) => builder.with_client_cert_verifier(Arc::new(clients.clone())),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::clone(&self.current) as _);
        config.alpn_protocols = self.protocols.iter().map(|name| name.to_vec()).collect();
        Arc::new(config)
    }
}
