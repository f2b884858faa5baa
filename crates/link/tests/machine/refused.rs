//! Frames that cannot be taken end what they belong to, immediately, and nothing else.

use bytes::BytesMut;
use protomcp_codec::{Decoder, Encoder, Frame, Limits};
use protomcp_envelope::{
    BatchUpdateRequest, CallToolResponse, DisableToolsRequest, ElicitationRequest, EnableToolsRequest, Envelope,
    ListRootsRequest, LogMessage, Msg, Ping, PromptListResponse, ReadResourceRequest, ReadResourceResponse,
    RegisterMiddlewareRequest, ResourceChangedNotification, ResourceListResponse, SamplingRequest, SetAllowedRequest,
    SetBlockedRequest, ToolListResponse,
};
use protomcp_link::Config;

use super::talk::{SECOND, Talk, done, result, tools};

const MANY: usize = 20_000;

fn many_tools() -> ToolListResponse {
    ToolListResponse { tools: vec![Default::default(); MANY] }
}

fn names() -> Vec<String> {
    vec![String::new(); MANY]
}

#[test]
fn an_answer_with_too_many_entries_fails_its_call_only() {
    let mut talk = Talk::ready();
    let call = talk.call(SECOND);
    let prompts = talk.list_prompts();
    let read = talk.request(ReadResourceRequest::default(), SECOND);
    let other = talk.call(SECOND);
    let failed = |id: &str, kind: &str| format!("{id} failed: the answer, a {kind}, has more than 16384 entries");

    talk.hears(&call.to_string(), CallToolResponse { enable_tools: names(), ..Default::default() });
    talk.happened(&[&failed("req-1", "call_result")]);
    talk.hears(&prompts.to_string(), PromptListResponse { prompts: vec![Default::default(); MANY] });
    talk.happened(&[&failed("req-2", "prompt_list_response")]);
    let contents = vec![Default::default(); MANY];
    talk.hears(&read.to_string(), ReadResourceResponse { contents, ..Default::default() });
    talk.happened(&[&failed("req-3", "read_resource_response")]);
    talk.hears(&other.to_string(), result("fine"));
    talk.happened(&["req-4: result text fine"]);
}

#[test]
fn a_first_list_that_is_refused_ends_the_handshake_immediately() {
    let config = Config { limits: Limits { max_frame: 100_000, ..Limits::default() }, ..Config::default() };
    for (entries, why) in [
        (MANY, "a tool_list of 40004 bytes has more than 16384 entries"),
        (4 * MANY, "a tool_list of 160004 bytes is larger than the limit of 100000"),
    ] {
        let mut talk = Talk::new(config.clone());
        talk.connection.begin(talk.now);
        talk.wrote(&["list_tools[req-0]"]);
        talk.hears("", ToolListResponse { tools: vec![Default::default(); entries] });
        talk.happened(&[
            &format!("undecoded 1: {why}"),
            &format!("handshake failed: its tool list was refused: {why}"),
        ]);
    }
}

#[test]
fn a_list_that_is_refused_after_a_reload_leaves_the_one_before() {
    let mut talk = Talk::ready();
    talk.connection.reload(talk.now);
    talk.wrote(&["reload[req-1]"]);
    talk.hears("req-1", done(true));
    talk.hears("", many_tools());
    let why = "a tool_list of 40004 bytes has more than 16384 entries";
    talk.happened(&[&format!("undecoded 1: {why}"), &format!("reload failed: its tool list was refused: {why}")]);
}

#[test]
fn a_second_list_that_is_refused_does_not_end_the_handshake() {
    let mut talk = Talk::new(Config::default());
    talk.connection.begin(talk.now);
    talk.wrote(&["list_tools[req-0]"]);
    talk.hears("req-0", tools(&["first"]));
    talk.hears("", many_tools());
    talk.hears("", done(true));
    talk.happened(&[
        "undecoded 1: a tool_list of 40004 bytes has more than 16384 entries",
        "ready after Start: first []",
    ]);
}

#[test]
fn a_refused_list_change_is_answered_with_the_list() {
    let mut talk = Talk::ready();
    let requests: [Msg; 5] = [
        EnableToolsRequest { tool_names: names() }.into(),
        DisableToolsRequest { tool_names: names() }.into(),
        SetAllowedRequest { tool_names: names() }.into(),
        SetBlockedRequest { tool_names: names() }.into(),
        BatchUpdateRequest { disable: names(), ..Default::default() }.into(),
    ];
    for request in requests {
        talk.hears("mine-1", request);
        let events = talk.events();
        assert!(events[0].starts_with("undecoded 1: "), "{events:?}");
        assert_eq!(events[1..], ["asked get_active_tools[mine-1]"]);
    }
}

#[test]
fn repeated_refusals_are_reported_less_and_less_often() {
    let limits = Limits { max_entries: 2, ..Limits::default() };
    let mut talk = Talk::ready_with(Config { limits, ..Config::default() });
    for _ in 0..1000 {
        talk.hears("", ToolListResponse { tools: vec![Default::default(); 3] });
    }
    let why = "a tool_list of 8 bytes has more than 2 entries";
    let told = [1, 10, 100, 1000].map(|count| format!("undecoded {count}: {why}"));
    assert_eq!(talk.events(), told);
    // Another kind, and one that is not known.
    talk.hears("", ResourceListResponse { resources: vec![Default::default(); 3] });
    talk.hears_bytes(&[0, 0, 0, 2, 0x92, 1]);
    talk.happened(&[
        "undecoded 1: a resource_list_response of 9 bytes has more than 2 entries",
        "undecoded 1: a frame of 2 bytes is not an envelope",
    ]);
    talk.hears("", LogMessage::default());
    talk.happened(&["told log"]);
}

/// The id of the request is one of a call of the bridge, too: each side has its own ids.
#[test]
fn a_refused_request_is_answered_and_ends_no_call() {
    let requests: [(Msg, &str); 6] = [
        (SamplingRequest::default().into(), "sampling_response[req-1]"),
        (ElicitationRequest::default().into(), "elicitation_response[req-1]"),
        (ListRootsRequest {}.into(), "list_roots_response[req-1]"),
        (RegisterMiddlewareRequest::default().into(), "register_middleware_response(refused)[req-1]"),
        (Ping {}.into(), "pong[req-1]"),
        (ResourceChangedNotification::default().into(), ""),
    ];
    let limits = Limits { max_frame: 1000, ..Limits::default() };
    for (request, answer) in requests {
        let mut talk = Talk::ready_with(Config { limits: limits.clone(), ..Config::default() });
        talk.call(SECOND);
        talk.wrote(&["call_tool[req-1]"]);
        let envelope = Envelope { for_call: "x".repeat(2000), ..Envelope::new("req-1", request) };
        let mut bytes = Vec::new();
        Encoder::new(Limits::default()).encode_envelope(&envelope, &mut bytes).unwrap();
        talk.hears_bytes(&bytes);
        talk.wrote(if answer.is_empty() { &[] } else { std::slice::from_ref(&answer) });
        let events = talk.events();
        assert!(events.len() == 1 && events[0].contains("is larger than the limit"), "{events:?}");
        talk.hears("req-1", result("fine"));
        talk.happened(&["req-1: result text fine"]);
    }
}

#[test]
fn a_refused_question_says_why() {
    let mut talk =
        Talk::ready_with(Config { limits: Limits { max_frame: 1000, ..Limits::default() }, ..Config::default() });
    talk.hears("q", SamplingRequest { system_prompt: "x".repeat(2000), ..Default::default() });
    let mut bytes = Vec::new();
    assert!(talk.connection.poll_transmit(&mut bytes));
    let frame = Decoder::new(Limits::default()).decode(&mut BytesMut::from(&*bytes));
    let Ok(Some(Frame::Envelope(Envelope { msg: Some(Msg::SamplingResponse(answer)), .. }))) = frame else {
        panic!("{frame:?}")
    };
    assert_eq!(
        answer.error,
        "the bridge refused the request: a sampling_request of 2010 bytes is larger than the limit of 1000"
    );
}
