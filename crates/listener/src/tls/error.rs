//! Errors of certificates and keys.

use std::io;
use std::path::PathBuf;

/// A certificate and a key that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{} cannot be read: {error}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        #[source]
        error: io::Error,
    },
    /// The text does not contain a certificate.
    #[error("{place} holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)")]
    NoCertificate {
        /// The file, or a description of the text.
        place: String,
    },
    /// The text does not contain a key.
    #[error("{place} holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)")]
    NoKey {
        /// The file, or a description of the text.
        place: String,
    },
    /// The key needs a passphrase.
    #[error("{place} holds a private key that is encrypted; decrypt it first, with `openssl pkey` for example")]
    EncryptedKey {
        /// The file, or a description of the text.
        place: String,
    },
    /// The text begins like PEM and is malformed.
    #[error("{place} is not valid PEM: {why}")]
    Damaged {
        /// The file, or a description of the text.
        place: String,
        /// A description of the error.
        why: String,
    },
    /// TLS cannot use the certificate or key.
    #[error("{place} cannot be used: {error}")]
    Unusable {
        /// The file, or a description of the text.
        place: String,
        /// The error of rustls.
        #[source]
        error: rustls::Error,
    },
    /// The configuration was made elsewhere.
    #[error("a configuration that was made elsewhere cannot be changed")]
    Fixed,
    /// The certificate was issued for another key.
    #[error("{key} does not match {certificate}: the certificate is for another key")]
    Mismatch {
        /// The file of the certificate, or a description of its text.
        certificate: String,
        /// The file of the key, or a description of its text.
        key: String,
    },
}
