//! Why there is no HTTPS.

use std::io;
use std::path::PathBuf;

/// Why a certificate and a key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file is not there, or not for us.
    #[error("{} cannot be read: {error}", file.display())]
    Unreadable {
        /// Which.
        file: PathBuf,
        /// Why not.
        #[source]
        error: io::Error,
    },
    /// There is text, but no certificate in it.
    #[error("{place} holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)")]
    NoCertificate {
        /// Where it was looked for.
        place: String,
    },
    /// There is text, but no key in it.
    #[error("{place} holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)")]
    NoKey {
        /// Where it was looked for.
        place: String,
    },
    /// The key wants a passphrase that nobody can be asked for.
    #[error("{place} holds a private key that is encrypted; take the passphrase away, with openssl pkey for example")]
    EncryptedKey {
        /// Where it is.
        place: String,
    },
    /// It begins like PEM and does not go on like it.
    #[error("{place} is no PEM: {why}")]
    Damaged {
        /// Where it is.
        place: String,
        /// What is wrong, for a person.
        why: String,
    },
    /// What is in it cannot be used for TLS.
    #[error("{place} cannot be used: {error}")]
    Unusable {
        /// Where it is.
        place: String,
        /// Why not.
        #[source]
        error: rustls::Error,
    },
    /// The certificate is for another key.
    #[error("{key} does not match {certificate}: the certificate is for another key")]
    Mismatch {
        /// Where the certificate is.
        certificate: String,
        /// Where the key is.
        key: String,
    },
}
