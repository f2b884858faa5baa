//! Whose turn it is, with SDKs that run one handler at a time.

use protomcp_conformance::session;
use serde_json::json;

/// Item 47.
#[test]
fn a_python_handler_that_sleeps_past_its_time_costs_the_next_call_nothing_of_its_own() {
    let (host, _sandbox) = session("run", "py/basics.py", &["--call-timeout", "3s"]);
    let first = host.start_call("sleep_ms", &json!({"ms": 5000}));
    // Its turn comes when the handler before it has ended, two seconds after that was given up; it takes two more.
    let second = host.start_call("sleep_ms", &json!({"ms": 2000}));
    let answer = host.answer(first);
    let text = answer.value["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert_eq!(text, r#"call tool "sleep_ms" timed out after 3s"#);
    assert!(host.answered(second).is_none(), "the host hears at once");
    let answer = host.answer(second);
    assert_ne!(answer.value["result"]["isError"], true, "{}", answer.value);
    assert_eq!(host.text("echo", &json!({"text": "next"})), "next");
}

#[test]
fn a_python_handler_that_minds_its_cancellation_keeps_nobody_waiting() {
    // The first waits for ever; the next one has its turn long before a silent process would be sent it.
    let (host, sandbox) = session("run", "py/basics.py", &["--queue-timeout", "1m"]);
    let note = sandbox.path("note");
    let id = host.start_call("until_cancelled", &json!({"note": note}));
    let read = || std::fs::read_to_string(&note).unwrap_or_default();
    protomcp_conformance::eventually("the handler to run", || (read() == "running").then_some(()));
    host.tell("notifications/cancelled", &json!({"requestId": id}));
    assert_eq!(host.text("echo", &json!({"text": "next"})), "next");
}
