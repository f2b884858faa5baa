//! The end of a link: every call fails once, `Closed` is the last event, and later input has no effect.

use protomcp_codec::{Field, Raw};
use protomcp_envelope::{ListPromptsRequest, LogMessage, RegisterMiddlewareRequest};
use protomcp_link::{Closed, Config};

use super::talk::{SECOND, Talk, call_tool, done, result, tools};

#[test]
fn closing_fails_every_call_once_and_says_so_last() {
    let mut talk = Talk::ready();
    talk.call(SECOND);
    talk.list_prompts();
    talk.connection.reload(talk.now);
    let held = talk.call(SECOND);
    let cancelled = talk.call(SECOND);
    talk.connection.cancel(cancelled);
    talk.hears_raw(&{
        let mut raw = Raw::new("req-1", Field::ResultJson, "kept");
        raw.header.followed_by_result = true;
        raw
    });
    assert_eq!(talk.connection.closed(), None);
    talk.connection.close(Closed::ByPeer);
    let failed = "failed: the link to the tool process closed: the tool process disconnected";
    talk.happened(&[
        &format!("req-1 {failed}"),
        &format!("req-2 {failed}"),
        &format!("{held} {failed}"),
        "closed: the tool process disconnected",
    ]);
    assert_eq!(talk.connection.closed(), Some(&Closed::ByPeer));
    talk.connection.close(Closed::Here);
    talk.happened(&[]);
    assert_eq!(talk.connection.closed(), Some(&Closed::ByPeer), "the first reason stays");
}

#[test]
fn after_the_end_neither_the_peer_nor_the_clock_has_any_effect() {
    // Closed in the middle of a handshake, so that a deadline is running.
    let mut talk = Talk::new(Config::default());
    talk.connection.begin(talk.now);
    talk.wrote(&["list_tools[req-0]"]);
    talk.connection.close(Closed::Here);
    talk.happened(&["closed: it was closed on purpose"]);
    assert_eq!(talk.connection.poll_timeout(), None);

    talk.hears("req-0", tools(&["a"]));
    talk.hears("", RegisterMiddlewareRequest::default());
    talk.hears("", done(true));
    talk.hears("req-0", result("?"));
    talk.hears_bytes(&[0xff; 100]);
    talk.passes(60 * SECOND);
    talk.is_quiet();
}

#[test]
fn after_the_end_the_owner_says_nothing_more() {
    let mut talk = Talk::ready();
    let call = talk.call(SECOND);
    talk.wrote(&["call_tool[req-1]"]);
    talk.connection.close(Closed::Io("no such thing".into()));
    talk.events();
    talk.connection.cancel(call);
    talk.connection.interrupt();
    talk.connection.reply("x", LogMessage::default().into());
    talk.connection.notify(LogMessage::default().into());
    talk.connection.reply_raw(&Raw::new("x", Field::ResultJson, "x"));
    talk.connection.begin(talk.now);
    talk.connection.reload(talk.now);
    talk.is_quiet();
    assert_eq!(talk.connection.poll_timeout(), None);
}

#[test]
fn a_call_after_the_end_fails_with_the_reason_of_the_end() {
    let mut talk = Talk::ready();
    talk.connection.close(Closed::Io("no such thing".into()));
    talk.events();
    talk.request(ListPromptsRequest {}, SECOND);
    talk.request(call_tool(""), SECOND);
    let failed = "failed: the link to the tool process closed: input or output failed: no such thing";
    talk.happened(&[&format!("req-1 {failed}"), &format!("req-2 {failed}")]);
    talk.wrote(&[]);
}

#[test]
fn what_was_said_before_the_end_can_still_be_written() {
    let mut talk = Talk::ready();
    let call = talk.call(SECOND);
    talk.connection.cancel(call);
    talk.connection.close(Closed::Here);
    talk.wrote(&["call_tool[req-1]", "cancel(req-1)[]"]);
}

#[test]
fn calls_during_a_handshake_that_never_ends_fail_with_the_link() {
    let mut talk = Talk::new(Config::default());
    talk.connection.begin(talk.now);
    talk.call(SECOND);
    talk.connection.close(Closed::Broken("half a frame".into()));
    talk.happened(&[
        "req-1 failed: the link to the tool process closed: the tool process sent bytes that cannot be understood: half a frame",
        "closed: the tool process sent bytes that cannot be understood: half a frame",
    ]);
}
