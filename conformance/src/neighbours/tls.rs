//! HTTPS for a server under attack: its certificate, and clients that trust it.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;

/// A certificate for this machine that only its own clients trust.
#[derive(Debug)]
pub(super) struct Certificate {
    folder: TempDir,
    /// The client configuration that trusts it.
    pub(super) client: Arc<ClientConfig>,
}

impl Certificate {
    pub(super) fn new() -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let folder = TempDir::new().expect("a temporary folder");
        for (name, kind, der) in
            [("cert.pem", "CERTIFICATE", cert.der().as_ref()), ("key.pem", "PRIVATE KEY", &signing_key.serialize_der())]
        {
            let text = format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", STANDARD.encode(der));
            fs::write(folder.path().join(name), text).expect("the folder can be written");
        }
        let mut roots = RootCertStore::empty();
        roots.add(cert.der().clone()).expect("the certificate is good");
        let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        Self { folder, client: Arc::new(client) }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}
