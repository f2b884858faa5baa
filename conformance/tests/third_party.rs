//! A tool process written from the documentation alone, in plain JavaScript and in TypeScript.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use protomcp_conformance::{Host, Sandbox, eventually};
use serde_json::json;

/// Item 100.
#[test]
fn a_javascript_file_with_no_library_works_end_to_end() {
    let (host, sandbox) = javascript("dev");
    let names = host.names();
    assert!(names.is_sorted() && names.contains(&"work".to_owned()), "{names:?}");
    assert_eq!(host.tool("bare")["inputSchema"], json!({"type": "object"}));
    assert_eq!(host.text("echo", &json!({"text": "Grüße 🦀"})), "Grüße 🦀");
    assert_eq!(host.text("add", &json!({"a": 1, "b": 2})), "3", "a JSON string is its text");
    assert_eq!(host.text("whole", &json!({})), r#"{"n":1}"#);
    assert_eq!(host.call("structured", &json!({}))["structuredContent"], json!({"n": 1}));
    assert!(host.call("fail", &json!({}))["content"].to_string().contains("oil it"));
    assert_eq!(host.text("large", &json!({"size": 200_000})).len(), 200_000);

    // Tool list control from inside a handler.
    let active = host.text("hide", &json!({}));
    assert!(!active.split(' ').any(|name| name == "echo"), "{active}");
    assert!(!host.names().contains(&"echo".to_owned()));
    host.text("show", &json!({}));
    assert!(host.names().contains(&"echo".to_owned()));

    // A reload in the order of the documentation, by a process that does not read its file again.
    let text = fs::read_to_string(sandbox.path("tools.js")).expect("the file is there");
    sandbox.write("tools.js", text.replace(r#"const VERSION = "v0""#, r#"const VERSION = "v1""#));
    eventually("the new version", || (host.text("work", &json!({"id": 1, "ms": 0})) == "1 v1").then_some(()));
}

/// Items 100, 51.
#[test]
fn its_progress_and_its_cancellation_work() {
    let (host, _sandbox) = javascript("run");
    let params = json!({"name": "count", "arguments": {"to": 3}, "_meta": {"progressToken": 5}});
    let answer = host.answer(host.request("tools/call", &params));
    let told = host.notifications("notifications/progress", 0);
    assert_eq!(told.len(), 3);
    assert!(told.iter().all(|message| message.place < answer.place && message.value["params"]["progressToken"] == 5));

    let id = host.start_call("until_cancelled", &json!({}));
    host.tell("notifications/cancelled", &json!({"requestId": id}));
    assert_eq!(host.text("echo", &json!({"text": "next"})), "next");
    assert!(host.answered(id).is_none());
}

/// Items 100, 48.
#[test]
fn its_calls_run_concurrently_when_the_command_line_says_so() {
    let sandbox = Sandbox::new();
    sandbox.copy("third_party");
    let host = sandbox.pmcp(&["run", "tools.js", "--max-concurrent-calls", "8"]).start();
    host.initialize();
    let slow = host.start_call("sleep_ms", &json!({"ms": 2_000}));
    let quick = host.answer(host.start_call("echo", &json!({"text": "quick"})));
    assert!(host.answered(slow).is_none_or(|slow| slow.place > quick.place), "the quick call did not wait");
}

/// Items 100, 88.
#[test]
fn its_crash_is_reported_and_it_is_started_again() {
    let (host, _sandbox) = javascript("run");
    assert!(host.error_text("crash", &json!({})).contains("status 7"));
    assert_eq!(host.text("echo", &json!({"text": "again"})), "again");
}

/// Items 18, 100.
#[test]
fn a_typescript_file_runs_through_tsx() {
    let sandbox = Sandbox::new();
    sandbox.copy("third_party");
    sandbox.with_node();
    let host = sandbox.pmcp(&["run", "tools.ts"]).start();
    host.initialize();
    assert_eq!(host.names(), ["add", "echo", "pid", "spin"]);
    assert_eq!(host.text("add", &json!({"a": 20, "b": 22})), "42");
}

/// Item 100.
#[test]
fn a_program_on_the_codec_crate_alone_works_end_to_end() {
    let sandbox = Sandbox::new();
    let host = sandbox.pmcp(&["run"]).arg(codec_example()).start();
    host.initialize();
    assert!(host.names().contains(&"echo".to_owned()));
    assert_eq!(host.text("echo", &json!({"text": "built on the codec"})), "built on the codec");
    assert_eq!(host.text("add", &json!({"a": 1, "b": 2})), "3");
    let calls: Vec<u64> = (0..4).map(|_| host.start_call("sleep_ms", &json!({"ms": 100}))).collect();
    for id in calls {
        assert_ne!(host.answer(id).value["result"]["isError"], true);
    }
}

/// Builds the codec's example of a tool process, outside the other packages' features.
fn codec_example() -> PathBuf {
    let built = protomcp_conformance::relay();
    let profile = built.parent().expect("a program lies in a folder");
    let target = profile.parent().expect("a profile's folder lies in the target folder");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--quiet", "--package", "protomcp-codec", "--example", "tool_peer", "--target-dir"])
        .arg(target);
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    let status = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status().expect("cargo starts");
    assert!(status.success(), "the example does not build");
    profile.join("examples/tool_peer")
}

fn javascript(command: &str) -> (Host, Sandbox) {
    let sandbox = Sandbox::new();
    sandbox.copy("third_party");
    let host = sandbox.pmcp(&[command, "tools.js"]).start();
    host.initialize();
    eventually("the tools", || (!host.names().is_empty()).then_some(()));
    (host, sandbox)
}
