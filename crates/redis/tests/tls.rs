//! TLS. The environment of a process names its authorities, so another process connects: this test program again.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protomcp_redis::{RedisStores, StoreUrl};
use protomcp_server::LeaseStore;
use protomcp_testing::in_time;
use rcgen::{CertificateParams, DnType, KeyPair};

use crate::server::{RedisServer, keys, own_address};

/// The variable with the URL for the other process.
const URL: &str = "TLS_TEST_STORE";

/// A certificate that has signed itself, and its key, as files.
struct Certificate {
    certificate: PathBuf,
    key: PathBuf,
}

impl Certificate {
    /// Writes the certificate of a host.
    fn of(host: &str, folder: &Path) -> Self {
        let key = KeyPair::generate().expect("a key can be made");
        let mut params = CertificateParams::new([host.to_owned()]).expect("it is the name of a host");
        // Issuers are found by their names.
        params.distinguished_name.push(DnType::CommonName, host);
        let certificate = params.self_signed(&key).expect("a certificate can be signed");
        let write = |file: &str, label: &str, der: &[u8]| {
            let lines: String = der.chunks(48).map(|line| STANDARD.encode(line) + "\n").collect();
            let path = folder.join(format!("{host}-{file}.pem"));
            let text = format!("-----BEGIN {label}-----\n{lines}-----END {label}-----\n");
            fs::write(&path, text).expect("the folder is writable");
            path
        };
        let certificate = write("certificate", "CERTIFICATE", certificate.der());
        Self { certificate, key: write("key", "PRIVATE KEY", &key.serialize_der()) }
    }

    fn server(&self) -> RedisServer {
        RedisServer::with_tls(&self.certificate, &self.key)
    }
}

/// The output of another process that connects to a server and trusts this certificate, if it has connected, or else as
/// an error.
fn connect(server: &RedisServer, trusted: &Certificate) -> Result<String, String> {
    let mut command = Command::new(env::current_exe().expect("a test is a program"));
    command.args(["--exact", "tls::a_trusted_server_answers", "--ignored"]);
    command.env(URL, format!("rediss://{}", server.address())).env("SSL_CERT_FILE", &trusted.certificate);
    let output = command.env_remove("SSL_CERT_DIR").output().expect("a test is a program");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    if output.status.success() { Ok(text) } else { Err(text) }
}

#[test]
fn a_certificate_is_trusted_by_its_file() {
    let folder = tempfile::tempdir().expect("a folder for certificates");
    let certificate = Certificate::of(&own_address(), folder.path());
    let server = certificate.server();
    let connected = connect(&server, &certificate);
    assert!(connected.as_ref().is_ok_and(|text| text.contains("1 passed")), "{connected:?}");
}

#[test]
fn a_wrong_certificate_is_refused_with_its_reason() {
    let folder = tempfile::tempdir().expect("a folder for certificates");
    let certificate = Certificate::of(&own_address(), folder.path());
    let other = Certificate::of("other.example", folder.path());
    for (server, trusted, reason) in
        [(certificate.server(), &other, "UnknownIssuer"), (other.server(), &other, "not valid for name")]
    {
        let error = connect(&server, trusted).expect_err("the certificate is wrong");
        assert!(error.contains("cannot be reached") && error.contains(reason), "{reason}: {error}");
        assert!(error.contains("SSL_CERT_FILE"), "{error}");
    }
}

#[tokio::test]
#[ignore = "the other tests of TLS run it, with the URL of a server and authorities"]
async fn a_trusted_server_answers() {
    // Without a server, it was started on purpose with all ignored tests.
    let Ok(url) = env::var(URL) else { return };
    let url: StoreUrl = url.parse().expect("it is the URL of a store");
    let connected = in_time(RedisStores::connect(&url, keys("secret"))).await.expect("it has a time");
    let stores = connected.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(stores.leases().live().await, Ok(Vec::new()));
}
