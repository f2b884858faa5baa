//! Requests and the one outcome each is owed. Checklist items 5, 9, 10, 47, 54 to 56.

use std::time::Duration;

use protomcp_codec::{Field, Limits, Raw};
use protomcp_envelope::{
    CallToolRequest, CallToolResponse, CreateTaskResponse, MiddlewareInterceptRequest, MiddlewareInterceptResponse,
    PromptListResponse, StreamChunk, StreamHeader,
};
use protomcp_link::Config;

use super::talk::{SECOND, Talk, result};

const MOMENT: Duration = Duration::from_millis(1);

#[test]
fn answers_find_their_calls_in_any_order() {
    let mut talk = Talk::ready();
    talk.call(SECOND);
    talk.list_prompts();
    talk.call(SECOND);
    talk.wrote(&["call_tool[req-1]", "list_prompts_request[req-2]", "call_tool[req-3]"]);
    talk.hears("req-3", result("three"));
    talk.hears("req-2", PromptListResponse::default());
    talk.hears("req-1", CreateTaskResponse::default());
    talk.happened(&["req-3: result text three", "req-2: prompt_list_response", "req-1: create_task"]);
    assert_eq!(talk.connection.poll_timeout(), None);
}

#[test]
fn an_answer_of_another_kind_is_still_the_outcome() {
    let mut talk = Talk::ready();
    talk.list_prompts();
    talk.hears("req-1", result("what?"));
    talk.happened(&["req-1: result text what?"]);
}

#[test]
fn only_the_first_of_two_answers_counts() {
    let mut talk = Talk::ready();
    talk.call(SECOND);
    talk.hears("req-1", result("one"));
    talk.hears("req-1", result("two"));
    talk.happened(&["req-1: result text one", "late call_result[req-1]"]);
}

#[test]
fn an_unknown_answer_changes_nothing() {
    let mut talk = Talk::ready();
    talk.call(SECOND);
    talk.wrote(&["call_tool[req-1]"]);
    for id in ["", "req-0", "req-2", "req-01", "req-18446744073709551616", "1", "REQ-1", "req-1 "] {
        talk.hears(id, result("?"));
        talk.happened(&[&format!("late call_result[{id}]")]);
        talk.hears_raw(&Raw::new(id, Field::ResultJson, "payload"));
        talk.happened(&[&format!("late raw_header[{id}]")]);
        talk.hears(id, StreamHeader { field_name: "result_json".into(), ..Default::default() });
        talk.hears(id, StreamChunk { data: "x".into(), r#final: true });
        talk.happened(&[&format!("late stream_header[{id}]"), &format!("late stream_chunk[{id}]")]);
    }
    talk.wrote(&[]);
    talk.hears("req-1", result("still there"));
    talk.happened(&["req-1: result text still there"]);
}

#[test]
fn a_foreign_id_is_noted_in_short() {
    let mut talk = Talk::ready();
    let long = "é".repeat(1000);
    talk.hears(&long, result("?"));
    talk.happened(&[&format!("late call_result[{}]", "é".repeat(128))]);
}

#[test]
fn messages_of_the_wrong_direction_are_noticed() {
    let mut talk = Talk::ready();
    talk.call(SECOND);
    talk.hears("req-1", CallToolRequest::default());
    talk.happened(&["unexpected call_tool"]);
}

#[test]
fn a_call_that_takes_too_long_fails_and_is_cancelled_by_name() {
    let mut talk = Talk::ready();
    talk.call(3 * SECOND);
    talk.call(5 * SECOND);
    talk.wrote(&["call_tool[req-1]", "call_tool[req-2]"]);
    talk.passes(3 * SECOND - MOMENT);
    talk.is_quiet();
    talk.passes(MOMENT);
    talk.happened(&["req-1 failed: timed out after 3s"]);
    talk.wrote(&["cancel(req-1)[]"]);

    talk.hears("req-1", result("too late"));
    talk.hears_raw(&Raw::new("req-1", Field::ResultJson, "a late payload"));
    talk.hears("req-2", result("in time"));
    talk.happened(&["late call_result[req-1]", "late raw_header[req-1]", "req-2: result text in time"]);
    talk.wrote(&[]);
}

#[test]
fn a_late_look_at_the_clock_ends_every_call_that_is_due() {
    let mut talk = Talk::ready();
    for seconds in [3, 1, 9, 2] {
        talk.call(seconds * SECOND);
    }
    talk.wrote(&["call_tool[req-1]", "call_tool[req-2]", "call_tool[req-3]", "call_tool[req-4]"]);
    talk.connection.handle_timeout(talk.now + 3 * SECOND);
    talk.happened(&[
        "req-2 failed: timed out after 1s",
        "req-4 failed: timed out after 2s",
        "req-1 failed: timed out after 3s",
    ]);
    talk.wrote(&["cancel(req-2)[]", "cancel(req-4)[]", "cancel(req-1)[]"]);
}

#[test]
fn a_call_may_wait_for_ever() {
    let mut talk = Talk::ready();
    talk.call(Duration::MAX);
    assert_eq!(talk.connection.poll_timeout(), None);
    talk.passes(1_000_000 * SECOND);
    talk.hears("req-1", result("at last"));
    talk.happened(&["req-1: result text at last"]);
}

#[test]
fn a_cancelled_call_is_never_answered() {
    let mut talk = Talk::ready();
    let call = talk.call(SECOND);
    talk.wrote(&["call_tool[req-1]"]);
    talk.connection.cancel(call);
    talk.wrote(&["cancel(req-1)[]"]);
    talk.passes(60 * SECOND);
    talk.is_quiet();
    talk.hears("req-1", result("late"));
    talk.happened(&["late call_result[req-1]"]);
}

#[test]
fn only_tool_calls_are_cancelled_by_name() {
    let mut talk = Talk::ready();
    let given_up = talk.list_prompts();
    talk.list_prompts();
    talk.wrote(&["list_prompts_request[req-1]", "list_prompts_request[req-2]"]);
    talk.connection.cancel(given_up);
    talk.passes(SECOND);
    talk.happened(&["req-2 failed: timed out after 1s"]);
    talk.wrote(&[]);
    talk.hears("req-1", PromptListResponse::default());
    talk.happened(&["late prompt_list_response[req-1]"]);
}

#[test]
fn cancelling_what_is_over_or_unknown_writes_nothing() {
    let mut talk = Talk::ready();
    let call = talk.call(SECOND);
    talk.wrote(&["call_tool[req-1]"]);
    talk.hears("req-1", result("done"));
    talk.happened(&["req-1: result text done"]);
    talk.connection.cancel(call);
    talk.connection.cancel(call);
    let never_made = talk.ids.next();
    talk.connection.cancel(never_made);
    talk.is_quiet();
}

#[test]
fn interrupting_fails_the_tool_calls_in_flight_and_nothing_else() {
    let mut talk = Talk::ready();
    talk.call(SECOND);
    talk.list_prompts();
    talk.call(SECOND);
    talk.wrote(&["call_tool[req-1]", "list_prompts_request[req-2]", "call_tool[req-3]"]);
    talk.connection.interrupt();
    talk.happened(&["req-1 failed: it was interrupted", "req-3 failed: it was interrupted"]);
    talk.wrote(&["cancel(req-1)[]", "cancel(req-3)[]"]);
    talk.hears("req-2", PromptListResponse::default());
    talk.happened(&["req-2: prompt_list_response"]);
}

#[test]
fn interrupting_fails_middleware_before_a_call_alone() {
    let mut talk = Talk::ready();
    for phase in ["before", "after"] {
        talk.request(MiddlewareInterceptRequest { phase: phase.into(), ..Default::default() }, SECOND);
    }
    talk.wrote(&["middleware_intercept[req-1]", "middleware_intercept[req-2]"]);
    talk.connection.interrupt();
    talk.happened(&["req-1 failed: it was interrupted"]);
    talk.hears("req-2", MiddlewareInterceptResponse::default());
    talk.happened(&["req-2: middleware_intercept_response"]);
    talk.wrote(&[]);
}

#[test]
fn a_task_of_a_call_that_was_given_up_is_cancelled() {
    let mut talk = Talk::ready();
    let call = talk.call(SECOND);
    talk.call(MOMENT);
    talk.wrote(&["call_tool[req-1]", "call_tool[req-2]"]);
    talk.connection.cancel(call);
    talk.passes(MOMENT);
    talk.wrote(&["cancel(req-1)[]", "cancel(req-2)[]"]);
    talk.happened(&["req-2 failed: timed out after 1ms"]);
    for (id, cancelled) in [("req-1", "task_cancel[req-3]"), ("req-2", "task_cancel[req-4]")] {
        talk.hears(id, CreateTaskResponse { task_id: "t".into() });
        talk.wrote(&[cancelled]);
        talk.happened(&[&format!("late create_task[{id}]")]);
    }
    // The answer is ignored, and so is a task of no call.
    talk.hears("req-3", result("cancelled"));
    talk.hears("", CreateTaskResponse { task_id: "t".into() });
    talk.happened(&["late call_result[req-3]", "late create_task[]"]);
    talk.wrote(&[]);
}

#[test]
fn too_many_unanswered_calls_are_refused_immediately() {
    let mut talk = Talk::ready_with(Config { max_pending: 2, ..Config::default() });
    let first = talk.call(SECOND);
    talk.call(SECOND);
    talk.call(SECOND);
    talk.happened(&["req-3 failed: the tool process is overloaded: 2 requests are waiting"]);
    talk.wrote(&["call_tool[req-1]", "call_tool[req-2]"]);
    talk.connection.cancel(first);
    talk.call(SECOND);
    talk.happened(&[]);
    talk.wrote(&["cancel(req-1)[]", "call_tool[req-4]"]);
}

#[test]
fn calls_that_wait_for_a_handshake_count_as_unanswered() {
    let mut talk = Talk::ready_with(Config { max_pending: 2, ..Config::default() });
    talk.call(SECOND);
    talk.connection.reload(talk.now);
    talk.call(SECOND);
    talk.call(SECOND);
    talk.happened(&["req-4 failed: the tool process is overloaded: 2 requests are waiting"]);
}

fn large(bytes: usize) -> CallToolRequest {
    CallToolRequest { name: "echo".into(), arguments_json: vec![b' '; bytes].into(), ..Default::default() }
}

#[test]
fn unread_calls_are_bounded() {
    for held in [false, true] {
        let mut talk = Talk::ready_with(Config { max_unwritten: 10_000, ..Config::default() });
        if held {
            talk.connection.reload(talk.now);
        }
        for _ in 0..50 {
            talk.request(large(3000), SECOND);
        }
        let refused = talk.events();
        assert_eq!(refused.len(), 46, "4 of 50 calls with 3,000 bytes are taken: {refused:?}");
        assert!(refused.iter().all(|line| line.contains("overloaded: 4 requests")), "{refused:?}");
        assert!((12_000..13_000).contains(&talk.connection.buffered()), "{}", talk.connection.buffered());
    }
}

#[test]
fn calls_are_taken_again_once_the_process_reads() {
    let mut talk = Talk::ready_with(Config { max_unwritten: 1000, ..Config::default() });
    talk.request(large(1000), SECOND);
    talk.call(SECOND);
    talk.happened(&["req-2 failed: the tool process is overloaded: 1 requests are waiting"]);
    talk.wrote(&["call_tool[req-1]"]);
    talk.call(SECOND);
    talk.wrote(&["call_tool[req-3]"]);
    talk.happened(&[]);
}

#[test]
fn cancelling_held_calls_gives_their_room_back() {
    let mut talk = Talk::ready_with(Config { max_unwritten: 1000, ..Config::default() });
    talk.connection.reload(talk.now);
    talk.wrote(&["reload[req-1]"]);
    let large_one = talk.request(large(2000), SECOND);
    assert!(talk.connection.buffered() > 2000);
    talk.connection.cancel(large_one);
    assert_eq!(talk.connection.buffered(), 0);
    talk.call(SECOND);
    talk.happened(&[]);
}

#[test]
fn held_calls_give_their_room_back_when_they_are_written() {
    for end in ["written", "closed"] {
        let mut talk = Talk::ready_with(Config { max_unwritten: 10_000, ..Config::default() });
        talk.connection.reload(talk.now);
        talk.wrote(&["reload[req-1]"]);
        talk.request(large(2000), SECOND);
        talk.request(large(3000), SECOND);
        let held = talk.connection.buffered();
        assert!((5000..5100).contains(&held), "{held}");
        if end == "closed" {
            talk.connection.close(protomcp_link::Closed::ByPeer);
        } else {
            talk.passes(3 * SECOND);
            assert_eq!(talk.connection.buffered(), held, "they wait in another row");
            talk.wrote(&["call_tool[req-2]", "call_tool[req-3]"]);
        }
        assert_eq!(talk.connection.buffered(), 0, "{end}");
    }
}

#[test]
fn the_only_held_call_gives_its_room_back_when_it_is_written() {
    let mut talk = Talk::ready();
    talk.connection.reload(talk.now);
    talk.wrote(&["reload[req-1]"]);
    talk.request(large(2000), SECOND);
    talk.passes(3 * SECOND);
    talk.wrote(&["call_tool[req-2]"]);
    assert_eq!(talk.connection.buffered(), 0);
}

fn small_frames() -> Config {
    Config { limits: Limits { max_frame: 1000, max_payload: 2000, ..Limits::default() }, ..Config::default() }
}

#[test]
fn a_request_that_fits_no_frame_fails_alone() {
    for held in [false, true] {
        let mut talk = Talk::ready_with(small_frames());
        if held {
            talk.connection.reload(talk.now);
        }
        talk.request(large(1000), SECOND);
        let events = talk.events();
        assert_eq!(events.len(), 1);
        assert!(events[0].contains("failed: the request has 10"), "{events:?}");
        assert_eq!(talk.connection.poll_timeout().is_some(), held, "nothing is pending");
    }
}

#[test]
fn an_answer_too_large_fails_its_call_and_the_stream_goes_on() {
    let mut talk = Talk::ready_with(small_frames());
    for _ in 0..3 {
        talk.call(SECOND);
    }
    let too_long = |bytes| CallToolResponse { result_json: vec![b' '; bytes].into(), ..Default::default() };
    talk.hears("req-1", too_long(1000));
    let events = talk.events();
    assert!(events[0].starts_with("req-1 failed: the answer has 10"), "{events:?}");
    assert!(events[0].ends_with("more than the limit of 1000"), "{events:?}");

    talk.hears_raw(&Raw::new("req-2", Field::ResultJson, vec![b' '; 2001]));
    talk.happened(&["req-2 failed: the answer has 2001 bytes, more than the limit of 2000"]);
    talk.hears("req-2", too_long(5000));
    talk.hears("", too_long(5000));
    let noticed = talk.events();
    assert!(noticed[0].starts_with("undecoded 1: a call_result of 50"), "{noticed:?}");
    assert_eq!(noticed.len(), 1, "the second of its kind is not told");
    talk.hears("req-3", result("fits"));
    talk.happened(&["req-3: result text fits"]);
}

#[test]
fn a_malformed_answer_fails_only_its_call() {
    let mut talk = Talk::ready();
    talk.call(SECOND);
    talk.call(SECOND);
    // Field 14, the request id, then field 6 with bytes that are not a result.
    let broken = |id: &str| {
        let mut frame = vec![14 << 3 | 2, u8::try_from(id.len()).unwrap()];
        frame.extend_from_slice(id.as_bytes());
        frame.extend_from_slice(&[6 << 3 | 2, 2, 0xff, 0xff]);
        let mut bytes = u32::try_from(frame.len()).unwrap().to_be_bytes().to_vec();
        bytes.append(&mut frame);
        bytes
    };
    talk.hears_bytes(&broken("req-1"));
    let events = talk.events();
    assert_eq!(events.len(), 1);
    assert!(events[0].starts_with("req-1 failed: the answer cannot be read: a frame of "), "{events:?}");
    talk.hears_bytes(&broken("req-7"));
    let events = talk.events();
    assert!(events[0].starts_with("undecoded 1: a frame of "), "{events:?}");
    talk.hears("req-2", result("fine"));
    talk.happened(&["req-2: result text fine"]);
}

#[test]
fn frames_that_say_nothing_are_ignored() {
    let mut talk = Talk::ready();
    talk.call(SECOND);
    talk.wrote(&["call_tool[req-1]"]);
    talk.hears_bytes(&[0; 4 * 100]);
    // An envelope with an unknown field, a namespace and the id of a call.
    let frame = b"\x7a\x02ns\x72\x05req-1\xa2\x1f\x03new";
    talk.hears_bytes(&[&u32::try_from(frame.len()).unwrap().to_be_bytes(), &frame[..]].concat());
    talk.is_quiet();
    talk.hears("req-1", result("fine"));
    talk.happened(&["req-1: result text fine"]);
}
