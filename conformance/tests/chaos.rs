//! Kills at random moments: the tool process, `pmcp`, the host. No orphan, no socket and no unanswered call remains.
//!
//! A printed seed determines the moments, so a failed round can be repeated with `PMCP_SEED`.

pub(crate) mod moments;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use protomcp_conformance::{Sandbox, Stage, eventually, living, peers, pmcp, tier, tool};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::chaos::moments::rounds;

/// Item 88.
#[test]
fn killing_the_tool_process_at_any_moment_loses_no_answer() {
    rounds("tool", tier(20, 200), |random| {
        let sandbox = Sandbox::new();
        sandbox.copy("third_party");
        let host = sandbox.pmcp(&["run", "tools.js", "--max-concurrent-calls", "8"]).start();
        host.initialize();
        // A process that is killed before it has served anything ends pmcp: that is a failed start, not a crash.
        assert!(!host.names().is_empty());
        for turn in 1..=tier(1, 3) {
            // It runs when the process is killed, however late that is on a busy machine.
            let long = host.start_call("work", &json!({"id": turn, "ms": 3_600_000}));
            eventually("the long call to run", || (notes(&sandbox) == turn).then_some(()));
            let calls: Vec<(u64, u64)> = (1..8)
                .map(|n| {
                    let ms = n * 10 + random.below(10);
                    (host.start_call("sleep_ms", &json!({"ms": ms})), ms)
                })
                .collect();
            // A moment of the calls' own time, which passes more slowly on a busy machine: after a number of answers.
            let answers = random.below(8);
            eventually("the answers before the kill", || {
                let answered = calls.iter().filter(|(call, _)| host.answered(*call).is_some()).count() as u64;
                (answered >= answers).then_some(())
            });
            thread::sleep(Duration::from_millis(random.below(10)));
            let children = living(sandbox.marker());
            let node = children.iter().find(|child| child.command.starts_with("node ") || child.command == "node");
            let node = node.unwrap_or_else(|| panic!("no tool process lives: {children:?}"));
            assert!(kill(node.pid), "it was gone before it was killed");
            assert_crashed(&host.answer(long).value["result"]);
            let mut finished = 0;
            for (call, ms) in calls {
                let answer = host.answer(call);
                let result = &answer.value["result"];
                // A call that was still queued when its process was killed runs in the next process.
                if result["content"][0]["text"] == format!("slept {ms}") {
                    finished += 1;
                } else {
                    assert_crashed(result);
                }
            }
            assert!(finished >= answers, "{finished} calls finished, and {answers} were answered before the kill");
            eventually("the process to be back", || {
                (host.call("echo", &json!({"text": "back"}))["content"][0]["text"] == "back").then_some(())
            });
            host.stderr_with("the tool process was killed by signal 9 (SIGKILL)");
        }
    });
}

/// The number of calls that have begun to work.
fn notes(sandbox: &Sandbox) -> usize {
    fs::read_to_string(sandbox.path("work.log")).unwrap_or_default().lines().count()
}

/// The result of a call whose process was killed.
fn assert_crashed(result: &Value) {
    let error = &result["_meta"]["protomcp/error"];
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!((&error["error_code"], &error["retryable"]), (&json!("TOOL_PROCESS_CRASHED"), &json!(true)), "{result}");
    assert!(result["content"][0]["text"].as_str().unwrap_or_default().contains("SIGKILL"), "{result}");
}

/// Item 90.
#[test]
fn killing_pmcp_at_any_moment_leaves_nothing() {
    let bin = peers().join("py/bin/python");
    assert!(bin.exists());
    rounds("pmcp", tier(20, 200), |random| {
        let sandbox = Sandbox::new();
        sandbox.copy("py/family.py");
        sandbox.copy("third_party");
        sandbox.with_node();
        let file = if random.below(3) == 0 { "tools.ts" } else { "family.py" };
        let host = sandbox.pmcp(&["run", file]).start();
        host.line(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#);
        // From the first instant to well after the whole start.
        thread::sleep(Duration::from_millis(random.below(600)));
        assert!(host.exited().is_none(), "pmcp was gone before it was killed: {}", host.stderr());
        host.signal(Signal::KILL);
        assert_eq!(host.exit().signal(), Some(Signal::KILL.as_raw()));
        host.no_orphans();
        assert!(sandbox.leftovers().is_empty(), "{:?}", sandbox.leftovers());
    });
}

/// Item 90.
#[test]
fn killing_the_host_at_any_moment_leaves_nothing() {
    rounds("host", tier(20, 200), |random| {
        let sandbox = Sandbox::new();
        sandbox.copy("py/family.py");
        let prepared = sandbox.pmcp(&[]).command();
        let mut command = Command::new(peers().join("py/bin/python"));
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/hosts/fragile.py")).arg(pmcp()).args(["run", "family.py"]);
        command
            .envs(prepared.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(sandbox.path(""));
        let mut host = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the host starts");
        let mut lines = BufReader::new(host.stdout.take().expect("stdout is piped")).lines();
        lines.next().expect("the host names its server").expect("in UTF-8");
        if random.below(2) == 0 {
            lines.next().expect("a call is answered").expect("in UTF-8");
        }
        thread::sleep(Duration::from_millis(random.below(200)));
        host.kill().expect("the host lives");
        let status = host.wait().expect("the host can be waited for");
        assert_eq!(status.signal(), Some(Signal::KILL.as_raw()), "the host was gone before it was killed");
        eventually(&format!("the end of {:#?}", living(sandbox.marker())), || {
            living(sandbox.marker()).is_empty().then_some(())
        });
        assert!(sandbox.leftovers().is_empty(), "{:?}", sandbox.leftovers());
    });
}

/// Item 88.
#[test]
fn a_process_killed_in_mid_frame_fails_only_its_calls() {
    rounds("frame", tier(20, 200), |random| {
        let sandbox = Sandbox::new();
        let stage = Stage::new(&sandbox);
        let host = stage.pmcp(&sandbox, &["run", "./relay"]).start();
        let mut peer = stage.accept();
        peer.handshake(vec![tool("echo")]);
        host.initialize();
        let calls: Vec<u64> = (0..3).map(|_| host.start_call("echo", &json!({}))).collect();
        let (first, _) = peer.call();
        let answer = protomcp_envelope::Envelope::new(
            first,
            protomcp_envelope::CallToolResponse { result_json: r#""whole""#.into(), ..Default::default() },
        );
        let frame = protomcp_conformance::frame(&answer);
        let cut = usize::try_from(random.below(frame.len() as u64 + 1)).expect("a short frame");
        peer.bytes(&frame[..cut]);
        peer.signal(Signal::KILL);
        for (n, call) in calls.into_iter().enumerate() {
            let result = host.answer(call).value["result"].take();
            let whole = n == 0 && cut == frame.len() && result["content"][0]["text"] == "whole";
            if !whole {
                assert_crashed(&result);
            }
        }
        let mut fresh = stage.accept();
        fresh.handshake(vec![tool("echo")]);
    });
}

/// True if the process was alive.
fn kill(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id is positive");
    kill_process(pid, Signal::KILL).is_ok()
}
