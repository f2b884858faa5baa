//! Requests and their one answer: ids, deadlines, limits, errors.

use std::time::Duration;

use protomcp_bufmcp::message::{
    ErrorResponse, InitializeResponse, ListChanged, ListToolsResponse, McpMessage, Payload,
};
use protomcp_bufmcp::{
    Any, BinaryCall, Fault, FrameLimits, FrameTooLarge, SessionConfig, SessionLimits, Unreadable, UnreadableKind,
};

use super::table::{Table, call, config, done, initialize, tools};

#[test]
fn answers_come_in_any_order_with_their_ids() {
    let mut table = Table::open(SessionConfig {
        limits: SessionLimits { max_in_flight: 100, ..SessionLimits::default() },
        ..config()
    });
    for id in 0..100 {
        table.request(id, call(|_| {}));
    }
    let order: Vec<u64> = (0..100).map(|id| id * 37 % 100).collect();
    for id in &order {
        table.session.reply(table.now, *id, Ok(done()));
    }
    let ids: Vec<_> = table.answers().into_iter().map(|answer| answer.id).collect();
    assert_eq!(ids, order);
}

#[test]
fn an_id_is_used_again_only_after_the_answer() {
    let mut table = Table::open(config());
    table.request(7, tools());
    assert!(table.send(7, tools()).is_none());
    assert_eq!(table.refusal(), (7, -32600));
    assert!(table.send(7, initialize(|_| {})).is_none());
    assert_eq!(table.refusal(), (7, -32600));
    table.session.reply(table.now, 7, Ok(Payload::ListToolsResponse(ListToolsResponse::default())));
    assert_eq!(table.answer().0, 7);
    table.request(7, tools());
}

#[test]
fn messages_that_are_not_requests_are_refused() {
    let mut table = Table::open(config());
    for payload in [
        done(),
        Payload::InitializeResponse(InitializeResponse::default()),
        Payload::ListToolsResponse(ListToolsResponse::default()),
        Payload::ErrorResponse(ErrorResponse::default()),
        Payload::ListChanged(ListChanged::default()),
    ] {
        assert!(table.send(5, payload).is_none());
        assert_eq!(table.refusal(), (5, -32600));
    }
    assert!(table.session.receive(table.now, Ok(McpMessage::default())).is_none());
    assert_eq!(table.refusal(), (0, -32600));
    assert!(!table.session.is_closed());
}

#[test]
fn three_frames_of_garbage_in_a_row_end_the_conversation() {
    let garbage = |id| Unreadable { id, payload: None, kind: UnreadableKind::Undecodable(String::new()) };
    let unknown = Unreadable { id: 4, payload: Some(13), kind: UnreadableKind::UnknownPayload(13) };
    let mut table = Table::open(config());
    for frame in [garbage(0), garbage(3), unknown, garbage(0), garbage(0)] {
        let code = if frame.payload.is_some() { -32601 } else { -32700 };
        let id = frame.id;
        table.session.receive(table.now, Err(frame));
        assert_eq!(table.refusal(), (id, code));
        assert!(!table.session.is_closed());
    }
    table.request(5, tools());
    for left in [2, 1, 0] {
        table.session.receive(table.now, Err(garbage(0)));
        assert_eq!(table.refusal(), (0, -32700));
        assert_eq!(table.session.is_closed(), left == 0);
    }
    assert!(table.send(6, tools()).is_none() && table.answers().is_empty());
}

#[test]
fn a_frame_that_is_too_large_is_the_last_one() {
    let mut table = Table::open(config());
    table.session.too_large(FrameTooLarge { size: 50, limit: 40, setting: None });
    assert_eq!(table.refusal(), (0, -32013));
    assert!(table.session.is_closed());
}

#[test]
fn a_response_that_is_too_large_becomes_an_error() {
    let frames = FrameLimits { max_frame: 1000, ..FrameLimits::default() };
    let mut table = Table::open(SessionConfig { frames, ..config() });
    let tools_of = |size: usize| ListToolsResponse { next_cursor: "x".repeat(size), ..ListToolsResponse::default() };
    table.request(2, tools());
    table.session.reply(table.now, 2, Ok(Payload::ListToolsResponse(tools_of(2000))));
    assert_eq!(table.refusal(), (2, -32013));
    table.request(3, call(|_| {}));
    table.session.reply(table.now, 3, Err(Fault::new(-32603, "x".repeat(2000))));
    let (id, error) = table.failure();
    assert_eq!((id, error.code), (3, -32603));
}

#[test]
fn failures_have_the_message_of_their_request() {
    let mut table = Table::open(config());
    let fault = || Fault::new(-32602, "no such tool").with("reason", "tool_not_found");
    table.request(2, call(|_| {}));
    table.session.reply(table.now, 2, Err(fault()));
    let (id, error) = table.failure();
    assert_eq!((id, error.code, &*error.data["reason"]), (2, -32602, "tool_not_found"));
    table.request(3, tools());
    table.session.reply(table.now, 3, Err(fault()));
    assert_eq!(table.refusal(), (3, -32602));
    // A second answer has no effect.
    table.session.reply(table.now, 3, Err(fault()));
    assert!(table.answers().is_empty());
}

#[test]
fn a_call_has_a_deadline_and_its_time_is_told() {
    let mut table = Table::open(config());
    let start = table.now;
    for (id, wanted, timeout) in [(2, None, 30_000), (3, Some("250"), 250), (4, Some("99999999"), 600_000)] {
        let BinaryCall::CallTool(seen) = table.request(
            id,
            call(|call| {
                call.metadata = [("trace_id".to_owned(), "t".to_owned())].into();
                call.metadata.extend(wanted.map(|wanted| ("timeout_ms".to_owned(), wanted.to_owned())));
            }),
        ) else {
            panic!("not a call")
        };
        assert_eq!(seen.metadata.len(), 1, "the tool sees only what is for it");
        table.now = start + Duration::from_millis(timeout);
        assert_eq!(table.session.poll_timeout(), Some(table.now));
        assert!(table.session.handle_timeout(table.now - Duration::from_millis(1)).is_empty());
        assert_eq!(table.session.handle_timeout(table.now), [id]);
        let (late, error) = table.failure();
        assert_eq!((late, error.code, &*error.data["timeout_ms"]), (id, -33003, &*timeout.to_string()));
        table.session.reply(table.now, id, Ok(done()));
        assert!(table.answers().is_empty(), "a late answer has no effect");
        table.now = start;
    }
    table.request(5, call(|_| {}));
    table.now += Duration::from_millis(40);
    table.session.reply(table.now, 5, Ok(done()));
    let (_, Payload::CallToolResponse(response)) = table.answer() else { panic!("not a call") };
    assert_eq!(response.metadata["execution_time_ms"], "40");
    assert!(table.send(6, call(|call| drop(call.metadata.insert("timeout_ms".into(), "soon".into())))).is_none());
    assert_eq!(table.failure().1.code, -32602);
}

#[test]
fn after_the_end_of_input_calls_have_their_grace() {
    let mut table = Table::open(config());
    table.request(2, call(|_| {}));
    table.request(3, call(|_| {}));
    table.session.close_input(table.now);
    assert!(!table.session.has_room() && !table.session.is_closed());
    assert!(table.send(4, tools()).is_none());
    table.session.reply(table.now, 2, Ok(done()));
    assert_eq!(table.answer().0, 2);
    table.now += Duration::from_secs(5);
    assert_eq!(table.session.poll_timeout(), Some(table.now));
    assert_eq!(table.session.handle_timeout(table.now), [3]);
    assert_eq!(table.failure().1.code, -32603);
    assert!(table.session.is_closed());
    let mut idle = Table::open(config());
    idle.session.close_input(idle.now);
    assert!(idle.session.is_closed());
}

#[test]
fn requests_in_flight_are_bounded() {
    let limits = SessionLimits { max_in_flight: 2, ..SessionLimits::default() };
    let mut table = Table::open(SessionConfig { limits, ..config() });
    table.request(2, call(|_| {}));
    assert!(table.session.has_room());
    table.request(3, call(|_| {}));
    assert!(table.send(4, call(|_| {})).is_none());
    let refused = table.failure().1;
    assert_eq!((refused.code, &refused.data["retry_after_ms"]), (-32015, &"1000".to_owned()));
    for id in 4..68 {
        assert!(table.session.has_room(), "calls keep no room from lists");
        table.request(id, tools());
    }
    assert!(!table.session.has_room());
    table.session.reply(table.now, 2, Ok(done()));
    assert!(table.session.has_room());
}

#[test]
fn a_client_that_does_not_read_is_not_read_from() {
    let mut table = Table::open(config());
    while table.session.has_room() {
        table.send(1, Payload::ErrorResponse(ErrorResponse::default()));
    }
    assert_eq!(table.answers().len(), 64);
    assert!(table.session.has_room());
}

#[test]
fn arguments_are_passed_on_as_they_are() {
    let mut table = Table::open(config());
    let arguments = Any::new("a.B", vec![1, 2, 3]);
    let BinaryCall::CallTool(seen) = table.request(2, call(|call| call.arguments = Some(arguments.clone()))) else {
        panic!()
    };
    assert_eq!(seen.arguments, Some(arguments));
}
