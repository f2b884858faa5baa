//! Calls: correlation, progress, deadlines, cancellation, and every end.

use std::time::Duration;

use protomcp_session::{
    CallId, Channel, ClientConfig, ClientLimits, CloseReason, Mode, NoAnswer, OpenError, OutgoingCall, Pings,
    RequestError, TaskWish,
};
use protomcp_types::{ErrorObject, Level, Params, RequestId};

use super::wire::{DISCOVERED, INITIALIZED, Wire};

#[test]
fn answers_belong_to_calls_by_their_id() {
    let mut wire = Wire::stateful(|_| {});
    wire.call("a");
    wire.call("b");
    assert_eq!(
        wire.sent(),
        [
            r#"{"id":2,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"id":3,"method":"tools/call","params":{"name":"b"}}"#
        ]
    );
    for text in
        [r#""id":3,"result":{"b":1}"#, r#""id":3,"result":{}"#, r#""id":"2","result":{}"#, r#""id":9,"result":{}"#]
    {
        wire.server(text);
    }
    wire.server(r#""id":null,"error":{"code":-32700,"message":"what"}"#);
    assert_eq!(
        wire.events(),
        [
            r#"call 2 after 0: {"b":1}"#,
            "ignored: an answer to nothing that was asked",
            "ignored: an answer to nothing that was asked",
            "ignored: an answer to nothing that was asked",
            // Only one request is open, so the error can be meant for no other.
            "call 1 failed: the server refused the request: what (-32700)",
        ]
    );
    assert_eq!(wire.connection.pending(), 0);
}

#[test]
fn progress_increases_and_ends_with_the_answer() {
    let mut wire = Wire::stateful(|_| {});
    wire.call_with("a", |call| call.wants_progress = true);
    wire.call("b");
    assert!(wire.sent()[0].contains(r#""_meta":{"progressToken":2}"#));
    let report = |wire: &mut Wire, token: &str, progress: &str| {
        wire.server(&format!(
            r#""method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress}}}"#
        ));
        wire.events().remove(0)
    };
    assert_eq!(report(&mut wire, "2", "1"), "call 1 progress 1");
    assert_eq!(report(&mut wire, "2", "1"), "ignored: progress that does not increase");
    assert_eq!(report(&mut wire, "2", "0.5"), "ignored: progress that does not increase");
    assert_eq!(report(&mut wire, "2", "1.5"), "call 1 progress 1.5");
    assert_eq!(report(&mut wire, "\"2\"", "2"), "ignored: progress of nothing that is running");
    assert_eq!(report(&mut wire, "3", "2"), "ignored: progress of nothing that is running");
    wire.server(r#""id":2,"result":{}"#);
    wire.events();
    assert_eq!(report(&mut wire, "2", "3"), "ignored: progress of nothing that is running");
}

#[test]
fn a_deadline_moves_with_progress_up_to_a_cap() {
    let mut wire = Wire::stateful(|_| {});
    wire.call_with("a", |call| {
        call.wants_progress = true;
        call.timeout = Some(Duration::from_secs(10));
        call.total_timeout = Some(Duration::from_secs(35));
    });
    wire.sent();
    for progress in 1..=3 {
        wire.wait(9);
        wire.server(&format!(
            r#""method":"notifications/progress","params":{{"progressToken":2,"progress":{progress}}}"#
        ));
        assert_eq!(wire.events(), [format!("call 1 progress {progress}")]);
    }
    wire.wait(8);
    assert_eq!(wire.events(), ["call 1 failed: the server did not answer within 35s"]);
    assert_eq!(wire.sent(), [r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#]);

    wire.call_with("b", |call| call.timeout = Some(Duration::from_secs(10)));
    wire.sent();
    wire.wait(10);
    assert_eq!(wire.events(), ["call 2 failed: the server did not answer within 10s"]);
    assert_eq!(wire.connection.deadline(), None);
}

#[test]
fn a_cancelled_call_is_withdrawn_and_forgotten() {
    for (is_stateless, channel, told) in [
        (false, Channel::Shared, r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#),
        (false, Channel::Exchanges, r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#),
        (true, Channel::Shared, r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#),
        (true, Channel::Exchanges, "close 2"),
    ] {
        let change = |config: &mut ClientConfig| config.channel = channel;
        let mut wire = if is_stateless { Wire::stateless(change) } else { Wire::stateful(change) };
        let call = wire.call("a");
        wire.sent();
        wire.connection.cancel(call);
        wire.connection.cancel(call);
        assert_eq!(wire.sent(), [told]);
        wire.server(r#""id":2,"result":{}"#);
        assert_eq!(wire.events(), ["ignored: an answer to nothing that was asked"]);
        assert_eq!(wire.connection.pending(), 0);
    }
}

#[test]
fn a_lost_session_is_replaced_and_its_calls_are_repeated() {
    let mut wire = Wire::stateful(|config| config.channel = Channel::Exchanges);
    wire.call("a");
    wire.call("b");
    wire.sent();
    wire.lost(2, NoAnswer::SessionLost);
    wire.lost(3, NoAnswer::SessionLost);
    wire.call("c");
    let sent = wire.sent();
    assert_eq!(sent.len(), 1, "one handshake for all: {sent:?}");
    wire.server(&INITIALIZED.replace(r#""id":1"#, r#""id":4"#));
    assert_eq!(
        wire.sent()[2..],
        [
            r#"{"id":5,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"id":6,"method":"tools/call","params":{"name":"b"}}"#,
            r#"{"id":7,"method":"tools/call","params":{"name":"c"}}"#
        ]
    );
    assert_eq!(wire.events(), ["opened 2025-11-25"]);
    wire.lost(7, NoAnswer::Connection);
    assert_eq!(wire.events(), ["call 3 failed: the server did not answer: gone"]);
    // A server that loses every session is given up.
    for round in 0..2 {
        wire.lost(5 + round * 3, NoAnswer::SessionLost);
        wire.lost(6 + round * 3, NoAnswer::SessionLost);
        let id = 8 + round * 3;
        wire.server(&INITIALIZED.replace(r#""id":1"#, &format!(r#""id":{id}"#)));
    }
    wire.events();
    wire.lost(12, NoAnswer::SessionLost);
    assert_eq!(wire.events(), ["call 1 failed: the server did not answer: gone"]);
}

#[test]
fn every_end_fails_every_call() {
    for reason in [
        CloseReason::Requested,
        CloseReason::ByServer(Some("exited with status 1".into())),
        CloseReason::Failed("broken pipe".into()),
    ] {
        let mut wire = Wire::stateful(|_| {});
        wire.call("a");
        let asking = wire.call("b");
        wire.connection.close(reason.clone());
        wire.connection.close(CloseReason::Unresponsive);
        wire.connection.cancel(asking);
        let failed = |call| format!("call {call} failed: {reason}");
        assert_eq!(wire.events(), [failed(1), failed(2), format!("closed: {reason}")]);
        wire.call("c");
        assert_eq!(wire.events(), [failed(3)]);
        assert_eq!((wire.connection.deadline(), wire.connection.pending()), (None, 0));
    }
    let mut wire = Wire::new(|_| {});
    wire.call("early");
    wire.connection.close(CloseReason::Requested);
    assert_eq!(wire.events(), ["call 1 failed: the connection was closed", "closed: the connection was closed"]);
}

#[test]
fn calls_are_bounded() {
    let mut wire = Wire::stateful(|config| config.limits.max_pending = 1);
    wire.call("a");
    wire.call("b");
    assert_eq!(wire.events(), ["call 2 failed: too many requests wait for an answer"]);
}

#[test]
fn silence_is_answered_with_pings() {
    let pings = Pings { every: Duration::from_secs(10), misses: 2 };
    let mut wire = Wire::stateful(|config| config.limits.keep_alive = Some(pings));
    wire.wait(10);
    assert_eq!(wire.sent(), [r#"{"id":2,"method":"ping"}"#]);
    wire.server(r#""id":2,"error":{"code":-32601,"message":"unknown"}"#);
    wire.wait(10);
    wire.lost(3, NoAnswer::Connection);
    wire.wait(10);
    wire.wait(10);
    assert_eq!(wire.events(), ["closed: the server stopped answering"]);
}

#[test]
fn log_levels_travel_with_stateless_requests() {
    let mut wire = Wire::stateless(|config| config.log_level = Some(Level::Info));
    wire.call("a");
    assert!(wire.sent()[0].contains(r#""io.modelcontextprotocol/logLevel":"info""#));
    wire.connection.set_log_level(None);
    wire.call("a");
    assert!(!wire.sent()[0].contains("logLevel"));
}

#[test]
fn a_lost_transport_fails_calls_and_is_replaced() {
    for mode in [Mode::Stateful, Mode::Stateless] {
        let mut wire = if mode == Mode::Stateful { Wire::stateful(|_| {}) } else { Wire::stateless(|_| {}) };
        wire.call("a");
        wire.server(r#""method":"notifications/x""#);
        wire.connection.suspend(&CloseReason::ByServer(None));
        wire.connection.suspend(&CloseReason::ByServer(None));
        wire.call("b");
        assert_eq!(
            wire.events(),
            ["told notifications/x", "call 1 failed: the server closed the connection"],
            "a later call waits"
        );
        assert!(wire.sent().is_empty());
        wire.connection.resume(wire.now);
        let opening = wire.sent();
        let method = if mode == Mode::Stateful { "initialize" } else { "server/discover" };
        assert!(opening.len() == 1 && opening[0].contains(method), "{opening:?}");
        let opened = if mode == Mode::Stateful { INITIALIZED } else { DISCOVERED };
        wire.server(&opened.replace(r#""id":1"#, r#""id":3"#));
        assert!(wire.sent().last().unwrap().contains(r#""id":4,"method":"tools/call","params":{"name":"b""#));
        wire.server(r#""id":2,"result":{}"#);
        assert_eq!(wire.events()[1..], ["ignored: an answer to nothing that was asked"]);
    }
}

#[test]
fn endless_times_are_cut() {
    let mut wire = Wire::new(|config| {
        config.limits = ClientLimits {
            discover_timeout: Duration::MAX,
            open_timeout: Duration::MAX,
            timeout: Duration::MAX,
            total_timeout: Duration::MAX,
            task_timeout: Duration::MAX,
            keep_alive: Some(Pings { every: Duration::MAX, misses: 1 }),
            ..ClientLimits::default()
        };
        config.mode = Mode::Stateful;
    });
    wire.server(INITIALIZED);
    wire.call_with("a", |call| {
        call.timeout = Some(Duration::MAX);
        call.total_timeout = Some(Duration::MAX);
        call.task = Some(TaskWish::default());
    });
    wire.server(r#""id":2,"result":{"task":{"taskId":"t","status":"completed"}}"#);
    assert!(wire.connection.deadline().unwrap() > wire.now + Duration::from_secs(9 * 366 * 24 * 3600));
    wire.server(r#""id":3,"result":{}"#);
    assert_eq!(wire.events().last().unwrap(), "call 1 after 0: {}");
}

#[test]
fn limits_of_zero_fail_immediately_and_never_spin() {
    let none = Duration::ZERO;
    let zero = |limits: &mut ClientLimits| {
        *limits = ClientLimits {
            discover_timeout: none,
            open_timeout: none,
            timeout: none,
            total_timeout: none,
            task_timeout: none,
            max_pending: 0,
            max_unwritten: 0,
            max_incoming: 0,
            max_incoming_bytes: 0,
            max_rounds: 0,
            keep_alive: Some(Pings { every: none, misses: 0 }),
        }
    };
    let mut wire = Wire::new(|config| zero(&mut config.limits));
    wire.wait(0);
    assert!(wire.connection.closed().is_some(), "there is no time to open it");
    for (change, expected) in [
        (
            &(|limits: &mut ClientLimits| limits.timeout = none) as &dyn Fn(&mut _),
            "call 1 failed: the server did not answer within 0ns",
        ),
        (
            &|limits: &mut ClientLimits| limits.total_timeout = none,
            "call 1 failed: the server did not answer within 0ns",
        ),
        (&|limits: &mut ClientLimits| limits.max_pending = 0, "call 1 failed: too many requests wait for an answer"),
    ] {
        let mut wire = Wire::stateful(|config| change(&mut config.limits));
        wire.call("a");
        wire.wait(0);
        assert_eq!(wire.events(), [expected]);
        assert_eq!((wire.connection.pending(), wire.connection.closed()), (0, None));
    }
    for (every, misses) in [(0, 0), (0, 1), (0, u32::MAX), (u64::MAX, 0), (u64::MAX, u32::MAX)] {
        let every = Duration::from_secs(every);
        let mut wire = Wire::stateful(|config| config.limits.keep_alive = Some(Pings { every, misses }));
        wire.sent();
        for _ in 0..1000 {
            let due = wire.connection.deadline().expect("a ping is due, or the end");
            assert!(due > wire.now, "it would be due without end");
            wire.connection.time(wire.now);
            assert!(wire.sent().is_empty());
        }
        wire.now = wire.connection.deadline().unwrap();
        wire.connection.time(wire.now);
        let pings = wire.sent();
        assert!(pings.len() == 1 && pings[0].contains("ping"), "{every:?} {misses}: {pings:?}");
        assert_eq!(wire.connection.closed(), None, "a server is asked before it is given up");
    }
}

#[test]
fn a_malformed_message_concerns_its_own_request_alone() {
    let mut wire = Wire::stateful(|_| {});
    wire.call("a");
    wire.sent();
    for (text, reply) in [
        (
            r#""id":2,"method":5"#,
            r#"{"id":2,"error":{"code":-32600,"message":"invalid request: method must be a string"}}"#,
        ),
        (
            r#""id":2,"method":"roots/list","params":5"#,
            r#"{"id":2,"error":{"code":-32600,"message":"invalid request: params must be an object"}}"#,
        ),
    ] {
        wire.malformed(text);
        assert_eq!((wire.sent(), wire.events()), (vec![reply.to_owned()], vec![]));
    }
    wire.malformed(r#""method":5"#);
    wire.malformed(r#""id":9,"result":{},"error":{}"#);
    let nothing = "ignored: a message that cannot be read";
    assert_eq!((wire.sent(), wire.events()), (vec![], vec![nothing.to_owned(), nothing.to_owned()]));
    for (text, why) in [
        (r#""id":ID,"result":{},"error":{"code":1,"message":"m"}"#, "both result and error"),
        (r#""id":ID,"error":"no""#, "error must have a code and a message"),
        (r#""id":ID"#, "no method"),
    ] {
        let mut wire = Wire::stateful(|_| {});
        wire.call("a");
        wire.sent();
        wire.malformed(&text.replace("ID", "2"));
        let failed = format!("call 1 failed: the answer of the server is invalid: invalid request: {why}");
        assert_eq!((wire.sent(), wire.events()), (vec![], vec![failed]));
    }
}

#[test]
fn a_wait_for_a_slot_is_not_the_time_of_the_server() {
    let mut wire = Wire::stateful(|config| config.channel = Channel::Exchanges);
    wire.call("waits");
    wire.call("hangs");
    wire.sent();
    wire.now += Duration::from_secs(60);
    let ids = wire.connection.late_requests(wire.now);
    assert_eq!(ids, [RequestId::from(2), RequestId::from(3)]);
    // The first has no slot yet, the second had one from the beginning.
    wire.connection.postpone(&RequestId::from(2), wire.now);
    wire.wait(0);
    assert_eq!(wire.events(), ["call 2 failed: the server did not answer within 60s"]);
    wire.now += Duration::from_secs(60);
    assert_eq!(wire.connection.late_requests(wire.now), [RequestId::from(2)]);
    wire.connection.postpone(&RequestId::from(2), wire.now - Duration::from_secs(10));
    wire.wait(49);
    assert!(wire.events().is_empty());
    wire.wait(1);
    assert_eq!(wire.events(), ["call 1 failed: the server did not answer within 60s"]);
    // The time in all goes on.
    wire.call("waits");
    for _ in 0..10 {
        wire.now += Duration::from_secs(60);
        for id in wire.connection.late_requests(wire.now) {
            wire.connection.postpone(&id, wire.now);
        }
        wire.wait(0);
    }
    assert_eq!(wire.events(), ["call 3 failed: the server did not answer within 600s"]);
}

#[test]
fn the_time_in_all_may_have_begun_earlier() {
    let mut wire = Wire::stateful(|_| {});
    wire.call_with("a", |call| {
        call.timeout = Some(Duration::from_secs(1000));
        call.elapsed = Duration::from_secs(500);
    });
    wire.wait(99);
    assert!(wire.events().is_empty());
    wire.wait(1);
    assert_eq!(wire.events(), ["call 1 failed: the server did not answer within 600s"]);
}

#[test]
fn requests_of_the_driver_need_no_place() {
    let mut wire = Wire::stateful(|config| config.limits.max_pending = 0);
    wire.connection.call_beyond_limit(wire.now, CallId::new(7), OutgoingCall::new("a/b", Params::Absent));
    assert_eq!((wire.sent().len(), wire.events()), (1, vec![]));
}

#[test]
fn errors_that_may_pass_are_retryable() {
    let error = || ErrorObject::internal("no");
    for (open, is_retryable) in [
        (OpenError::TimedOut(Duration::ZERO), true),
        (OpenError::Unanswered { why: NoAnswer::NotSent, error: error() }, true),
        (OpenError::Unanswered { why: NoAnswer::Connection, error: error() }, true),
        (OpenError::Unanswered { why: NoAnswer::Status(503), error: error() }, true),
        (OpenError::Unanswered { why: NoAnswer::Status(429), error: error() }, true),
        (OpenError::Unanswered { why: NoAnswer::Status(404), error: error() }, false),
        (OpenError::Unanswered { why: NoAnswer::Unauthorized, error: error() }, false),
        (OpenError::Refused(error()), false),
        (OpenError::InvalidAnswer(String::new()), false),
    ] {
        let closed = RequestError::Closed(CloseReason::NotOpened(open.clone()));
        assert_eq!(closed.is_retryable(), is_retryable, "{open}");
    }
}
