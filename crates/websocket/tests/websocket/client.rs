//! The client of this project with its server, over TCP.

use std::sync::Arc;

use protomcp_bufmcp::message::ListToolsRequest;
use protomcp_bufmcp::{BinaryClient, BinaryClientConfig, BinaryPeer, Connect, FrameLimits, StructSchemas, TcpServer};
use protomcp_client::Client;
use protomcp_testing::patience;
use protomcp_websocket::{InvalidTarget, SUBPROTOCOL, WebSocketOptions, WebSocketServer, serve};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};

use crate::stage;

/// A server at a port, and the heads of the handshakes that it sees. A token other than `t0k` is refused.
async fn listen() -> (String, mpsc::UnboundedReceiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, heads) = mpsc::unbounded_channel();
    let (server, _) = stage::server();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (sender, server) = (sender.clone(), server.clone());
            #[expect(clippy::result_large_err, reason = "the signature of the library")]
            let check = move |request: &Request, mut response: Response| {
                let is_good = request.headers().get("authorization").is_none_or(|value| value == "Bearer t0k");
                sender.send(request.clone()).unwrap();
                response.headers_mut().insert("sec-websocket-protocol", SUBPROTOCOL.parse().unwrap());
                let refusal = || Response::builder().status(401).body(None).unwrap();
                if is_good { Ok(response) } else { Err::<_, ErrorResponse>(refusal()) }
            };
            tokio::spawn(async move {
                let Ok(socket) = tokio_tungstenite::accept_hdr_async(stream, check).await else { return };
                let revoked = std::future::pending();
                drop(
                    serve(&server, socket.into_inner(), BinaryPeer::default(), WebSocketOptions::default(), revoked)
                        .await,
                );
            });
        }
    });
    (address, heads)
}

fn config() -> BinaryClientConfig {
    BinaryClientConfig::new("tests", "1")
}

#[tokio::test]
async fn a_client_of_mcp_uses_a_server_over_websocket() {
    let (address, mut heads) = listen().await;
    let server = WebSocketServer::new(TcpServer::new(&address), &format!("ws://{address}/mcp?x=1")).unwrap();
    let server = server.with_token("t0k").unwrap();
    assert!(!format!("{server:?}").contains("t0k"));
    let (reader, writer) = server.connect().await.unwrap();
    let head = heads.recv().await.unwrap();
    let field = |name: &str| head.headers()[name].to_str().unwrap().to_owned();
    assert_eq!((head.uri().to_string(), field("host")), ("/mcp?x=1".to_owned(), address));
    assert_eq!((field("sec-websocket-protocol"), field("authorization")), (SUBPROTOCOL.into(), "Bearer t0k".into()));
    let client = BinaryClient::connect(reader, writer, config()).await.unwrap();
    let host = Client::new("host", "1");
    let session = host.connect(client.into_transport(Arc::new(StructSchemas))).await.unwrap();
    for times in [1, 90_000] {
        let arguments = serde_json::json!({"text": "0123456789", "times": times});
        let result = session.call_tool("repeat", &arguments).await.unwrap();
        assert!(result.content.as_str().len() > times * 10, "{times}");
    }
    session.close(patience()).await;
}

#[tokio::test]
async fn a_refused_handshake_and_other_servers_are_errors() {
    let (address, _heads) = listen().await;
    let url = format!("ws://{address}/");
    let server = WebSocketServer::new(TcpServer::new(&address), &url).unwrap().with_token("wrong").unwrap();
    let error = server.connect().await.map(drop).unwrap_err();
    assert!(error.to_string().contains("401 Unauthorized"), "{error}");
    // A server of another protocol.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let other = listener.local_addr().unwrap().to_string();
    let server = WebSocketServer::new(TcpServer::new(&other), &format!("ws://{other}/")).unwrap();
    let (refused, ()) = tokio::join!(server.connect(), async {
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stream, b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            .await
            .unwrap();
    });
    let error = refused.map(drop).unwrap_err();
    assert!(error.to_string().contains("200 OK"), "{error}");
}

#[tokio::test]
async fn an_answer_above_the_limit_ends_the_conversation() {
    let (address, _heads) = listen().await;
    let limits = FrameLimits { max_frame: 100, ..FrameLimits::default() };
    let server =
        WebSocketServer::new(TcpServer::new(&address), &format!("ws://{address}/")).unwrap().with_limits(limits);
    let (reader, writer) = server.connect().await.unwrap();
    let client = BinaryClient::connect(reader, writer, config()).await.unwrap();
    let request = ListToolsRequest { include_schemas: true, ..ListToolsRequest::default() };
    let error = client.list_tools(request).await.unwrap_err();
    assert!(error.to_string().contains("closed"), "{error}");
}

#[test]
fn targets_are_urls_of_websocket() {
    let server = |url: &str| WebSocketServer::new(TcpServer::new("localhost:1"), url).map(drop);
    for good in ["ws://localhost:8080/mcp", "wss://example.com", "ws://[::1]:1/"] {
        assert_eq!(server(good), Ok(()), "{good}");
    }
    for bad in ["", "localhost:8080", "http://localhost/", "ws:///mcp", "/mcp"] {
        assert_eq!(server(bad), Err(InvalidTarget::Url), "{bad}");
    }
    let server = WebSocketServer::new(TcpServer::new("localhost:1"), "ws://localhost:1/").unwrap();
    assert_eq!(server.with_token("a\nb").map(drop), Err(InvalidTarget::Token));
}
