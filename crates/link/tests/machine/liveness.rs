//! A process that answers pings, and one that falls silent.

use std::time::Duration;

use protomcp_envelope::{CallToolRequest, NO_TOOL, Ping, Pong};
use protomcp_link::{Closed, Config};

use super::talk::{SECOND, Talk, done, result, tools};

/// A process that answers pings is in service.
fn watched() -> Talk {
    let mut talk = Talk::ready();
    talk.connection.keep_alive(talk.now);
    talk
}

#[test]
fn a_process_that_answers_is_pinged_again() {
    let mut talk = watched();
    for id in ["req-1", "req-2", "req-3"] {
        talk.passes(30 * SECOND - Duration::from_millis(1));
        talk.is_quiet();
        talk.passes(Duration::from_millis(1));
        talk.wrote(&[&format!("ping[{id}]")]);
        talk.passes(29 * SECOND);
        talk.hears(id, Pong {});
        talk.happened(&[]);
    }
    // Any frame will do.
    talk.passes(29 * SECOND);
    talk.hears("s", Ping {});
    talk.wrote(&["pong[s]"]);
    talk.passes(29 * SECOND);
    talk.is_quiet();
}

#[test]
fn a_silent_process_without_requests_is_given_up() {
    let mut talk = watched();
    talk.passes(30 * SECOND);
    talk.wrote(&["ping[req-1]"]);
    talk.passes(30 * SECOND);
    talk.happened(&["closed: the tool process has not answered for 60s"]);
    assert_eq!(talk.connection.closed(), Some(&Closed::Silent(60 * SECOND)));
    assert_eq!(talk.connection.poll_timeout(), None);
}

/// The bridge asks for a sign of life, and none comes.
#[test]
fn a_probe_keeps_no_silent_process() {
    let mut talk = watched();
    talk.request(CallToolRequest { name: NO_TOOL.into(), ..CallToolRequest::default() }, 1_000 * SECOND);
    talk.wrote(&["call_tool[req-1]"]);
    talk.passes(30 * SECOND);
    talk.wrote(&["ping[req-2]"]);
    talk.passes(30 * SECOND);
    assert_eq!(talk.connection.closed(), Some(&Closed::Silent(60 * SECOND)));
}

#[test]
fn a_silent_process_with_requests_is_reported_once() {
    let mut talk = watched();
    talk.call(100 * SECOND);
    talk.wrote(&["call_tool[req-1]"]);
    talk.passes(30 * SECOND);
    talk.wrote(&["ping[req-2]"]);
    talk.passes(30 * SECOND);
    talk.happened(&["Silent { time: 60s, requests: 1 }"]);
    talk.passes(30 * SECOND);
    talk.is_quiet();
    // The call has ended for the bridge, and the process still says nothing.
    talk.passes(10 * SECOND);
    talk.happened(&["req-1 failed: timed out after 100s"]);
    talk.wrote(&["cancel(req-1)[]"]);
    talk.passes(20 * SECOND);
    talk.happened(&["closed: the tool process has not answered for 60s"]);
}

#[test]
fn a_reported_process_that_returns_stays() {
    let mut talk = watched();
    talk.call(200 * SECOND);
    talk.wrote(&["call_tool[req-1]"]);
    talk.passes(30 * SECOND);
    talk.wrote(&["ping[req-2]"]);
    talk.passes(50 * SECOND);
    talk.happened(&["Silent { time: 60s, requests: 1 }"]);
    talk.hears("req-1", result("done"));
    talk.hears("req-2", Pong {});
    talk.happened(&["req-1: result text done"]);
    talk.passes(30 * SECOND);
    talk.wrote(&["ping[req-3]"]);
}

#[test]
fn no_ping_is_sent_in_a_handshake_or_while_nothing_is_read() {
    let config = Config { reload_timeout: 300 * SECOND, ..Config::default() };
    let mut talk = Talk::ready_with(config);
    talk.connection.keep_alive(talk.now);
    talk.connection.reload(talk.now);
    talk.wrote(&["reload[req-1]"]);
    talk.passes(299 * SECOND);
    talk.is_quiet();
    talk.hears("", tools(&["echo"]));
    talk.hears("req-1", done(true));
    talk.happened(&["ready after Reload: echo []"]);
    talk.passes(29 * SECOND);
    talk.connection.reading_paused(talk.now);
    talk.passes(29 * SECOND);
    talk.is_quiet();
    talk.passes(SECOND);
    talk.wrote(&["ping[req-2]"]);
}
