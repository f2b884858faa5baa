//! HTTPS: negotiation, renewal of certificates, and clients that do not finish a handshake.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::request::Parts;
use http::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use protomcp_http::{BoxBody, Config, ListenerConfig, Protocol, Responding, Routes, Tls, TlsError};
use protomcp_testing::{in_time, patience};
use rcgen::{CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion, version};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::client::TlsStream;

use super::client::{call, done, full, initialize};
use super::handler::Stage;

/// An authority, its certificates, and the files of one pair.
struct Certificates {
    authority: CertifiedIssuer<'static, KeyPair>,
    folder: tempfile::TempDir,
}

/// One certificate and its key, as PEM and as DER.
struct Pair {
    certificate: String,
    key: String,
    der: Vec<u8>,
    key_der: Vec<u8>,
}

impl Certificates {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self { authority, folder: tempfile::tempdir().unwrap() }
    }

    fn pair(&self) -> Pair {
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
        let key = KeyPair::generate().unwrap();
        let der = params.signed_by(&key, &self.authority).unwrap().der().to_vec();
        let key_der = key.serialize_der();
        Pair { certificate: pem("CERTIFICATE", &der), key: pem("PRIVATE KEY", &key_der), der, key_der }
    }

    fn files(&self) -> (PathBuf, PathBuf) {
        (self.folder.path().join("cert.pem"), self.folder.path().join("key.pem"))
    }

    /// Writes a pair to the files.
    fn put(&self, certificate: &str, key: &str) {
        let (certificate_file, key_file) = self.files();
        std::fs::write(certificate_file, certificate).unwrap();
        std::fs::write(key_file, key).unwrap();
    }

    fn tls(&self) -> Tls {
        let (certificate, key) = self.files();
        Tls::from_files(certificate, key).unwrap()
    }

    /// The configuration of a client that trusts this authority.
    fn client(&self, versions: &[&'static SupportedProtocolVersion], alpn: &[&str]) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.der().clone()).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        config
    }
}

fn pem(what: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<_> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {what}-----\n{}\n-----END {what}-----\n", lines.join("\n"))
}

/// The first message of a client.
fn client_hello(certificates: &Certificates) -> Vec<u8> {
    let config = Arc::new(certificates.client(rustls::ALL_VERSIONS, &[]));
    let mut client = rustls::ClientConnection::new(config, ServerName::try_from("localhost").unwrap()).unwrap();
    let mut hello = Vec::new();
    client.write_tls(&mut hello).unwrap();
    hello
}

/// A connection from the local address 127.0.0.`last`.
async fn dial(stage: &Stage, last: u8) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, last], 0))).unwrap();
    socket.connect(stage.host.address).await.unwrap()
}

async fn stage(tls: Tls, change: impl FnOnce(&mut ListenerConfig)) -> Stage {
    let mut listener = ListenerConfig::default();
    listener.tls = Some(tls);
    change(&mut listener);
    Stage::with(Config::default(), listener).await
}

async fn connect(stage: &Stage, config: ClientConfig) -> TlsStream<TcpStream> {
    connect_over(dial(stage, 1).await, config).await
}

async fn connect_over(stream: TcpStream, config: ClientConfig) -> TlsStream<TcpStream> {
    let name = ServerName::try_from("localhost").unwrap();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    in_time(connector.connect(name, stream)).await.expect("no handshake").unwrap()
}

/// The certificate that a new connection sees.
async fn shown(stage: &Stage, certificates: &Certificates) -> Vec<u8> {
    let stream = connect(stage, certificates.client(rustls::ALL_VERSIONS, &[])).await;
    stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}

fn post(stage: &Stage, session: Option<&str>, body: &str) -> Request<Body> {
    let request = Request::post(format!("https://localhost:{}/mcp", stage.host.address.port()))
        .header("host", format!("localhost:{}", stage.host.address.port()))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    let request = session.into_iter().fold(request, |request, key| request.header("mcp-session-id", key));
    request.body(Body::from(full(body))).unwrap()
}

#[tokio::test]
async fn clients_choose_the_protocol_and_the_version_of_tls() {
    let certificates = Certificates::new();
    let pair = certificates.pair();
    let stage = stage(Tls::from_pem(pair.certificate.as_bytes(), pair.key.as_bytes()).unwrap(), |_| ()).await;
    for versions in [&[&version::TLS12], &[&version::TLS13]] {
        for (offers, agreed) in [(&["h2", "http/1.1"][..], Some("h2")), (&["http/1.1"], Some("http/1.1")), (&[], None)]
        {
            let stream = connect(&stage, certificates.client(versions, offers)).await;
            let state = stream.get_ref().1;
            assert_eq!(state.protocol_version(), Some(versions[0].version));
            assert_eq!(state.alpn_protocol(), agreed.map(str::as_bytes), "{offers:?}");
            let request = post(&stage, None, &initialize("2025-11-25", "{}"));
            let io = TokioIo::new(stream);
            let answer = if agreed == Some("h2") {
                let (mut sender, connection) =
                    hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
                tokio::spawn(connection);
                sender.send_request(request).await.unwrap()
            } else {
                let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
                tokio::spawn(connection);
                sender.send_request(request).await.unwrap()
            };
            assert_eq!(answer.status(), 200, "{offers:?}");
            assert!(answer.headers().contains_key("mcp-session-id"));
        }
    }
}

/// Answers requests for `/other`, within TLS 1.3 alone.
struct Newest;

impl Protocol for Newest {
    fn is_meant(&self, head: &Parts) -> bool {
        head.uri.path() == "/other"
    }

    fn needs_tls_1_3(&self) -> bool {
        true
    }

    fn respond(&self, _: Request<BoxBody>) -> Responding {
        Box::pin(async { Response::new(protomcp_http::Body::default()) })
    }
}

#[tokio::test]
async fn a_protocol_may_need_tls_1_3() {
    let certificates = Certificates::new();
    let pair = certificates.pair();
    let mut listener = ListenerConfig::default();
    listener.tls = Some(Tls::from_pem(pair.certificate.as_bytes(), pair.key.as_bytes()).unwrap());
    let stage =
        Stage::with_routes(Config::default(), listener, |service, _| Routes::new(service).with_protocol(Newest)).await;
    for (versions, status) in [(&[&version::TLS12], 403), (&[&version::TLS13], 200)] {
        let stream = connect(&stage, certificates.client(versions, &["http/1.1"])).await;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let request = Request::get("/other").header("host", "localhost").body(Body::empty()).unwrap();
        let answer = sender.send_request(request).await.unwrap();
        assert_eq!(answer.status(), status);
        let text = to_bytes(Body::new(answer.into_body()), 10_000).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&text).contains("needs TLS 1.3"), status == 403);
        // MCP is served within both.
        let answer = sender.send_request(post(&stage, None, &initialize("2025-11-25", "{}"))).await.unwrap();
        assert_eq!(answer.status(), 200);
    }
}

#[tokio::test]
async fn a_renewed_certificate_keeps_open_connections() {
    let certificates = Certificates::new();
    let (first, second, third) = (certificates.pair(), certificates.pair(), certificates.pair());
    certificates.put(&first.certificate, &first.key);
    let stage = stage(certificates.tls(), |_| ()).await;
    assert_eq!(shown(&stage, &certificates).await, first.der);
    let io = TokioIo::new(connect(&stage, certificates.client(rustls::ALL_VERSIONS, &["http/1.1"])).await);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::spawn(connection);
    let answer = sender.send_request(post(&stage, None, &initialize("2025-11-25", "{}"))).await.unwrap();
    let session = answer.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    to_bytes(Body::new(answer.into_body()), 10_000).await.unwrap();

    // A certificate with another key is ignored, and a later valid pair is loaded.
    certificates.put(&second.certificate, &third.key);
    for _ in 0..5 {
        assert_eq!(shown(&stage, &certificates).await, first.der);
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    certificates.put(&second.certificate, &second.key);
    let renewed = async {
        while shown(&stage, &certificates).await != second.der {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    in_time(renewed).await.expect("the new certificate is not shown");
    let answer = sender.send_request(post(&stage, Some(&session), &call(1, "echo on"))).await.unwrap();
    assert_eq!(to_bytes(Body::new(answer.into_body()), 10_000).await.unwrap(), done(1, "on"));
}

#[tokio::test]
async fn an_unfinished_handshake_times_out_and_blocks_no_other() {
    let certificates = Certificates::new();
    let pair = certificates.pair();
    // Editors on Windows write a byte order mark.
    let [certificate, key] = [&pair.certificate, &pair.key].map(|pem| format!("\u{feff}{pem}"));
    let tls = Tls::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap();
    let stage = stage(tls, |listener| {
        listener.handshake_timeout = Duration::from_millis(300);
        listener.max_handshakes = 1;
    })
    .await;
    // No bytes at all, and the first bytes of an incomplete record.
    for start in [&b""[..], b"\x16\x03\x01\x02"] {
        let mut silent = Vec::new();
        for _ in 0..3 {
            let mut stream = TcpStream::connect(stage.host.address).await.unwrap();
            stream.write_all(start).await.unwrap();
            silent.push(stream);
        }
        for mut stream in silent {
            let mut rest = Vec::new();
            // The connection may end with an error.
            let end = in_time(stream.read_to_end(&mut rest)).await.expect("the connection stays open");
            assert!(end.is_err() || rest.is_empty(), "{rest:?}");
        }
    }
    // On a busy machine even an honest handshake may be late.
    let connector = tokio_rustls::TlsConnector::from(Arc::new(certificates.client(rustls::ALL_VERSIONS, &[])));
    let served = async {
        for _ in 0..20 {
            let name = ServerName::try_from("localhost").unwrap();
            if let Ok(stream) = connector.connect(name, dial(&stage, 1).await).await {
                return stream.get_ref().1.peer_certificates().unwrap()[0].to_vec();
            }
        }
        panic!("each of 20 handshakes is given up")
    };
    assert_eq!(in_time(served).await.expect("no handshake ends"), pair.der);
}

/// With this timeout a test fails before any handshake is given up: one that waits for it is not in time.
fn forever() -> Duration {
    10 * patience()
}

#[tokio::test]
async fn connections_that_send_one_byte_hold_up_no_handshake() {
    let certificates = Certificates::new();
    let pair = certificates.pair();
    let tls = Tls::from_pem(pair.certificate.as_bytes(), pair.key.as_bytes()).unwrap();
    let stage = stage(tls, |listener| (listener.handshake_timeout, listener.max_handshakes) = (forever(), 4)).await;
    let hello = client_hello(&certificates);
    let mut unfinished = Vec::new();
    // One byte, and all bytes but one.
    for start in [&hello[..1], &hello[..hello.len() - 1]] {
        for _ in 0..30 {
            let mut stream = dial(&stage, 1).await;
            stream.write_all(start).await.unwrap();
            unfinished.push(stream);
        }
    }
    assert_eq!(shown(&stage, &certificates).await, pair.der);
}

#[tokio::test]
async fn an_address_with_all_handshakes_keeps_no_other_out() {
    let certificates = Certificates::new();
    let pair = certificates.pair();
    let tls = Tls::from_pem(pair.certificate.as_bytes(), pair.key.as_bytes()).unwrap();
    let stage = stage(tls, |listener| (listener.handshake_timeout, listener.max_handshakes) = (forever(), 4)).await;
    let hello = client_hello(&certificates);
    let mut taken = Vec::new();
    for _ in 0..4 {
        let mut stream = dial(&stage, 1).await;
        stream.write_all(&hello).await.unwrap();
        // The server has begun, and waits for the rest.
        in_time(stream.read_u8()).await.expect("the server does not begin").unwrap();
        taken.push(stream);
    }
    let waiting = {
        let (stream, config) = (dial(&stage, 1).await, certificates.client(rustls::ALL_VERSIONS, &[]));
        tokio::spawn(connect_over(stream, config))
    };
    connect_over(dial(&stage, 2).await, certificates.client(rustls::ALL_VERSIONS, &[])).await;
    // The last one lost its place; the one that waits is next.
    let mut rest = Vec::new();
    let end = in_time(taken.pop().unwrap().read_to_end(&mut rest)).await;
    end.expect("the last one stays open").expect("it ends with its flight");
    in_time(waiting).await.expect("a handshake waits for ever").unwrap();
}

#[tokio::test]
async fn a_first_message_without_end_is_not_read() {
    let certificates = Certificates::new();
    let pair = certificates.pair();
    let tls = Tls::from_pem(pair.certificate.as_bytes(), pair.key.as_bytes()).unwrap();
    let stage = stage(tls, |listener| listener.handshake_timeout = forever()).await;
    let mut stream = dial(&stage, 1).await;
    // A record of 4,096 bytes, and a message of 65,000 in it.
    let record = [&[22, 3, 1, 0x10, 0][..], &[1, 0, 0xfd, 0xe8], &[0; 4092]].concat();
    let more = [&[22, 3, 1, 0x10, 0][..], &[0; 4096]].concat();
    let sent = async {
        stream.write_all(&record).await?;
        for _ in 0..15 {
            stream.write_all(&more).await?;
        }
        stream.read_u8().await
    };
    assert!(in_time(sent).await.expect("the server reads on").is_err());
}

#[tokio::test]
async fn a_plain_http_request_gets_a_clear_error() {
    let certificates = Certificates::new();
    let pair = certificates.pair();
    let stage = stage(Tls::from_pem(pair.certificate.as_bytes(), pair.key.as_bytes()).unwrap(), |_| ()).await;
    let mut stream = TcpStream::connect(stage.host.address).await.unwrap();
    stream.write_all(b"GET /mcp HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut text = String::new();
    in_time(stream.read_to_string(&mut text)).await.expect("no answer").unwrap();
    assert!(text.starts_with("HTTP/1.1 400") && text.contains("the server speaks HTTPS here"), "{text}");
}

#[tokio::test]
async fn a_custom_configuration_is_used() {
    let certificates = Certificates::new();
    let pair = certificates.pair();
    let chain = vec![CertificateDer::from(pair.der.clone())];
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::try_from(pair.key_der).unwrap())
        .unwrap();
    let stage = stage(Tls::from(Arc::new(config)), |_| ()).await;
    assert_eq!(shown(&stage, &certificates).await, pair.der);
}

#[test]
fn an_invalid_pair_is_refused_with_its_place() {
    let certificates = Certificates::new();
    let (pair, other) = (certificates.pair(), certificates.pair());
    let (certificate, key) = certificates.files();
    let check = |cert: &str, private: &str, place: &Path, text: &str| {
        certificates.put(cert, private);
        let error = Tls::from_files(&certificate, &key).unwrap_err().to_string();
        assert!(error.contains(text) && error.contains(&place.display().to_string()), "{error}");
    };
    check("", &pair.key, &certificate, "holds no certificate");
    check(&pair.key, &pair.key, &certificate, "holds no certificate");
    check("-----BEGIN CERTIFICATE-----\nAAAA\n", &pair.key, &certificate, "is not valid PEM");
    check(&pem("CERTIFICATE", b"what?"), &pair.key, &certificate, "cannot be used");
    check(&pair.certificate, "", &key, "holds no private key");
    check(&pair.certificate, &pair.certificate, &key, "holds no private key");
    check(&pair.certificate, &pem("ENCRYPTED PRIVATE KEY", b"secret"), &key, "is encrypted");
    check(&pair.certificate, &pem("PRIVATE KEY", b"what?"), &key, "cannot be used");
    check(&pair.certificate, &other.key, &key, "does not match");
    check(&pair.certificate, &other.key, &certificate, "the certificate is for another key");
    std::fs::remove_file(&key).unwrap();
    let error = Tls::from_files(&certificate, &key).unwrap_err();
    assert!(matches!(&error, TlsError::Unreadable { file, .. } if *file == key), "{error}");
    // Both in one file, as some authorities deliver them.
    let both = format!("{}{}", pair.key, pair.certificate);
    std::fs::write(&certificate, both).unwrap();
    assert!(Tls::from_files(&certificate, &certificate).is_ok());
}
