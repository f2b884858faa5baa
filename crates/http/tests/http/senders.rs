//! From whom requests without a session come, as calls are told.

use std::sync::Arc;

use http::Request;
use protomcp_http::Principal;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::client::full;
use super::handler::Stage;

fn body() -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "sender", "_meta": meta});
    full(&format!(r#"{{"id":1,"method":"tools/call","params":{params}}}"#))
}

fn text(answer: &[u8]) -> String {
    let answer: Value = serde_json::from_slice(answer).unwrap();
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// One more request over a connection that stays open.
async fn over(connection: &mut BufReader<TcpStream>) -> String {
    let body = body();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: */*\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: sender\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    let (mut length, mut line) = (0, String::new());
    while line != "\r\n" {
        line.clear();
        connection.read_line(&mut line).await.unwrap();
        if let Some(("content-length", value)) = line.trim_end().split_once(": ") {
            length = value.parse().unwrap();
        }
    }
    let mut answer = vec![0; length];
    connection.read_exact(&mut answer).await.unwrap();
    text(&answer)
}

#[tokio::test]
async fn a_connection_is_one_sender_and_another_one_another() {
    let stage = Stage::local().await;
    let connect = async || BufReader::new(TcpStream::connect(stage.host.address).await.unwrap());
    let (mut one, mut two) = (connect().await, connect().await);
    let first = over(&mut one).await;
    assert!(first.starts_with("Connection("), "{first}");
    assert_eq!(over(&mut one).await, first);
    assert_ne!(over(&mut two).await, first);
}

#[tokio::test]
async fn whoever_has_authenticated_is_one_sender_over_any_connection() {
    let stage = Stage::local().await;
    let mut senders = Vec::new();
    for who in ["ann", "bob", "ann"] {
        let request = Request::post("http://localhost/mcp")
            .header("content-type", "application/json")
            .header("accept", "*/*")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", "sender")
            .extension(Principal(Arc::from(who)))
            .body(axum::body::Body::from(body()))
            .unwrap();
        let response = stage.service.handle(request).await;
        let bytes = axum::body::to_bytes(axum::body::Body::new(response.into_body()), 1 << 20).await.unwrap();
        senders.push(text(&bytes));
    }
    assert_eq!(senders, [r#"Principal("ann")"#, r#"Principal("bob")"#, r#"Principal("ann")"#]);
}
