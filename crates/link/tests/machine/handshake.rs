//! Checklist items 21 to 24 and 27: when a process counts as registered, and what may be written until then.

use std::time::Duration;

use protomcp_envelope::{
    ActiveToolsResponse, BridgeInfo, DisableToolsRequest, ListToolsRequest, LogMessage, RegisterMiddlewareRequest,
    SamplingRequest, SamplingResponse, SdkInfo,
};
use protomcp_link::{Config, Connection};

use super::talk::{SECOND, Talk, done, result, tools};

fn middleware(name: &str) -> RegisterMiddlewareRequest {
    RegisterMiddlewareRequest { name: name.into(), priority: 5 }
}

fn begun() -> Talk {
    let mut talk = Talk::new(Config::default());
    talk.connection.begin(talk.now);
    talk.wrote(&["list_tools[req-0]"]);
    talk
}

const QUIET: Duration = Duration::from_millis(500);
const MOMENT: Duration = Duration::from_millis(1);

#[test]
fn a_process_is_ready_at_its_signal() {
    let mut talk = begun();
    talk.hears("req-0", tools(&["b", "a"]));
    talk.is_quiet();
    talk.hears("", done(true));
    talk.happened(&["ready after Start: b a []"]);
    talk.passes(60 * SECOND);
    talk.is_quiet();
}

#[test]
fn silence_ends_a_handshake_without_a_signal() {
    let mut talk = begun();
    talk.hears("req-0", tools(&["a"]));
    talk.passes(QUIET - MOMENT);
    talk.hears("", middleware("m"));
    talk.wrote(&["register_middleware_response[]"]);
    talk.passes(QUIET - MOMENT);
    talk.is_quiet();
    talk.passes(MOMENT);
    talk.happened(&["ready after Start: a [m]"]);
}

#[test]
fn logs_do_not_prolong_the_silence() {
    let mut talk = begun();
    talk.hears("req-0", tools(&["a"]));
    talk.passes(QUIET - MOMENT);
    talk.hears("", LogMessage::default());
    talk.passes(MOMENT);
    talk.happened(&["told log", "ready after Start: a []"]);
}

#[test]
fn only_acknowledgements_are_written_during_registration() {
    let mut talk = begun();
    talk.hears("req-0", tools(&["a"]));
    let call = talk.call(SECOND);
    talk.list_prompts();
    talk.connection.notify(LogMessage::default().into());
    talk.hears("s-1", SamplingRequest::default());
    talk.connection.reply("s-1", SamplingResponse::default().into());
    talk.wrote(&[]);
    for name in ["one", "two"] {
        talk.hears("", middleware(name));
        talk.wrote(&["register_middleware_response[]"]);
    }
    talk.hears("", done(true));
    talk.happened(&["asked sampling_request[s-1]", "ready after Start: a [one two]"]);
    talk.wrote(&["log[]", "sampling_response[s-1]", "call_tool[req-1]", "list_prompts_request[req-2]"]);
    talk.hears(&call.to_string(), result("hi"));
    talk.happened(&["req-1: result text hi"]);
}

#[test]
fn an_extended_process_gets_bridge_info_first() {
    let mut talk = begun();
    talk.hears("", SdkInfo::default());
    talk.connection.notify(BridgeInfo::default().into());
    talk.wrote(&["bridge_info[]"]);
    talk.happened(&["told sdk_info"]);
}

#[test]
fn list_requests_during_registration_are_answered() {
    let mut talk = begun();
    talk.hears("req-0", tools(&["a"]));
    talk.hears("", DisableToolsRequest::default());
    talk.connection.reply("", ActiveToolsResponse::default().into());
    talk.wrote(&["active_tools()[]"]);
}

#[test]
fn middleware_is_acknowledged_however_late_it_comes() {
    let mut talk = Talk::ready();
    talk.passes(2 * SECOND);
    talk.call(SECOND);
    talk.hears("", middleware("late"));
    talk.happened(&["late middleware late"]);
    // Before the call that was queued already: the process takes the next frame for its acknowledgement.
    talk.wrote(&["register_middleware_response[]", "call_tool[req-1]"]);
}

#[test]
fn an_acknowledgement_echoes_an_id_that_was_set() {
    let mut talk = begun();
    talk.hears("mine", middleware("m"));
    talk.wrote(&["register_middleware_response[mine]"]);
}

#[test]
fn middleware_beyond_the_limit_is_refused() {
    let mut talk = Talk::new(Config { max_middleware: 1, ..Config::default() });
    talk.connection.begin(talk.now);
    talk.wrote(&["list_tools[req-0]"]);
    talk.hears("req-0", tools(&[]));
    talk.hears("", middleware("one"));
    talk.hears("", middleware("two"));
    talk.wrote(&["register_middleware_response[]", "register_middleware_response(refused)[]"]);
    talk.hears("", done(true));
    talk.happened(&["refused register_middleware", "ready after Start:  [one]"]);
}

#[test]
fn held_calls_get_their_time_from_the_moment_they_are_written() {
    let mut talk = begun();
    talk.call(2 * SECOND);
    talk.passes(10 * SECOND);
    talk.hears("req-0", tools(&["a"]));
    talk.hears("", done(true));
    talk.happened(&["ready after Start: a []"]);
    talk.wrote(&["call_tool[req-1]"]);
    talk.passes(2 * SECOND - MOMENT);
    talk.is_quiet();
    talk.passes(MOMENT);
    talk.happened(&["req-1 failed: timed out after 2s"]);
}

#[test]
fn cancelling_a_held_call_never_reaches_the_wire() {
    let mut talk = begun();
    let first = talk.call(SECOND);
    talk.call(SECOND);
    talk.connection.cancel(first);
    talk.hears("req-0", tools(&[]));
    talk.hears("", done(true));
    talk.wrote(&["call_tool[req-2]"]);
    talk.happened(&["ready after Start:  []"]);
}

#[test]
fn a_held_call_that_listens_hears_its_progress() {
    let mut talk = begun();
    talk.call_and_listen(SECOND);
    talk.hears("req-0", tools(&[]));
    talk.hears("", done(true));
    talk.wrote(&["call_tool(token req-1)[req-1]"]);
    talk.happened(&["ready after Start:  []"]);
    talk.hears("", protomcp_envelope::ProgressNotification { progress_token: "req-1".into(), ..Default::default() });
    talk.happened(&["req-1 at 0 of 0 "]);
}

/// The events of a failing handshake, with one call before it and one after it.
fn failed(talk: &mut Talk, because: &str) {
    let refused = format!("failed: the tool process is not in service: {because}");
    talk.happened(&[&format!("handshake failed: {because}"), &format!("req-1 {refused}")]);
    talk.call(SECOND);
    talk.happened(&[&format!("req-2 {refused}")]);
    talk.passes(60 * SECOND);
    talk.is_quiet();
}

#[test]
fn a_process_that_sends_no_list_fails_and_so_do_its_calls() {
    let mut talk = begun();
    talk.call(SECOND);
    talk.passes(30 * SECOND - MOMENT);
    talk.is_quiet();
    talk.passes(MOMENT);
    failed(&mut talk, "it did not send its tool list within 30s");
}

#[test]
fn a_process_that_reports_failure_is_given_no_work() {
    let mut talk = begun();
    talk.call(SECOND);
    talk.hears("req-0", tools(&["a"]));
    talk.hears("", done(false));
    failed(&mut talk, "it reported: no such module");
}

#[test]
fn a_second_beginning_forgets_the_failure_of_the_first() {
    let mut talk = begun();
    talk.hears("", done(false));
    talk.happened(&["handshake failed: it reported: no such module"]);
    talk.connection.begin(talk.now);
    talk.hears("", tools(&["a"]));
    talk.hears("", done(true));
    talk.happened(&["ready after Start: a []"]);
    talk.call(SECOND);
    talk.wrote(&["list_tools[req-1]", "call_tool[req-2]"]);
}

#[test]
fn a_reload_is_read_in_either_order() {
    for (id, published) in [("req-1", true), ("req-1", false), ("", false)] {
        let mut talk = Talk::ready();
        talk.connection.reload(talk.now);
        talk.wrote(&["reload[req-1]"]);
        talk.call(SECOND);
        if published {
            talk.hears("req-1", done(true));
        }
        talk.hears("", tools(&["new"]));
        talk.hears("", middleware("m"));
        talk.wrote(&["register_middleware_response[]"]);
        talk.hears(if published { "" } else { id }, done(true));
        talk.happened(&["ready after Reload: new [m]"]);
        talk.wrote(&["call_tool[req-2]"]);
    }
}

#[test]
fn a_reload_that_fails_leaves_the_process_in_service() {
    let mut talk = Talk::ready();
    talk.connection.reload(talk.now);
    talk.call(SECOND);
    talk.hears("req-1", done(false));
    talk.happened(&["reload failed: it reported: no such module"]);
    talk.wrote(&["reload[req-1]", "call_tool[req-2]"]);

    talk.hears("req-2", result("hi"));
    talk.connection.reload(talk.now);
    talk.passes(3 * SECOND);
    talk.happened(&["req-2: result text hi", "reload failed: it did not answer within 3s"]);
    talk.call(SECOND);
    talk.wrote(&["reload[req-3]", "call_tool[req-4]"]);
}

#[test]
fn a_cancellation_during_a_reload_is_sent_after_it() {
    let mut talk = Talk::ready();
    let cancelled = talk.call(10 * SECOND);
    talk.call(SECOND);
    talk.connection.reload(talk.now);
    talk.wrote(&["call_tool[req-1]", "call_tool[req-2]", "reload[req-3]"]);
    talk.connection.cancel(cancelled);
    talk.passes(SECOND);
    talk.wrote(&[]);
    talk.happened(&["req-2 failed: timed out after 1s"]);
    talk.hears("", tools(&["a"]));
    talk.hears("", done(true));
    talk.wrote(&["cancel(req-1)[]", "cancel(req-2)[]"]);
    talk.happened(&["ready after Reload: a []"]);
}

#[test]
fn handshake_messages_outside_a_handshake_are_reported() {
    let mut talk = Talk::ready();
    talk.hears("", tools(&["surprise"]));
    talk.hears("", done(true));
    talk.hears("req-0", done(false));
    talk.happened(&["listed surprise", "late reload_response[]", "late reload_response[req-0]"]);
    talk.wrote(&[]);
}

#[test]
fn a_list_that_was_asked_for_by_a_call_is_its_answer() {
    let mut talk = Talk::ready();
    talk.request(ListToolsRequest {}, SECOND);
    talk.wrote(&["list_tools[req-1]"]);
    talk.hears("req-1", tools(&["a"]));
    talk.happened(&["req-1: tool_list"]);
}

#[test]
fn the_deadline_says_when_to_look_again() {
    let mut talk = Talk::new(Config::default());
    assert_eq!(talk.connection.poll_timeout(), None);
    talk.connection.begin(talk.now);
    let start = talk.now;
    let deadline = |connection: &Connection| connection.poll_timeout().map(|at| at - start);
    assert_eq!(deadline(&talk.connection), Some(30 * SECOND));
    talk.hears("req-0", tools(&[]));
    assert_eq!(deadline(&talk.connection), Some(QUIET));
    talk.hears("", done(true));
    assert_eq!(deadline(&talk.connection), None);
    talk.call(5 * SECOND);
    talk.call(3 * SECOND);
    talk.call(Duration::MAX);
    assert_eq!(deadline(&talk.connection), Some(3 * SECOND));
    talk.connection.reload(talk.now);
    talk.hears("", tools(&[]));
    assert_eq!(deadline(&talk.connection), Some(QUIET));
}

#[test]
fn a_registration_with_the_id_of_a_call_does_not_end_the_call() {
    let mut talk = Talk::ready();
    talk.call(SECOND);
    talk.wrote(&["call_tool[req-1]"]);
    talk.hears("req-1", middleware("late"));
    talk.wrote(&["register_middleware_response[req-1]"]);
    talk.hears("req-1", tools(&["other"]));
    talk.happened(&["late middleware late", "listed other"]);
    talk.hears("req-1", result("done"));
    talk.happened(&["req-1: result text done"]);
}
