//! HTTPS, with HTTP/2 where the server supports it.

use std::sync::Arc;

use protomcp_http::{Config, Listener, ListenerConfig};
use protomcp_http_client::{HttpTransport, Tls, TlsError};
use protomcp_transport::NoAnswer;
use protomcp_types::ProtocolVersion;
use rcgen::{CertificateParams, KeyPair};

use super::own_server::OwnServer;
use super::peer::{Peer, params, quick};

fn pem(label: &str, der: &[u8]) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = format!("-----BEGIN {label}-----\n");
    for (index, chunk) in der.chunks(3).enumerate() {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
        if index % 16 == 15 {
            text.push('\n');
        }
    }
    format!("{text}\n-----END {label}-----\n").into_bytes()
}

/// A server at `localhost` with its own certificate, and that certificate.
pub(crate) async fn server() -> (OwnServer, String, Vec<u8>) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let certificate = pem("CERTIFICATE", certificate.der());
    let tls = protomcp_http::Tls::from_pem(&certificate, &pem("PRIVATE KEY", &key.serialize_der())).unwrap();
    let config = ListenerConfig::default().with_tls(tls);
    let listener = Listener::bind(("127.0.0.1", 0)).await.unwrap().with_config(config);
    let server = OwnServer::with(Config::default(), listener).await;
    let url = server.url.replace("http://127.0.0.1", "https://localhost");
    (server, url, certificate)
}

#[tokio::test]
async fn a_trusted_certificate_opens_http2() {
    let (_server, url, certificate) = server().await;
    // Editors on Windows write a byte order mark.
    let tls = Tls::default().trust_pem(&["\u{feff}".as_bytes(), &certificate].concat()).unwrap();
    let mut peer = Peer::with(HttpTransport::new(&url).unwrap().tls(tls));
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    for id in 1..20 {
        peer.request(id, "tools/list", params("{}")).await;
    }
    for _ in 1..20 {
        assert!(peer.next_text().await.contains("echo"));
    }
}

#[tokio::test]
async fn an_unknown_certificate_is_refused() {
    let (_server, url, _) = server().await;
    let mut peer = Peer::with(HttpTransport::new(&url).unwrap().limits(quick()));
    let (reason, why) = peer.fails(1, "tools/list").await;
    assert_eq!(reason, NoAnswer::NotSent);
    assert!(why.contains("certificate"), "{why}");
}

#[test]
fn what_is_not_pem_is_refused() {
    assert!(matches!(Tls::default().trust_pem(b"x"), Err(TlsError::NoCertificate)));
    let certificate = pem("CERTIFICATE", b"x");
    assert!(matches!(Tls::default().with_identity_pem(&certificate, b"x"), Err(TlsError::NoKey)));
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    assert!(matches!(Tls::from(Arc::new(config)).trust_pem(&certificate), Err(TlsError::Fixed)));
}
