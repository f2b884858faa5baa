//! Proxies: forwarded requests, tunnels, and their credentials.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use protomcp_http_client::HttpTransport;
use protomcp_transport::NoAnswer;

use super::peer::{Peer, params, quick};
use super::script::{Script, json, response, result};

#[tokio::test]
async fn a_plain_request_is_forwarded() {
    let proxy = Script::new(|request| json(&result(request.id(), "{}"))).await;
    let url = format!("http://ann:s3cret@{}", proxy.address);
    let mut peer = Peer::with(HttpTransport::new("http://tools.example/mcp?x=y").unwrap().proxy(&url).unwrap());
    peer.request(1, "tools/list", params("{}")).await;
    assert_eq!(peer.result(1).await, "{}");
    let request = &proxy.requests()[0];
    assert_eq!(request.path, "http://tools.example/mcp?x=y");
    assert_eq!(request.headers["host"], "tools.example");
    assert_eq!(request.headers["proxy-authorization"], "Basic YW5uOnMzY3JldA==");
}

#[tokio::test]
async fn a_proxy_that_opens_no_tunnel_is_named() {
    for status in [407, 502] {
        let proxy = Script::new(move |_| response(status, "", "")).await;
        let url = format!("http://{}", proxy.address);
        let transport = HttpTransport::new("https://tools.example/mcp").unwrap().limits(quick());
        let mut peer = Peer::with(transport.proxy(&url).unwrap());
        let (reason, why) = peer.fails(1, "tools/list").await;
        assert_eq!(reason, NoAnswer::NotSent);
        assert!(why.contains("tunnel error"), "{why}");
        let requests = proxy.requests();
        assert_eq!((requests[0].method.as_str(), requests[0].path.as_str()), ("CONNECT", "tools.example:443"));
    }
}

#[tokio::test]
async fn no_proxy_is_used_if_that_is_wanted() {
    let script = Script::new(|request| json(&result(request.id(), "{}"))).await;
    let transport = HttpTransport::new(&script.url()).unwrap().proxy("http://127.0.0.1:1").unwrap().without_proxy();
    let mut peer = Peer::with(transport);
    peer.request(1, "tools/list", params("{}")).await;
    assert_eq!(peer.result(1).await, "{}");
}

#[cfg(feature = "tls")]
#[tokio::test]
async fn a_secure_request_goes_through_a_tunnel() {
    use protomcp_http_client::Tls;
    use protomcp_types::ProtocolVersion;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let (_server, url, certificate) = super::tls::server().await;
    let target = url.replace("https://localhost", "127.0.0.1").replace("/mcp", "");
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let proxy = format!("http://ann:s3cret@{}", listener.local_addr().unwrap());
    let tunnels = Arc::new(AtomicUsize::new(0));
    let opened = Arc::clone(&tunnels);
    let serving = tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(client.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            assert!(head.starts_with("CONNECT localhost:"), "{head}");
            assert!(head.to_ascii_lowercase().contains("proxy-authorization: basic "), "{head}");
            opened.fetch_add(1, Ordering::SeqCst);
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            let mut server = tokio::net::TcpStream::connect(&target).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut server).await });
        }
    });
    let tls = Tls::default().trust_pem(&certificate).unwrap();
    let mut peer = Peer::with(HttpTransport::new(&url).unwrap().tls(tls).proxy(&proxy).unwrap());
    peer.initialize(ProtocolVersion::V2025_11_25).await;
    peer.request(1, "tools/list", params("{}")).await;
    assert!(peer.result(1).await.contains("echo"));
    // HTTP/2 carries all requests.
    assert_eq!(tunnels.load(Ordering::SeqCst), 1);
    serving.abort();
}
