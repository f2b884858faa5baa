//! The machine: first request, ids, deadlines, errors.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use protomcp_bufmcp::message::{
    CallToolRequest, CallToolResponse, Error, ErrorResponse, InitializeRequest, InitializeResponse, ListChanged,
    ListToolsRequest, ListToolsResponse, McpMessage, Payload, ResourceUpdated, call_tool_response,
};
use protomcp_bufmcp::{
    BinaryCallError, BinaryClientConfig, BinaryClientEvent, BinaryClientSession, BinaryCloseReason, Decoder, Fault,
    FrameLimits, Numbering, Unreadable, UnreadableKind, Versions,
};

use super::config;
use crate::session::table::done;

/// A conversation, and the time.
pub(super) struct Table {
    pub(super) session: BinaryClientSession,
    pub(super) now: Instant,
}

impl Table {
    pub(super) fn new(config: BinaryClientConfig) -> Self {
        let now = Instant::now();
        Self { session: BinaryClientSession::new(config, now), now }
    }

    pub(super) fn open(config: BinaryClientConfig) -> Self {
        let mut table = Self::new(config);
        table.sent();
        table.receive(1, response("1.0.0"));
        assert!(matches!(table.events()[..], [BinaryClientEvent::Opened(_)]));
        table
    }

    pub(super) fn sent(&mut self) -> Vec<McpMessage> {
        let mut decoder = Decoder::new(FrameLimits::default());
        std::iter::from_fn(|| self.session.poll_transmit())
            .map(|frame| decoder.decode(&mut BytesMut::from(&frame[..])).unwrap().unwrap().unwrap())
            .collect()
    }

    pub(super) fn events(&mut self) -> Vec<BinaryClientEvent> {
        std::iter::from_fn(|| self.session.poll_event()).collect()
    }

    pub(super) fn receive(&mut self, id: u64, payload: Payload) {
        self.session.receive(self.now, Ok(McpMessage { id, payload: Some(payload) }));
    }

    pub(super) fn call(&mut self) -> u64 {
        self.session.call(self.now, call(), None)
    }
}

fn response(version: &str) -> Payload {
    Payload::InitializeResponse(InitializeResponse { protocol_version: version.into(), ..Default::default() })
}

fn call() -> Payload {
    Payload::CallToolRequest(CallToolRequest { name: "t".into(), ..CallToolRequest::default() })
}

pub(super) fn list() -> Payload {
    Payload::ListToolsRequest(ListToolsRequest::default())
}

fn refusal(supported: &[&str]) -> Payload {
    let fault = Fault::new(-33002, "no").with("supported", supported.to_vec());
    Payload::ErrorResponse(fault.to_response())
}

#[test]
fn the_first_message_says_who_and_what() {
    let config = BinaryClientConfig { token: Some("t0k".into()), bsr_refs: true, ..config() };
    assert!(!format!("{config:?}").contains("t0k"));
    let mut table = Table::new(config);
    let sent = table.sent().remove(0);
    let Some(Payload::InitializeRequest(InitializeRequest { protocol_version, capabilities, metadata })) = sent.payload
    else {
        panic!("another message")
    };
    assert_eq!((sent.id, &*protocol_version), (1, "1.0.0"));
    assert_eq!((&*metadata["name"], &*metadata["authorization"]), ("tests", "Bearer t0k"));
    let capabilities = capabilities.unwrap();
    assert!(capabilities.supports_bsr_refs && capabilities.supports_streaming);
    assert_eq!(capabilities.encodings, ["protobuf"]);
    let declared = ["notifications", "prompts", "subscriptions"].map(|name| (name.to_owned(), true));
    assert_eq!(capabilities.experimental, BTreeMap::from(declared));
}

#[test]
fn requests_wait_until_the_conversation_has_begun() {
    let mut table = Table::new(config());
    table.sent();
    let (first, second) = (table.call(), table.call());
    assert!(table.sent().is_empty());
    table.receive(1, response("1.0.3"));
    let ids: Vec<_> = table.sent().iter().map(|message| message.id).collect();
    assert_eq!(ids, [first, second]);
    table.receive(second, done());
    table.receive(first, done());
    let events = table.events();
    assert!(matches!(&events[0], BinaryClientEvent::Opened(server) if server.version.to_string() == "1.0.3"));
    assert_eq!(
        events[1..],
        [BinaryClientEvent::Answer(second, Ok(done())), BinaryClientEvent::Answer(first, Ok(done()))]
    );
}

#[test]
fn a_refused_version_is_followed_by_an_older_one() {
    let versions = Versions::new(["2.1.0", "1.4.0"].map(|text| text.parse().unwrap()));
    let mut table = Table::new(BinaryClientConfig { versions: versions.clone(), ..config() });
    table.sent();
    table.receive(1, refusal(&["1.2.0", "1.0.0"]));
    let sent = table.sent().remove(0);
    assert!(matches!(sent.payload, Some(Payload::InitializeRequest(request)) if request.protocol_version == "1.4.0"));
    table.receive(1, response("1.2.0"));
    assert!(matches!(table.events()[..], [BinaryClientEvent::Opened(_)]));
    // Not the same one again, and not one that the client does not have.
    for supported in [&["1.2.0"][..], &["3.0.0"], &[]] {
        let mut table = Table::new(BinaryClientConfig { versions: versions.clone(), ..config() });
        table.receive(1, refusal(&["1.2.0"]));
        table.receive(1, refusal(supported));
        assert!(matches!(table.events()[..], [BinaryClientEvent::Closed(BinaryCloseReason::Refused(_))]));
    }
}

#[test]
fn a_server_with_another_major_is_left() {
    for version in ["2.0.0", "", "1"] {
        let mut table = Table::new(config());
        let waiting = table.call();
        table.receive(1, response(version));
        let reason = BinaryCloseReason::UnsupportedVersion(version.into());
        let failed = BinaryClientEvent::Answer(waiting, Err(BinaryCallError::Closed(reason.clone())));
        assert_eq!(table.events(), [failed, BinaryClientEvent::Closed(reason)]);
    }
}

#[test]
fn answers_are_of_the_kind_of_their_request() {
    let mut table = Table::open(config());
    let list = table.session.call(table.now, Payload::ListToolsRequest(ListToolsRequest::default()), None);
    table.receive(list, done());
    assert!(matches!(table.events()[..], [BinaryClientEvent::Answer(_, Err(BinaryCallError::InvalidAnswer(_)))]));
    let failing = table.call();
    let error = Error { code: -33003, message: "late".into(), ..Error::default() };
    let result = Some(call_tool_response::Result::Error(error.clone()));
    table.receive(failing, Payload::CallToolResponse(CallToolResponse { result, ..Default::default() }));
    let refused = BinaryClientEvent::Answer(failing, Err(BinaryCallError::Refused(error.into())));
    assert_eq!(table.events(), [refused]);
    let refused = table.call();
    table.receive(refused, Payload::ErrorResponse(ErrorResponse { code: -32014, ..ErrorResponse::default() }));
    assert!(matches!(table.events()[..], [BinaryClientEvent::Answer(_, Err(BinaryCallError::Refused(_)))]));
    // Answers to nothing, and requests of a server.
    for payload in [done(), Payload::ListToolsResponse(ListToolsResponse::default()), call()] {
        table.receive(77, payload);
    }
    assert!(table.events().is_empty());
}

#[test]
fn each_request_of_prompts_has_its_answer() {
    let requests = [
        Payload::ListPromptsRequest(Default::default()),
        Payload::GetPromptRequest(Default::default()),
        Payload::CompleteRequest(Default::default()),
        Payload::ListTemplatesRequest(Default::default()),
    ];
    let answers = [
        Payload::ListPromptsResponse(Default::default()),
        Payload::GetPromptResponse(Default::default()),
        Payload::CompleteResponse(Default::default()),
        Payload::ListTemplatesResponse(Default::default()),
    ];
    let mut table = Table::open(config());
    for (at, request) in requests.iter().enumerate() {
        for (other, answer) in answers.iter().enumerate() {
            let id = table.session.call(table.now, request.clone(), None);
            table.receive(id, answer.clone());
            match table.events().remove(0) {
                BinaryClientEvent::Answer(of, outcome) => assert_eq!((of, outcome.is_ok()), (id, at == other)),
                other => panic!("{other:?}"),
            }
        }
    }
    // An answer is not a request.
    table.session.call(table.now, answers[0].clone(), None);
    assert!(matches!(table.events()[..], [BinaryClientEvent::Answer(_, Err(BinaryCallError::InvalidAnswer(_)))]));
}

#[test]
fn late_answers_have_no_effect() {
    let mut table = Table::open(config());
    let id = table.session.call(table.now, call(), Some(Duration::from_secs(3)));
    table.now += Duration::from_secs(3);
    assert_eq!(table.session.poll_timeout(), Some(table.now));
    table.session.handle_timeout(table.now);
    let late = BinaryClientEvent::Answer(id, Err(BinaryCallError::TimedOut(Duration::from_secs(3))));
    assert_eq!(table.events(), [late]);
    table.receive(id, done());
    let cancelled = table.call();
    table.session.cancel(cancelled);
    table.receive(cancelled, done());
    assert!(table.events().is_empty() && table.session.poll_timeout().is_none());
}

#[test]
fn a_carrier_is_told_of_requests_that_are_given_up() {
    for (cancels, told) in [(false, None), (true, Some(b"\0\0\0\x02\x08\x02".to_vec()))] {
        let mut table = Table::open(BinaryClientConfig { cancels, max_in_flight: 1, ..config() });
        let (sent, unsent) = (table.call(), table.call());
        assert_eq!((sent, table.sent().len()), (2, 1));
        table.session.cancel(unsent);
        assert_eq!(table.session.poll_transmit(), None);
        table.session.cancel(sent);
        table.session.cancel(sent);
        assert_eq!(table.session.poll_transmit(), told);
        assert_eq!(table.session.poll_transmit(), None);
    }
}

#[test]
fn the_opening_has_its_time() {
    let mut table = Table::new(config());
    table.now += Duration::from_secs(30);
    assert_eq!(table.session.poll_timeout(), Some(table.now));
    table.session.handle_timeout(table.now);
    let reason = BinaryCloseReason::NotOpened(Duration::from_secs(30));
    assert_eq!(table.events(), [BinaryClientEvent::Closed(reason.clone())]);
    let id = table.call();
    let closed = BinaryClientEvent::Answer(id, Err(BinaryCallError::Closed(reason)));
    assert_eq!(table.events(), [closed]);
}

#[test]
fn messages_without_a_request_are_events() {
    let mut table = Table::open(config());
    let changed = ListChanged { tools: true, ..ListChanged::default() };
    table.receive(0, Payload::ListChanged(changed));
    table.receive(0, Payload::ErrorResponse(ErrorResponse { code: -32013, ..ErrorResponse::default() }));
    let updated = ResourceUpdated { uri: "t:a".into() };
    table.receive(0, Payload::ResourceUpdated(updated.clone()));
    let reported = BinaryClientEvent::Reported(Fault::new(-32013, ""));
    let updated = BinaryClientEvent::ResourceUpdated(updated);
    assert_eq!(table.events(), [BinaryClientEvent::ListChanged(changed), reported, updated]);
}

#[test]
fn an_unreadable_answer_fails_its_request() {
    let unreadable = |id| Unreadable { id, payload: None, kind: UnreadableKind::Undecodable(String::new()) };
    let mut table = Table::open(config());
    let id = table.call();
    table.session.receive(table.now, Err(unreadable(id)));
    assert!(matches!(table.events()[..], [BinaryClientEvent::Answer(_, Err(BinaryCallError::InvalidAnswer(_)))]));
    table.session.receive(table.now, Err(unreadable(0)));
    table.session.receive(table.now, Err(unreadable(0)));
    assert_eq!(table.events(), [BinaryClientEvent::Closed(BinaryCloseReason::Garbage)]);
}

#[test]
fn requests_beyond_the_bound_wait_for_their_turn() {
    let mut table = Table::open(BinaryClientConfig { max_in_flight: 8, ..config() });
    let calls: Vec<_> = (0..70).map(|_| table.call()).collect();
    assert!(table.events().is_empty());
    let ids = |table: &mut Table| table.sent().iter().map(|message| message.id).collect::<Vec<_>>();
    assert_eq!(ids(&mut table), calls[..7]);
    // Calls that last hold no list up.
    let lists: Vec<_> = (0..2).map(|_| table.session.call(table.now, list(), None)).collect();
    assert_eq!(ids(&mut table), lists[..1]);
    table.receive(lists[0], Payload::ListToolsResponse(ListToolsResponse::default()));
    assert_eq!(ids(&mut table), lists[1..]);
    table.receive(lists[1], Payload::ListToolsResponse(ListToolsResponse::default()));
    table.events();
    table.session.cancel(calls[7]);
    assert!(table.sent().is_empty());
    for (at, id) in calls.iter().enumerate().filter(|(at, _)| *at != 7) {
        table.receive(*id, done());
        assert_eq!(table.events(), [BinaryClientEvent::Answer(*id, Ok(done()))]);
        let next = if at < 7 { at + 8 } else { at + 7 };
        assert_eq!(ids(&mut table), calls.get(next).copied().into_iter().collect::<Vec<_>>(), "{at}");
    }
}

#[test]
fn requests_that_wait_have_their_time_and_their_bound() {
    let mut table = Table::open(BinaryClientConfig { max_in_flight: 1, max_waiting: 2, ..config() });
    let sent = table.call();
    let short = table.session.call(table.now, call(), Some(Duration::from_secs(5)));
    table.call();
    table.call();
    assert!(matches!(table.events()[..], [BinaryClientEvent::Answer(5, Err(BinaryCallError::TooMany))]));
    table.now += Duration::from_secs(5);
    table.session.handle_timeout(table.now);
    assert!(
        matches!(table.events()[..], [BinaryClientEvent::Answer(id, Err(BinaryCallError::TimedOut(_)))] if id == short)
    );
    assert_eq!(table.sent().len(), 1);
    table.receive(sent, done());
    assert_eq!(table.sent().len(), 1);
}

#[test]
fn frames_are_bounded() {
    // Frames that the server does not read count, also the frames of requests that were given up.
    let mut table = Table::open(BinaryClientConfig { max_in_flight: 20, ..config() });
    for _ in 0..21 {
        let id = table.call();
        table.session.cancel(id);
    }
    let waits = table.call();
    assert!(table.events().is_empty());
    let sent = table.sent();
    assert_eq!((sent.len(), sent[20].id), (21, waits));
    let frames = FrameLimits { max_frame: 500, ..FrameLimits::default() };
    let mut table = Table::open(BinaryClientConfig { frames, ..config() });
    let large = Payload::CallToolRequest(CallToolRequest { name: "x".repeat(600), ..CallToolRequest::default() });
    table.session.call(table.now, large, None);
    assert!(matches!(table.events()[..], [BinaryClientEvent::Answer(_, Err(BinaryCallError::TooLarge(_)))]));
}

#[test]
fn the_field_numbers_follow_the_server() {
    for (server, is_shifted) in [("proto-mcp-go/0.1", true), ("other", false)] {
        let mut table = Table::new(config());
        while table.session.poll_transmit().is_some() {}
        let metadata = [("server".to_owned(), server.to_owned())].into();
        let response = InitializeResponse { protocol_version: "1.0.0".into(), metadata, ..Default::default() };
        table.receive(1, Payload::InitializeResponse(response));
        let request = ListToolsRequest { cursor: "c".into(), ..ListToolsRequest::default() };
        table.session.call(table.now, Payload::ListToolsRequest(request.clone()), None);
        let frame = table.session.poll_transmit().unwrap();
        let numbering = if is_shifted { Numbering::Reference } else { Numbering::Standard };
        let mut decoder = Decoder::new(FrameLimits::default()).with_numbering(numbering);
        let read = decoder.decode(&mut BytesMut::from(&frame[..])).unwrap().unwrap().unwrap();
        assert_eq!(read.payload, Some(Payload::ListToolsRequest(request)));
    }
}
