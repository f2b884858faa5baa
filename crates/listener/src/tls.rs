//! The certificate of a listener, replaced when its files change.
//!
//! TLS 1.2 and 1.3, HTTP/2 and HTTP/1.1 by ALPN (RFC 7301). New connections get a renewed certificate; open connections
//! continue. A certificate that cannot be used is logged and changes nothing.

mod certificate_files;
mod current;
mod error;
mod freshness;
mod pair;
mod validity;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring;

use self::certificate_files::CertificateFiles;
use self::current::CurrentCertificate;
pub use self::error::TlsError;

/// The interval at which the files are checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A certificate with its key, for [`ListenerConfig::tls`](crate::ListenerConfig::tls). Cloning is cheap.
///
/// For other features of TLS, such as client certificates or one certificate for each name, convert a [`ServerConfig`]
/// into this; list the protocols `h2` and `http/1.1` in its ALPN.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
    /// The certificate, unless the configuration was made elsewhere.
    current: Option<Arc<CurrentCertificate>>,
    files: Option<Arc<CertificateFiles>>,
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
        let current = Arc::clone(files.current());
        Ok(Self { config: config(Arc::clone(&current)), current: Some(current), files: Some(files) })
    }

    /// Uses a certificate chain and its private key in PEM form. They are never replaced.
    ///
    /// # Errors
    /// When they are not a matching pair.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let pair = pair::read(certificate, key, "the certificate", "the key")?;
        let current = Arc::new(CurrentCertificate::new(pair));
        Ok(Self { config: config(Arc::clone(&current)), current: Some(current), files: None })
    }

    /// The same certificate for connections that are not HTTP: TLS 1.3 alone, and no choice of protocols by ALPN. A
    /// configuration that was made elsewhere stays as it is.
    #[must_use]
    pub fn for_streams(mut self) -> Self {
        if let Some(current) = &self.current {
            self.config = stream_config(Arc::clone(current));
        }
        self
    }

    /// The same certificate with TLS 1.3 alone. A configuration that was made elsewhere stays as it is.
    #[must_use]
    pub fn without_tls12(mut self) -> Self {
        if let Some(current) = &self.current {
            let mut config = ServerConfig::clone(&stream_config(Arc::clone(current)));
            config.alpn_protocols.clone_from(&self.config.alpn_protocols);
            self.config = Arc::new(config);
        }
        self
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
        Self { config, current: None, files: None }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}

/// The validity of a certificate, in seconds since 1970.
#[cfg(fuzzing)]
pub(crate) fn validity_of(certificate: &[u8]) -> Option<(u64, u64)> {
    validity::Validity::of(certificate).map(|validity| (validity.from, validity.until))
}

fn config(current: Arc<CurrentCertificate>) -> Arc<ServerConfig> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has what TLS 1.2 and 1.3 need")
        .with_no_client_auth()
        .with_cert_resolver(current);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}

fn stream_config(current: Arc<CurrentCertificate>) -> Arc<ServerConfig> {
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("ring has what TLS 1.3 needs")
        .with_no_client_auth()
        .with_cert_resolver(current);
    Arc::new(config)
}
