//! The certificate that `pmcp` presents to servers.

#[cfg(feature = "trace")]
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use protomcp_http_client::Tls;

use crate::exit::Failure;

/// A certificate with its key.
#[derive(Debug, Default, Args)]
pub(crate) struct ClientCertificate {
    /// Present this certificate to a server at https, protos, grpcs or wss that asks for one: a chain in PEM form
    #[arg(long, value_name = "PEM", requires = "client_key")]
    client_cert: Option<PathBuf>,

    /// Private key of --client-cert, in PEM form without a passphrase
    #[arg(long, value_name = "PEM", requires = "client_cert")]
    client_key: Option<PathBuf>,
}

impl ClientCertificate {
    /// Refuses a certificate that no connection can present. `url`: of the server, if it is at one.
    pub(super) fn check(&self, url: Option<&str>) -> Result<(), Failure> {
        let is_within_tls = url.and_then(|url| url.split_once("://")).is_some_and(|(scheme, _)| {
            ["https", "protos", "grpcs", "wss"].iter().any(|tls| scheme.eq_ignore_ascii_case(tls))
        });
        if self.client_cert.is_some() && !is_within_tls {
            return Err(Failure::usage("--client-cert is for a server at https, protos, grpcs or wss"));
        }
        Ok(())
    }

    /// True if one is given.
    #[cfg(feature = "trace")]
    pub(super) fn is_given(&self) -> bool {
        self.client_cert.is_some()
    }

    /// The same flags as words.
    #[cfg(feature = "trace")]
    pub(super) fn words(&self) -> impl Iterator<Item = OsString> {
        let flags = [("--client-cert", &self.client_cert), ("--client-key", &self.client_key)];
        flags.into_iter().filter_map(|(flag, path)| Some([flag.into(), path.clone()?.into()])).flatten()
    }

    /// The TLS of connections to the server.
    pub(crate) fn tls(&self) -> Result<Tls, Failure> {
        let (Some(certificate), Some(key)) = (&self.client_cert, &self.client_key) else { return Ok(Tls::default()) };
        let (chain, secret) = (read("--client-cert", certificate)?, read("--client-key", key)?);
        let tls = Tls::default().with_identity_pem(&chain, &secret);
        tls.map_err(|error| Failure::usage(format!("invalid --client-cert or --client-key: {error}")))
    }
}

fn read(flag: &str, path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::usage(format!("invalid {flag}: cannot read {}: {error}", path.display())))
}
