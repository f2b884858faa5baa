//! The flags of `pmcp run` for clients of proto-mcp: rates, field numbers, and requests before `Initialize`.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use prost::Message;
use protomcp_bufmcp::message::{ListToolsRequest, McpMessage, Payload};
use protomcp_bufmcp::{FrameLimits, code, encode};

use super::Port;

#[test]
fn calls_beyond_the_rate_of_a_user_are_refused() {
    let port = Port::open(&["--rate-limit-per-user", "2/24h"]);
    for _ in 0..2 {
        assert_eq!(port.command("call", &["add", "a=2", "b=3"]), Ok("5\n".to_owned()));
    }
    let refused = port.command("call", &["echo", "text=hi"]).unwrap_err();
    assert!(refused.contains("too many calls; try again in "), "{refused}");
    assert!(port.command("list", &[]).is_ok(), "lists are not calls");
}

#[test]
fn calls_beyond_the_rate_of_a_tool_are_refused() {
    let port = Port::open(&["--rate-limit-per-tool", "1/24h"]);
    assert_eq!(port.command("call", &["add", "a=2", "b=3"]), Ok("5\n".to_owned()));
    let refused = port.command("call", &["add", "a=2", "b=3"]).unwrap_err();
    assert!(refused.contains("too many calls; try again in "), "{refused}");
    assert_eq!(port.command("call", &["echo", "text=hi"]), Ok("hi\n".to_owned()), "another tool");
}

/// The answer to a request that is the first one of its connection.
fn first(port: &Port, payload: Payload) -> Payload {
    let mut frame = Vec::new();
    encode(&McpMessage { id: 1, payload: Some(payload) }, &FrameLimits::default(), &mut frame).unwrap();
    let mut stream = TcpStream::connect(("localhost", port.number)).unwrap();
    stream.write_all(&frame).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let size = u32::from_be_bytes(*answer.first_chunk().expect("a frame")) as usize;
    McpMessage::decode(&answer[4..4 + size]).unwrap().payload.expect("an answer has a payload")
}

#[test]
fn requests_before_initialize_are_answered_on_request() {
    let list = || Payload::ListToolsRequest(ListToolsRequest::default());
    match first(&Port::open(&[]), list()) {
        Payload::ErrorResponse(error) => assert_eq!(error.code, code::NOT_INITIALIZED),
        other => panic!("{other:?}"),
    }
    match first(&Port::open(&["--proto-initialize", "optional"]), list()) {
        Payload::ListToolsResponse(list) => assert!(list.tools.iter().any(|tool| tool.name == "add")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_numbers_of_the_reference_are_understood_on_request() {
    // In its numbers the first field has the words of a search; in the numbers of version 1.0 it has references.
    let search =
        || Payload::ListToolsRequest(ListToolsRequest { bsr_refs: vec!["echo".into()], ..ListToolsRequest::default() });
    let names = |flags: &[&str]| match first(&Port::open(flags), search()) {
        Payload::ListToolsResponse(list) => list.tools.into_iter().map(|tool| tool.name).collect(),
        _ => Vec::new(),
    };
    assert_eq!(names(&["--proto-initialize", "optional"]), Vec::<String>::new());
    let found = names(&["--proto-initialize", "optional", "--proto-numbers", "reference"]);
    assert_eq!(found.first().map(String::as_str), Some("echo"), "{found:?}");
}
