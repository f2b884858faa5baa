//! The caller of requests without a session, as handlers see it.

use std::sync::Arc;

use http::Request;
use protomcp_http::Principal;
use protomcp_testing::in_time;
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
    let params = json!({"name": "caller", "_meta": meta});
    full(&format!(r#"{{"id":1,"method":"tools/call","params":{params}}}"#))
}

fn text(answer: &[u8]) -> String {
    let answer: Value = serde_json::from_slice(answer).unwrap();
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// One more request over an open connection.
async fn over(connection: &mut BufReader<TcpStream>) -> String {
    let body = body();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: */*\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: caller\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    let (mut length, mut line) = (0, String::new());
    while line != "\r\n" {
        line.clear();
        in_time(connection.read_line(&mut line)).await.unwrap().unwrap();
        if let Some(("content-length", value)) = line.trim_end().split_once(": ") {
            length = value.parse().unwrap();
        }
    }
    let mut answer = vec![0; length];
    in_time(connection.read_exact(&mut answer)).await.unwrap().unwrap();
    text(&answer)
}

#[tokio::test]
async fn an_address_owns_its_connections() {
    let stage = Stage::local().await;
    let connect = async || BufReader::new(TcpStream::connect(stage.host.address).await.unwrap());
    let (mut one, mut two) = (connect().await, connect().await);
    let first = over(&mut one).await;
    let address = "CallerKey { owner: Address(127.0.0.1), conversation: Connection(";
    assert!(first.starts_with(address), "{first}");
    assert_eq!(over(&mut one).await, first);
    let second = over(&mut two).await;
    assert!(second.starts_with(address) && second != first, "{second}");
}

#[tokio::test]
async fn a_principal_is_one_owner_over_any_connection() {
    let stage = Stage::local().await;
    let mut callers = Vec::new();
    for who in ["ann", "bob", "ann"] {
        let request = Request::post("http://localhost/mcp")
            .header("content-type", "application/json")
            .header("accept", "*/*")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", "caller")
            .extension(Principal(Arc::from(who)))
            .body(axum::body::Body::from(body()))
            .unwrap();
        let response = stage.service.handle(request).await;
        let bytes = axum::body::to_bytes(axum::body::Body::new(response.into_body()), 1 << 20).await.unwrap();
        callers.push(text(&bytes));
    }
    for (caller, name) in callers.iter().zip(["ann", "bob", "ann"]) {
        assert!(caller.starts_with(&format!("CallerKey {{ owner: Principal({name:?})")), "{caller}");
    }
}
