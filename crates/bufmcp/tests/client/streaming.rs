//! Reports of calls and cancellation, for servers that have set `supports_streaming`.

use std::time::Duration;

use bytes::BytesMut;
use protomcp_bufmcp::message::{
    CallLog, CallProgress, CancelCall, InitializeResponse, LogLevel, McpMessage, Payload, ServerCapabilities,
};
use protomcp_bufmcp::{
    BinaryCallError, BinaryClientEvent, CallReport, Decoder, FrameLimits, Unreadable, UnreadableKind, encode,
};

use super::config;
use super::table::{Table, list};
use crate::session::table::done;

/// A conversation in which both sides have set `supports_streaming`.
fn streaming() -> Table {
    let mut table = Table::new(config());
    table.sent();
    let capabilities = Some(ServerCapabilities { supports_streaming: true, ..ServerCapabilities::default() });
    let response =
        InitializeResponse { protocol_version: "1.0.0".into(), capabilities, ..InitializeResponse::default() };
    table.receive(1, Payload::InitializeResponse(response));
    assert!(matches!(table.events()[..], [BinaryClientEvent::Opened(_)]));
    table
}

fn progress(value: f64) -> CallProgress {
    CallProgress { progress: value, ..CallProgress::default() }
}

#[test]
fn a_server_that_streams_is_told_of_given_up_requests() {
    let mut table = streaming();
    let (sent, listed) = (table.call(), table.session.call(table.now, list(), None));
    table.sent();
    for id in [sent, listed] {
        table.session.cancel(id);
        table.session.cancel(id);
        let told = McpMessage { id, payload: Some(Payload::CancelCall(CancelCall {})) };
        assert_eq!(table.sent(), [told]);
        // The answer may be on its way.
        table.receive(id, done());
    }
    assert!(table.events().is_empty());
    // Nothing is said of a request that was not sent.
    let mut table = Table::new(config());
    table.sent();
    let unsent = table.call();
    table.session.cancel(unsent);
    assert!(table.sent().is_empty());
}

#[test]
fn a_server_that_streams_is_told_of_late_requests() {
    let mut table = streaming();
    let late = table.session.call(table.now, list(), Some(Duration::from_secs(3)));
    let other = table.call();
    table.sent();
    table.now += Duration::from_secs(3);
    table.session.handle_timeout(table.now);
    assert_eq!(table.sent(), [McpMessage { id: late, payload: Some(Payload::CancelCall(CancelCall {})) }]);
    let timed_out = Err(BinaryCallError::TimedOut(Duration::from_secs(3)));
    assert_eq!(table.events(), [BinaryClientEvent::Answer(late, timed_out)]);
    table.receive(other, done());
    assert_eq!(table.events(), [BinaryClientEvent::Answer(other, Ok(done()))]);
}

#[test]
fn reports_are_of_calls_without_an_answer_and_grow() {
    let mut table = streaming();
    let (id, listed) = (table.call(), table.session.call(table.now, list(), None));
    let log = CallLog { level: LogLevel::Info as i32, logger: "l".into(), data: None };
    for step in [1.0, 1.0, 0.5, f64::NAN, 2.0] {
        table.receive(id, Payload::CallProgress(progress(step)));
    }
    table.receive(id, Payload::CallLog(log.clone()));
    let reported = |report| BinaryClientEvent::Report(id, report);
    let steps = [1.0, 2.0].map(|step| reported(CallReport::Progress(progress(step))));
    assert_eq!(table.events(), [&steps[..], &[reported(CallReport::Log(log.clone()))]].concat());
    for other in [listed, 77, 0] {
        table.receive(other, Payload::CallProgress(progress(3.0)));
    }
    table.receive(0, Payload::CallLog(log.clone()));
    assert_eq!(table.events(), [BinaryClientEvent::Log(log.clone())], "one that belongs to no call");
    table.receive(id, done());
    table.receive(id, Payload::CallLog(log));
    table.receive(id, Payload::CallProgress(progress(9.0)));
    assert_eq!(table.events(), [BinaryClientEvent::Answer(id, Ok(done()))]);
    // A server that does not stream has answered with another kind of message.
    let mut table = Table::open(config());
    let id = table.call();
    table.receive(id, Payload::CallProgress(progress(1.0)));
    assert!(matches!(table.events()[..], [BinaryClientEvent::Answer(_, Err(BinaryCallError::InvalidAnswer(_)))]));
}

/// A message that a client cannot read, with this payload.
fn unreadable(id: u64, number: u32) -> Unreadable {
    Unreadable { id, payload: Some(number), kind: UnreadableKind::TooManyEntries }
}

#[test]
fn an_unreadable_report_ends_neither_call_nor_conversation() {
    let mut table = streaming();
    let id = table.call();
    let values = vec![prost_types::Value { kind: None }; 65_537];
    let list = prost_types::value::Kind::ListValue(prost_types::ListValue { values });
    let data = Some(prost_types::Value { kind: Some(list) });
    let mut decoder = Decoder::new(FrameLimits::default());
    for of in [id, 0, id, 0, 77] {
        let log = CallLog { data: data.clone(), ..CallLog::default() };
        let mut frame = Vec::new();
        let message = McpMessage { id: of, payload: Some(Payload::CallLog(log)) };
        encode(&message, &FrameLimits::default(), &mut frame).unwrap();
        let decoded = decoder.decode(&mut BytesMut::from(&frame[..])).unwrap().unwrap();
        table.session.receive(table.now, decoded);
        assert_eq!(table.events(), [BinaryClientEvent::Dropped(unreadable(of, 103))]);
    }
    // A changed list or resource, and reports of a version that this client does not know.
    for number in [100, 101, 102, 104, 124] {
        table.session.receive(table.now, Err(unreadable(id, number)));
        assert_eq!(table.events(), [BinaryClientEvent::Dropped(unreadable(id, number))]);
    }
    table.receive(id, done());
    assert_eq!(table.events(), [BinaryClientEvent::Answer(id, Ok(done()))]);
    // A server that does not stream has no reports.
    let mut table = Table::open(config());
    let id = table.call();
    table.session.receive(table.now, Err(unreadable(id, 103)));
    assert!(matches!(table.events()[..], [BinaryClientEvent::Answer(_, Err(BinaryCallError::InvalidAnswer(_)))]));
}
