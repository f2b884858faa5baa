//! Replies of the bridge and their order. Checklist items 60 and 62.

use protomcp_codec::Limits;
use protomcp_envelope::{
    ActiveToolsResponse, EnableToolsRequest, GetActiveToolsRequest, ListRootsResponse, SamplingRequest,
    SamplingResponse,
};
use protomcp_link::Config;

use super::talk::{SECOND, Talk};

fn active(names: &[&str]) -> ActiveToolsResponse {
    ActiveToolsResponse { tool_names: names.iter().map(|name| (*name).into()).collect() }
}

#[test]
fn a_request_of_the_process_is_answered_with_the_id_it_carried() {
    let mut talk = Talk::ready();
    talk.hears("0b1e-uuid", SamplingRequest::default());
    talk.hears("", GetActiveToolsRequest {});
    // An id that one of our own calls has: its kind says that it is a question.
    talk.call(SECOND);
    talk.hears("req-1", SamplingRequest::default());
    talk.happened(&["asked sampling_request[0b1e-uuid]", "asked get_active_tools[]", "asked sampling_request[req-1]"]);
    talk.connection.reply("0b1e-uuid", SamplingResponse::default().into());
    talk.connection.reply("", active(&["a", "b"]).into());
    talk.connection.reply("req-1", SamplingResponse::default().into());
    talk.wrote(&[
        "active_tools(a b)[]",
        "call_tool[req-1]",
        "sampling_response[0b1e-uuid]",
        "sampling_response[req-1]",
    ]);
}

#[test]
fn the_tool_list_goes_out_before_anything_that_is_queued() {
    let mut talk = Talk::ready();
    talk.call(SECOND);
    talk.list_prompts();
    talk.hears("", EnableToolsRequest::default());
    talk.hears("", EnableToolsRequest::default());
    talk.connection.reply("", active(&["one"]).into());
    talk.connection.reply("", active(&["two"]).into());
    talk.happened(&["asked enable_tools[]", "asked enable_tools[]"]);
    talk.wrote(&["active_tools(one)[]", "active_tools(two)[]", "call_tool[req-1]", "list_prompts_request[req-2]"]);
}

#[test]
fn a_buffer_that_is_not_empty_is_added_to() {
    let mut talk = Talk::ready();
    talk.call(SECOND);
    talk.connection.reply("", active(&["a"]).into());
    let mut buffer = Vec::new();
    assert!(talk.connection.poll_transmit(&mut buffer));
    assert!(talk.connection.poll_transmit(&mut buffer));
    assert!(!talk.connection.poll_transmit(&mut buffer));
    assert_eq!(talk.frames(&buffer), ["active_tools(a)[]", "call_tool[req-1]"]);
}

#[test]
fn a_reply_that_fits_no_frame_is_noticed() {
    let limits = Limits { max_frame: 100, ..Limits::default() };
    let mut talk = Talk::ready_with(Config { limits, ..Config::default() });
    talk.connection.reply("", active(&["n"; 50]).into());
    talk.happened(&["unsendable active_tools of 153 bytes"]);
    talk.wrote(&[]);
}

#[test]
fn a_process_that_asks_and_never_reads_is_no_longer_read() {
    let mut talk = Talk::ready_with(Config { max_unwritten: 1000, ..Config::default() });
    let mut asked = 0;
    while talk.connection.may_read() {
        talk.hears("", GetActiveToolsRequest {});
        talk.connection.reply("", active(&["some", "tools"]).into());
        asked += 1;
        assert!(asked < 1000, "this never ends");
    }
    assert!((1000..1100).contains(&talk.connection.buffered()), "{}", talk.connection.buffered());
    let mut written = Vec::new();
    assert!(talk.connection.poll_transmit(&mut written));
    assert!(talk.connection.may_read(), "the process reads again");
    assert_eq!(talk.frames(&written).len(), asked);
}

#[test]
fn reading_stops_at_exactly_the_limit() {
    let mut written = Vec::new();
    let mut talk = Talk::ready();
    talk.connection.reply("", active(&["tool"]).into());
    talk.connection.poll_transmit(&mut written);
    for (count, limit, reads) in [
        (1, written.len() + 1, true),
        (1, written.len(), false),
        (2, 2 * written.len() + 1, true),
        (2, 2 * written.len(), false),
    ] {
        let mut talk = Talk::ready_with(Config { max_unwritten: limit, ..Config::default() });
        (0..count).for_each(|_| talk.connection.reply("", active(&["tool"]).into()));
        assert_eq!(talk.connection.may_read(), reads, "{count} replies, {limit} bytes");
    }
}

#[test]
fn replies_of_every_turn_count_and_our_own_calls_do_not() {
    let config = || Config { max_unwritten: 40, ..Config::default() };
    let long = SamplingResponse { role: "r".repeat(50), ..Default::default() };

    // A queue full of our own calls must not stop us from reading the answers that empty it.
    let mut talk = Talk::ready_with(config());
    talk.request(
        protomcp_envelope::CallToolRequest { arguments_json: vec![b' '; 100].into(), ..Default::default() },
        SECOND,
    );
    assert!(talk.connection.may_read());
    // In order.
    talk.connection.reply("s", long.clone().into());
    assert!(!talk.connection.may_read());
    talk.wrote(&["call_tool[req-1]", "sampling_response[s]"]);
    assert!(talk.connection.may_read());

    // After the handshake.
    let mut talk = Talk::ready_with(config());
    talk.connection.reload(talk.now);
    talk.wrote(&["reload[req-1]"]);
    talk.connection.reply("s", long.into());
    assert!(!talk.connection.may_read());
    talk.passes(3 * SECOND);
    assert!(!talk.connection.may_read(), "it may be written now, and is not yet");
    talk.wrote(&["sampling_response[s]"]);
    assert!(talk.connection.may_read());

    // Raw.
    let mut talk = Talk::ready_with(config());
    talk.connection.reply_raw(&protomcp_codec::Raw::new("x", protomcp_codec::Field::ResultJson, vec![0; 50]));
    assert!(!talk.connection.may_read());
    talk.wrote(&["raw result_json of 50 bytes[x]"]);
    assert!(talk.connection.may_read());
}

#[test]
fn ten_thousand_mutations_are_all_answered_in_order() {
    let mut talk = Talk::ready();
    let mut expected = Vec::new();
    for n in 0..10_000 {
        talk.hears("", EnableToolsRequest { tool_names: vec![format!("t{n}")] });
        assert_eq!(talk.events(), ["asked enable_tools[]"]);
        talk.connection.reply("", active(&[&format!("t{n}")]).into());
        expected.push(format!("active_tools(t{n})[]"));
    }
    let expected: Vec<_> = expected.iter().map(String::as_str).collect();
    talk.wrote(&expected);
}

#[test]
fn a_reply_without_a_request_is_still_written() {
    let mut talk = Talk::ready();
    talk.connection.reply("anything", ListRootsResponse::default().into());
    talk.wrote(&["list_roots_response[anything]"]);
}
