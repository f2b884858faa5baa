//! `pmcp` over HTTPS: third-party clients, certificates that are renewed, and errors.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protomcp_conformance::{Sandbox, Web, eventually, patience, peers};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, date_time_ymd,
};
use serde_json::Value;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"7"}}}"#;

/// A certificate authority for this machine.
struct Authority {
    root: PathBuf,
    certificate: String,
    key: String,
}

/// A folder with the files that `pmcp` is given.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn flags(&self) -> Vec<String> {
        let path = |name| self.path(name).to_string_lossy().into_owned();
        ["--transport", "http", "--tls-cert", &path("cert.pem"), "--tls-key", &path("key.pem")]
            .map(str::to_owned)
            .into()
    }

    /// An authority whose certificate lies in a file of this name.
    fn authority(&self, name: &str, valid_until: i32) -> Authority {
        let pem = |what: &str, der: &[u8]| {
            format!("-----BEGIN {what}-----\n{}\n-----END {what}-----\n", STANDARD.encode(der))
        };
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
        let root = self.path(name);
        fs::write(&root, pem("CERTIFICATE", issuer.der())).expect("the folder can be written");
        let mut params = CertificateParams::new(["localhost".to_owned()]).expect("a name");
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
        params.not_after = date_time_ymd(valid_until, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &issuer).expect("a certificate");
        Authority {
            root,
            certificate: pem("CERTIFICATE", certificate.der()),
            key: pem("PRIVATE KEY", &key.serialize_der()),
        }
    }

    fn put(&self, certificate: &str, key: &str) {
        fs::write(self.path("cert.pem"), certificate).expect("the folder can be written");
        fs::write(self.path("key.pem"), key).expect("the folder can be written");
    }

    fn serve(&self, more: &[&str]) -> Web {
        let flags = self.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).chain(more.iter().copied()).collect();
        Web::start("py/basics.py", &flags)
    }
}

/// Sends an initialize request with curl, which trusts this authority only.
fn curl(web: &Web, root: &Path, more: &[&str]) -> Output {
    Command::new("curl")
        .args([
            "--silent",
            "--show-error",
            "--noproxy",
            "*",
            "--max-time",
            &patience().as_secs().to_string(),
            "--write-out",
            "\n%{http_version} %{http_code}",
        ])
        .args(["-H", "content-type: application/json", "-H", "accept: application/json, text/event-stream"])
        .arg("--cacert")
        .arg(root)
        .args(more)
        .args(["--data", INITIALIZE, &format!("https://localhost:{}/mcp", web.port())])
        .output()
        .expect("curl is installed by scripts/setup")
}

/// Item 95.
#[test]
fn curl_speaks_either_protocol_and_either_version_of_tls() {
    let folder = Folder::new();
    let authority = folder.authority("root.pem", 2100);
    folder.put(&authority.certificate, &authority.key);
    let web = folder.serve(&[]);
    for (flags, version) in [
        (&["--http2"][..], "2 200"),
        (&["--http1.1"], "1.1 200"),
        (&["--tls-max", "1.2"], "2 200"),
        (&["--tlsv1.3"], "2 200"),
    ] {
        let output = curl(&web, &authority.root, flags);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.ends_with(version) && text.contains("\"serverInfo\""), "{flags:?}: {text} {output:?}");
    }
    let output = curl(&web, &authority.root, &["--tls-max", "1.1"]);
    assert!(!output.status.success(), "{output:?}");
}

/// The head of the response to a request of another protocol for this path, within at most this version of TLS.
fn head(web: &Web, root: &Path, newest: &str, path: &str, request: &[&str]) -> String {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--noproxy", "*", "--include", "--tls-max", newest, "--max-time"]);
    curl.arg(patience().as_secs().to_string()).arg("--cacert").arg(root).args(request);
    let output = curl
        .arg(format!("https://localhost:{}{path}", web.port()))
        .output()
        .expect("curl is installed by scripts/setup");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).to_lowercase()
}

/// Shows that this port takes no handshake below TLS 1.3.
pub(crate) fn assert_tls_1_3_alone(port: u16, authority: &Path) {
    let older = Command::new("curl")
        .args(["--silent", "--show-error", "--noproxy", "*", "--tls-max", "1.2", "--max-time"])
        .arg(patience().as_secs().to_string())
        .arg("--cacert")
        .arg(authority)
        .arg(format!("https://localhost:{port}/"))
        .output()
        .expect("curl is installed by scripts/setup");
    let log = String::from_utf8_lossy(&older.stderr);
    assert!(!older.status.success() && log.contains("alert protocol version"), "{log}");
}

/// Clients of Streamable HTTP may be older; `curl_speaks_either_protocol_and_either_version_of_tls` is one.
#[test]
fn grpc_and_websocket_need_tls_1_3_on_the_port_of_http() {
    let folder = Folder::new();
    let authority = folder.authority("root.pem", 2100);
    folder.put(&authority.certificate, &authority.key);
    let web = folder.serve(&["--health"]);
    let (list, reason) = ("/buf.mcp.v1.MCPService/ListTools", "needs tls 1.3");
    let grpc = ["--http2", "-H", "content-type: application/grpc", "-H", "te: trailers", "--data-binary", ""];
    let refused = head(&web, &authority.root, "1.2", list, &grpc);
    assert!(refused.contains("grpc-status: 7") && refused.contains("needs%20tls%201.3"), "{refused}");
    // A request without a message is refused by gRPC itself.
    let served = head(&web, &authority.root, "1.3", list, &grpc);
    assert!(served.contains("grpc-status: ") && !served.contains("grpc-status: 7"), "{served}");
    // With --health, a check has no message of MCP.
    let empty = folder.path("empty");
    fs::write(&empty, [0; 5]).expect("the folder can be written");
    let message = format!("@{}", empty.display());
    let check = [&grpc[..6], &[&message, "--output", "-"]].concat();
    let health = head(&web, &authority.root, "1.2", "/grpc.health.v1.Health/Check", &check);
    assert!(health.contains("grpc-status: 0"), "{health}");
    let key = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==";
    let version = "sec-websocket-version: 13";
    let websocket = ["--http1.1", "-H", "connection: upgrade", "-H", "upgrade: websocket", "-H", key, "-H", version];
    let refused = head(&web, &authority.root, "1.2", "/mcp", &websocket);
    assert!(refused.starts_with("http/1.1 403") && refused.contains(reason), "{refused}");
    // Two versions of WebSocket: within TLS 1.3 the handshake is read, and refused for them.
    let invalid = [&websocket[..], &["-H", "sec-websocket-version: 12"]].concat();
    let served = head(&web, &authority.root, "1.3", "/mcp", &invalid);
    assert!(!served.contains(reason) && !served.starts_with("http/1.1 403"), "{served}");
}

/// Item 95.
#[test]
fn one_byte_connections_delay_no_tls_handshake() {
    let folder = Folder::new();
    let authority = folder.authority("root.pem", 2100);
    folder.put(&authority.certificate, &authority.key);
    let web = folder.serve(&[]);
    // Each of these has 10 s for its handshake, which on a busy machine may be over before curl is served.
    eventually("a handshake while others have begun", || {
        let begun: Vec<TcpStream> = (0..600)
            .map(|_| {
                let mut stream = TcpStream::connect(("127.0.0.1", web.port())).expect("pmcp listens");
                stream.write_all(&[22]).expect("pmcp has accepted it");
                stream
            })
            .collect();
        let output = curl(&web, &authority.root, &[]);
        assert!(output.status.success(), "{output:?}");
        // If these held the slots of handshakes, of which there are 256, curl would have been served after their ends.
        (begun.iter().filter(|stream| is_open(stream)).count() > 256).then_some(())
    });
}

/// True if `pmcp` has neither answered nor closed a connection.
fn is_open(mut stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a socket need not block");
    stream.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

/// Item 95.
#[test]
fn the_official_python_client_works_over_https() {
    let folder = Folder::new();
    let authority = folder.authority("root.pem", 2100);
    folder.put(&authority.certificate, &authority.key);
    let web = folder.serve(&[]);
    for (mode, revision) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        let output = Command::new(peers().join("mcp/bin/python"))
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts/client.py"))
            .args([mode, &format!("https://localhost:{}/mcp", web.port())])
            .env("SSL_CERT_FILE", &authority.root)
            .output()
            .expect("the host starts");
        assert!(output.status.success(), "{mode}: {output:?}");
        let seen: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!((&seen["protocol"], &seen["calls"]["add"]["text"][0]), (&revision.into(), &"3".into()), "{seen}");
    }
}

/// Item 95.
#[test]
fn a_certificate_is_renewed_while_hosts_are_served() {
    let folder = Folder::new();
    let (first, second) = (folder.authority("first.pem", 2100), folder.authority("second.pem", 2100));
    folder.put(&first.certificate, &first.key);
    let web = folder.serve(&[]);
    assert!(curl(&web, &first.root, &[]).status.success());
    assert!(!curl(&web, &second.root, &[]).status.success());
    folder.put(&second.certificate, &first.key);
    web.process().stderr_with("does not match");
    web.process().stderr_with("keeping the previous one");
    assert!(curl(&web, &first.root, &[]).status.success());
    folder.put(&second.certificate, &second.key);
    eventually("the new certificate", || curl(&web, &second.root, &[]).status.success().then_some(()));
    web.process().stderr_with("certificate reloaded");
}

/// Item 95.
#[test]
fn faults_of_a_certificate_are_named() {
    let folder = Folder::new();
    let (authority, other) = (folder.authority("root.pem", 2100), folder.authority("other.pem", 2100));
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let flags = folder.flags();
    let words: Vec<&str> =
        ["run", "basics.py", "--port", "0"].into_iter().chain(flags.iter().map(String::as_str)).collect();
    let refused = |text: &str| {
        let output = sandbox.pmcp(&words).command().output().expect("pmcp starts");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && stderr.contains(text), "{output:?}");
    };
    refused("cert.pem cannot be read");
    folder.put("", &authority.key);
    refused("holds no certificate in PEM form");
    folder.put(&authority.certificate, &authority.certificate);
    refused("holds no private key in PEM form");
    folder.put(&authority.certificate, &other.key);
    refused("does not match");
    let late = folder.authority("late.pem", 2020);
    folder.put(&late.certificate, &late.key);
    let web = folder.serve(&[]);
    web.process().stderr_with("the certificate has expired");
}

/// Item 95.
#[test]
fn beyond_this_machine_https_needs_no_other_consent() {
    let folder = Folder::new();
    let authority = folder.authority("root.pem", 2100);
    folder.put(&authority.certificate, &authority.key);
    let web = folder.serve(&["--host", "0.0.0.0", "--no-auth"]);
    let output = curl(&web, &authority.root, &[]);
    assert!(output.status.success(), "{output:?}");
}
