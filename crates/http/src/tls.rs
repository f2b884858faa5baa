//! HTTPS: which certificate the listener shows, also when another one has taken its place on disk.
//!
//! TLS 1.2 and 1.3, HTTP/2 and HTTP/1.1 by ALPN (RFC 7301). A certificate that is renewed is shown to whoever connects
//! from then on; connections that are open go on. What does not work is reported and changes nothing.

mod error;
mod files;
mod freshness;
mod pair;
mod shown;
mod validity;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring;

pub use self::error::TlsError;
use self::files::Files;
use self::shown::Shown;

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// A certificate with its key, for [`ListenerConfig::tls`](crate::ListenerConfig::tls). Cloning is cheap.
///
/// For anything else that TLS offers, such as certificates of clients or one certificate for each name, make a
/// [`ServerConfig`] of your own and turn it into this; the protocols `h2` and `http/1.1` belong into its ALPN then.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
    files: Option<Arc<Files>>,
}

impl Tls {
    /// A certificate, with those that vouch for it behind it, and its private key, from two files in PEM form. A
    /// listener looks at the files each second; when they have changed, and then not again for a second, it reads them
    /// anew.
    ///
    /// # Errors
    /// When the files cannot be read, or hold no pair. A certificate out of its time is shown, with a warning in the
    /// log.
    pub fn from_files(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Result<Self, TlsError> {
        let files = Arc::new(Files::open(certificate.into(), key.into())?);
        Ok(Self { config: config(Arc::clone(files.shown())), files: Some(files) })
    }

    /// As [`Tls::from_files`], with what is in the files. It stays as it is.
    ///
    /// # Errors
    /// When they are no pair.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let pair = pair::read(certificate, key, "the certificate", "the key")?;
        Ok(Self { config: config(Arc::new(Shown::new(pair))), files: None })
    }

    /// Reads the files again whenever they change. Never ends.
    pub(crate) async fn follow(&self) {
        let Some(files) = &self.files else { return std::future::pending().await };
        loop {
            tokio::time::sleep(LOOK).await;
            let files = Arc::clone(files);
            // A disk may be slow.
            if let Err(error) = tokio::task::spawn_blocking(move || files.look()).await {
                tracing::error!("the certificate cannot be looked at: {error}");
            }
        }
    }

    /// How hands are shaken.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}

impl From<Arc<ServerConfig>> for Tls {
    fn from(config: Arc<ServerConfig>) -> Self {
        Self { config, files: None }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}

/// From when until when a certificate is valid, in seconds since 1970.
#[cfg(fuzzing)]
pub(crate) fn validity_of(certificate: &[u8]) -> Option<(u64, u64)> {
    validity::Validity::of(certificate).map(|validity| (validity.from, validity.until))
}

fn config(shown: Arc<Shown>) -> Arc<ServerConfig> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has what TLS 1.2 and 1.3 need")
        .with_no_client_auth()
        .with_cert_resolver(shown);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}
