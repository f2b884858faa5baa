//! Tool list control of a process with two readers: empty frames and silence. Checklist item 63.

use std::time::Duration;

use protomcp_envelope::{ActiveToolsResponse, EnableToolsRequest, SamplingRequest, SamplingResponse};

use super::talk::{SECOND, Talk, done, result, tools};

const EVERY: Duration = Duration::from_millis(10);

/// A tool call is in flight, its handler asks for tools, and the owner answers the way that two readers need.
fn asked() -> Talk {
    let mut talk = Talk::ready();
    talk.call(60 * SECOND);
    talk.wrote(&["call_tool[req-1]"]);
    talk.hears("", EnableToolsRequest::default());
    talk.happened(&["asked enable_tools[]"]);
    talk.connection.work_around_two_readers(talk.now);
    talk.wrote(&["nothing"]);
    talk
}

#[test]
fn empty_frames_go_out_until_the_call_answers() {
    let mut talk = asked();
    for _ in 0..3 {
        talk.passes(EVERY - Duration::from_millis(1));
        talk.is_quiet();
        talk.passes(Duration::from_millis(1));
        talk.wrote(&["nothing"]);
    }
    talk.hears("req-1", result("done"));
    talk.happened(&["req-1: result text done"]);
    talk.passes(SECOND);
    talk.is_quiet();
    assert_eq!(talk.connection.poll_timeout(), None);
}

#[test]
fn other_messages_are_written_after_the_workaround() {
    let mut talk = asked();
    talk.call(SECOND);
    talk.list_prompts();
    talk.hears("s", SamplingRequest::default());
    talk.connection.reply("s", SamplingResponse::default().into());
    talk.happened(&["asked sampling_request[s]"]);
    talk.passes(EVERY);
    talk.wrote(&["nothing"]);
    talk.hears("req-1", result("done"));
    talk.wrote(&["sampling_response[s]", "call_tool[req-2]", "list_prompts_request[req-3]"]);
    talk.happened(&["req-1: result text done"]);
    // Their time began when they were written.
    talk.passes(SECOND - Duration::from_millis(1));
    talk.happened(&[]);
    talk.passes(Duration::from_millis(1));
    talk.happened(&["req-2 failed: timed out after 1s", "req-3 failed: timed out after 1s"]);
}

#[test]
fn a_handler_that_is_only_slow_holds_others_up_for_two_seconds() {
    let mut talk = asked();
    talk.call(9 * SECOND);
    talk.passes(2 * SECOND - Duration::from_millis(1));
    talk.wrote(&["nothing"; 199]);
    talk.passes(Duration::from_millis(1));
    talk.wrote(&["call_tool[req-2]"]);
}

#[test]
fn a_call_that_is_given_up_ends_the_silence() {
    for way in ["cancel", "timeout", "interrupt"] {
        let mut talk = Talk::ready();
        let call = talk.call(Duration::from_millis(15));
        talk.wrote(&["call_tool[req-1]"]);
        talk.connection.work_around_two_readers(talk.now);
        talk.list_prompts();
        talk.wrote(&["nothing"]);
        match way {
            "cancel" => talk.connection.cancel(call),
            "interrupt" => talk.connection.interrupt(),
            _ => {}
        }
        talk.passes(2 * EVERY);
        talk.wrote(&["nothing", "cancel(req-1)[]", "list_prompts_request[req-2]"]);
    }
}

#[test]
fn without_a_tool_call_one_empty_frame_is_all() {
    let mut talk = Talk::ready();
    talk.connection.work_around_two_readers(talk.now);
    talk.list_prompts();
    talk.wrote(&["nothing", "list_prompts_request[req-1]"]);
    talk.passes(SECOND / 2);
    talk.is_quiet();
}

#[test]
fn other_requests_in_flight_do_not_prolong_the_silence() {
    let mut talk = asked();
    talk.hears("req-1", result("done"));
    talk.list_prompts();
    talk.connection.work_around_two_readers(talk.now);
    talk.wrote(&["nothing", "list_prompts_request[req-2]"]);
}

#[test]
fn a_handshake_that_ends_during_the_silence_does_not_break_it() {
    let mut talk = asked();
    talk.connection.reload(talk.now);
    talk.list_prompts();
    talk.wrote(&["reload[req-2]"]);
    talk.hears("", tools(&["a"]));
    talk.hears("", done(true));
    talk.happened(&["ready after Reload: a []"]);
    talk.wrote(&[]);
    talk.hears("req-1", result("done"));
    talk.wrote(&["list_prompts_request[req-3]"]);
}

#[test]
fn the_tool_list_itself_can_still_be_sent() {
    let mut talk = asked();
    talk.connection.reply("", ActiveToolsResponse::default().into());
    talk.wrote(&["active_tools()[]"]);
}

#[test]
fn after_the_end_nothing_is_written() {
    let mut talk = asked();
    talk.connection.close(protomcp_link::Closed::ByPeer);
    talk.events();
    talk.connection.work_around_two_readers(talk.now);
    talk.passes(SECOND);
    talk.is_quiet();
}
