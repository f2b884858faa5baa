//! Flags about TLS: over HTTP, gRPC, WebSocket and TCP.

use std::fmt::Display;
use std::path::PathBuf;

use clap::Args;
use protomcp_http::Tls;

use crate::exit::Failure;

#[derive(Debug, Args)]
pub(super) struct TlsFlags {
    /// Serve TLS with the certificate chain in this PEM file; reloaded when it changes
    #[arg(long, value_name = "PEM")]
    tls_cert: Option<PathBuf>,

    /// Private key of --tls-cert
    #[arg(long, value_name = "PEM")]
    tls_key: Option<PathBuf>,

    /// Ask clients for a certificate that an authority in this PEM file has signed; over tcp it takes the place of a token
    #[arg(long, value_name = "PEM")]
    tls_client_ca: Option<PathBuf>,

    /// Accept only client certificates with this alternative name, such as agent.example.com; may be repeated
    #[arg(long, value_name = "NAME")]
    tls_client_name: Vec<String>,
}

/// The files of a certificate and its key.
#[derive(Debug)]
pub(crate) struct TlsFiles {
    certificate: PathBuf,
    key: PathBuf,
    clients: Option<Clients>,
}

/// The clients that may connect.
#[derive(Debug)]
struct Clients {
    authority: PathBuf,
    names: Vec<String>,
}

impl TlsFlags {
    /// Checks the flags.
    pub(super) fn files(self) -> Result<Option<TlsFiles>, Failure> {
        let names = self.tls_client_name;
        let clients = match self.tls_client_ca {
            Some(authority) => Some(Clients { authority, names }),
            None if names.is_empty() => None,
            None => return Err(Failure::usage("--tls-client-name needs --tls-client-ca: the file of the authority")),
        };
        match (self.tls_cert, self.tls_key) {
            (Some(certificate), Some(key)) => Ok(Some(TlsFiles { certificate, key, clients })),
            (None, None) if clients.is_some() => {
                Err(Failure::usage("--tls-client-ca needs --tls-cert and --tls-key: the certificate of the server"))
            }
            (None, None) => Ok(None),
            (Some(_), None) => Err(Failure::usage("--tls-cert needs --tls-key: the file of its private key")),
            (None, Some(_)) => Err(Failure::usage("--tls-key needs --tls-cert: the file of its certificate")),
        }
    }
}

impl TlsFiles {
    /// Reads the files. Warnings about the certificate are logged.
    pub(crate) fn read(&self) -> Result<Tls, Failure> {
        let tls = Tls::from_files(&self.certificate, &self.key)
            .map_err(|error| Failure::usage(format!("invalid --tls-cert or --tls-key: {error}")))?;
        let Some(Clients { authority, names }) = &self.clients else { return Ok(tls) };
        let invalid = |error: &dyn Display| Failure::usage(format!("invalid --tls-client-ca: {error}"));
        let place = authority.display().to_string();
        let pem = std::fs::read(authority).map_err(|error| invalid(&format!("{place} cannot be read: {error}")))?;
        tls.require_clients(&pem, &place, names.clone()).map_err(|error| invalid(&error))
    }

    /// True if clients authenticate by certificates.
    pub(crate) fn authenticates(&self) -> bool {
        self.clients.is_some()
    }
}
