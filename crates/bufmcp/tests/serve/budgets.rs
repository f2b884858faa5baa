//! Clients over a network share the memory of a server.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use protomcp_bufmcp::message::{Payload, call_tool_response};
use protomcp_bufmcp::{BinaryPeer, BinaryServeError, BinaryServer};
use protomcp_server::{Handler, Limits, Router, Server, ServerHandle};
use protomcp_testing::until;
use tokio::io::AsyncWriteExt;

use super::stage::{Actor, Client, Stage, TOOLS, call, initialize, success, text};

fn server(stage: &Arc<Stage>, limits: Limits) -> (BinaryServer<Router<Actor>>, ServerHandle) {
    let actor = Actor(Arc::clone(stage));
    let sessions = ServerHandle::new(actor.info(), limits);
    (BinaryServer::new(Server::with_sessions(sessions.clone(), actor)), sessions)
}

async fn open(server: &BinaryServer<Router<Actor>>, address: [u8; 4]) -> Client {
    let peer = BinaryPeer { address: Some(IpAddr::from(address)), ..BinaryPeer::default() };
    let mut client = Client::connect_as(server, peer);
    assert!(matches!(client.request(initialize()).await, Payload::InitializeResponse(_)));
    client
}

#[tokio::test]
async fn a_frame_that_arrives_finds_room_or_ends_the_connection() {
    let stage = Stage::with_tools(TOOLS);
    let (server, _) = server(&stage, Limits { max_inbound_bytes: 2 << 20, ..Limits::default() });
    let mut greedy = open(&server, [10, 0, 0, 1]).await;
    // Most of a frame, and never the rest.
    greedy.stream.write_all(&[0, 0x1f, 0xff, 0xff]).await.unwrap();
    greedy.stream.write_all(&vec![0; 700 << 10]).await.unwrap();
    let mut other = open(&server, [10, 0, 0, 2]).await;
    let response = success(other.call("echo", r#"{"a":1}"#).await);
    assert!(!response.content.is_empty());
    // The server need not read all of it.
    drop(greedy.stream.write_all(&vec![0; 400 << 10]).await);
    let told = greedy.receive().await.unwrap();
    assert!(matches!(told.payload, Some(Payload::ErrorResponse(error)) if error.code == -32015));
    assert!(matches!(greedy.end().await, Err(BinaryServeError::Overloaded)));
    let response = success(other.call("text", "").await);
    assert_eq!(text(&response.content[0]), "plain");
}

#[tokio::test]
async fn answers_that_are_not_read_find_room_or_are_errors() {
    let stage = Stage::with_tools(TOOLS);
    let (server, sessions) = server(&stage, Limits { max_outbound_bytes: 1 << 20, ..Limits::default() });
    let mut greedy = open(&server, [10, 0, 0, 1]).await;
    let arguments = format!("{{\"text\":\"{}\"}}", "x".repeat(100 << 10));
    for _ in 0..30 {
        greedy.send(call("echo", &arguments, &[]).await).await;
    }
    until("all calls run", || stage.entered.load(Ordering::SeqCst) >= 30).await;
    let mut other = open(&server, [10, 0, 0, 2]).await;
    assert_eq!(text(&success(other.call("text", "").await).content[0]), "plain");
    for _ in 0..30 {
        let Some(Payload::CallToolResponse(response)) = greedy.receive().await.unwrap().payload else {
            panic!("another message")
        };
        match response.result {
            Some(call_tool_response::Result::Error(error)) => assert_eq!(error.code, -32603),
            result => assert!(result.is_some()),
        }
    }
    greedy.end().await.unwrap();
    other.end().await.unwrap();
    assert_eq!((sessions.inbound_budget().taken(), sessions.outbound_budget().taken()), (0, 0));
}

/// An entry of a map is a few bytes long, and in memory a hundred more.
#[tokio::test]
async fn decoded_requests_find_room_until_they_are_answered() {
    let stage = Stage::with_tools(TOOLS);
    let (server, sessions) = server(&stage, Limits { max_inbound_bytes: 1 << 19, ..Limits::default() });
    let mut greedy = open(&server, [10, 0, 0, 1]).await;
    let entries: Vec<_> = (0..1000).map(|key| (format!("{key:x}"), "")).collect();
    let entries: Vec<_> = entries.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    let wanted = 3;
    for _ in 0..wanted {
        greedy.send(call("slow", "", &entries).await).await;
    }
    let Some(Payload::CallToolResponse(response)) = greedy.receive().await.unwrap().payload else {
        panic!("another message")
    };
    assert!(matches!(response.result, Some(call_tool_response::Result::Error(error)) if error.code == -32015));
    let taken = sessions.inbound_budget().taken();
    assert!(taken > 300_000 && taken < 1 << 19, "{taken}");
    let mut other = open(&server, [10, 0, 0, 2]).await;
    assert_eq!(text(&success(other.call("text", "").await).content[0]), "plain");
}
