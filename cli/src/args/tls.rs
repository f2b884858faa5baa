//! Flags about HTTPS.

use std::path::PathBuf;

use clap::Args;
use protomcp_http::Tls;

use crate::exit::Failure;

#[derive(Debug, Args)]
pub(super) struct TlsFlags {
    /// Serve HTTPS with the certificate chain in this PEM file; reloaded when it changes
    #[arg(long, value_name = "PEM")]
    tls_cert: Option<PathBuf>,

    /// Private key of --tls-cert
    #[arg(long, value_name = "PEM")]
    tls_key: Option<PathBuf>,
}

/// The files of a certificate and its key.
#[derive(Debug)]
pub(crate) struct TlsFiles {
    certificate: PathBuf,
    key: PathBuf,
}

impl TlsFlags {
    /// Checks the flags.
    pub(super) fn files(self) -> Result<Option<TlsFiles>, Failure> {
        match (self.tls_cert, self.tls_key) {
            (Some(certificate), Some(key)) => Ok(Some(TlsFiles { certificate, key })),
            (None, None) => Ok(None),
            (Some(_), None) => Err(Failure::usage("--tls-cert needs --tls-key: the file of its private key")),
            (None, Some(_)) => Err(Failure::usage("--tls-key needs --tls-cert: the file of its certificate")),
        }
    }
}

impl TlsFiles {
    /// Reads the files. Warnings about the certificate are logged.
    pub(crate) fn read(&self) -> Result<Tls, Failure> {
        Tls::from_files(&self.certificate, &self.key)
            .map_err(|error| Failure::usage(format!("invalid --tls-cert or --tls-key: {error}")))
    }
}
