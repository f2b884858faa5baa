//! The end of a session, which leaves nothing behind (docs/envelope.md, "The end").

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use protomcp_conformance::{Host, Sandbox, Scene, Web, eventually, living, peers, session};
use rustix::process::Signal;
use serde_json::json;

/// Item 90.
#[test]
fn every_way_to_end_leaves_no_descendant_and_no_socket() {
    for end in ["hang up", "SIGTERM", "SIGINT", "SIGKILL"] {
        let (host, sandbox) = session("run", "py/family.py", &[]);
        assert_eq!(host.text("echo", &json!({"text": end})), end);
        // pmcp, its guardian and the tool process, and four sleepers and spinners.
        assert!(living(sandbox.marker()).len() >= 6, "the family is there: {:#?}", living(sandbox.marker()));
        finish(&host, end);
        let code = host.exit().code();
        if end != "SIGKILL" {
            assert_eq!(code, Some(0), "after {end}");
        }
        host.no_orphans();
        assert!(sandbox.leftovers().is_empty(), "after {end}: {:?}", sandbox.leftovers());
    }
}

/// Item 90.
#[test]
fn wrappers_and_their_children_are_ended_too() {
    // Each wrapper with the words that identify it and its child process.
    let wrappers: [(Start, [&str; 2]); 2] =
        [(typescript, ["npm exec tsx", "/preflight.cjs"]), (uv, ["/uv run python stuck.py", "bin/python stuck.py"])];
    for (start, family) in wrappers {
        for end in ["hang up", "SIGTERM", "SIGKILL"] {
            let (host, sandbox) = start();
            let id = host.start_call("spin", &json!({}));
            host.ask("ping", &json!({}));
            let alive = living(sandbox.marker());
            for member in family {
                assert!(alive.iter().any(|orphan| orphan.command.contains(member)), "no {member}: {alive:#?}");
            }
            finish(&host, end);
            host.exit();
            host.no_orphans();
            assert!(sandbox.leftovers().is_empty());
            if end != "SIGKILL" {
                is_notified_of_the_end(&host, id);
            }
        }
    }
}

/// Item 90.
#[test]
fn an_endless_handler_that_ignores_sigterm_is_killed() {
    let (host, sandbox) = session("run", "py/stuck.py", &["--drain-timeout", "200ms"]);
    let id = host.start_call("spin", &json!({}));
    eventually("the handler to run", || sandbox.path("spinning").exists().then_some(()));
    host.hang_up();
    assert_eq!(host.exit().code(), Some(0));
    host.no_orphans();
    is_notified_of_the_end(&host, id);
}

/// Item 30.
#[test]
fn a_call_that_waits_for_the_start_is_told_of_the_end() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/never_connects.py");
    let host = sandbox.pmcp(&["run", "never_connects.py", "--drain-timeout", "200ms"]).start();
    host.initialize();
    let id = host.start_call("anything", &json!({}));
    host.hang_up();
    assert_eq!(host.exit().code(), Some(0));
    is_notified_of_the_end(&host, id);
}

/// An unfinished call has exactly one answer, which gives the reason.
fn is_notified_of_the_end(host: &Host, id: u64) {
    let answer = host.answer(id);
    assert_eq!(answer.value["result"]["isError"], true, "{}", answer.text);
    let error = &answer.value["result"]["_meta"]["protomcp/error"];
    assert_eq!(error["error_code"], "SHUTTING_DOWN", "{}", answer.text);
    assert_eq!(host.seen().iter().filter(|message| message.value["id"] == id).count(), 1);
}

/// Item 30.
#[test]
fn a_call_in_flight_is_answered_within_the_drain_time() {
    let mut scene = Scene::open(&[], &["slow"]);
    let id = scene.host.start_call("slow", &json!({}));
    let (call, _) = scene.peer.call();
    scene.host.hang_up();
    scene.peer.result(&call, r#""in time""#);
    assert_eq!(scene.host.answer(id).value["result"]["content"][0]["text"], "in time");
    drop(scene.peer);
    assert_eq!(scene.host.exit().code(), Some(0));
}

/// Items 30, 90.
#[test]
fn a_second_signal_skips_the_drain_and_fails_every_call() {
    let scene = Scene::open(&["--drain-timeout", "10m", "--max-concurrent-calls", "1"], &["slow"]);
    let (running, waiting) = (scene.host.start_call("slow", &json!({})), scene.host.start_call("slow", &json!({})));
    let mut peer = scene.peer;
    peer.call();
    scene.host.signal(Signal::TERM);
    scene.host.stderr_with("press Ctrl-C again");
    scene.host.signal(Signal::INT);
    for call in [running, waiting] {
        let answer = scene.host.answer(call);
        let error = &answer.value["result"]["_meta"]["protomcp/error"];
        assert_eq!(error["error_code"], "SHUTTING_DOWN", "{}", answer.text);
    }
    assert_eq!(scene.host.exit().code(), Some(0));
    scene.host.no_orphans();
}

/// Items 30, 90.
#[test]
fn a_second_signal_over_http_fails_the_running_calls() {
    let mut web = Web::start("py/versioned.py", &["--transport", "http", "--drain-timeout", "10m"]);
    web.initialize();
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| web.call("work", &json!({"id": 7, "ms": 60_000})));
        let log = web.sandbox().path("work.log");
        eventually("the call to run", || fs::read_to_string(&log).is_ok_and(|text| !text.is_empty()).then_some(()));
        web.process().signal(Signal::INT);
        web.process().stderr_with("press Ctrl-C again");
        web.process().signal(Signal::TERM);
        let reply = slow.join().expect("an answer");
        assert!(reply.body.contains("SHUTTING_DOWN"), "{reply:?}");
    });
    assert_eq!(web.process().exit().code(), Some(0));
    web.process().no_orphans();
    assert!(web.sandbox().leftovers().is_empty());
}

/// A balancer notices that the server is to stop, and sends nothing to one that refuses it.
#[test]
fn requests_are_served_until_the_delay_of_the_drain_is_over() {
    let mut web = Web::start("py/basics.py", &["--transport", "http", "--health", "--drain-delay", "5m"]);
    web.initialize();
    let ready = |web: &Web| web.send("GET", "/readyz", &[], "").status;
    assert_eq!(ready(&web), 200);
    web.process().signal(Signal::TERM);
    eventually("it says that it is not ready", || (ready(&web) == 503).then_some(()));
    assert_eq!(web.call("echo", &json!({"text": "still"})).json()["result"]["content"][0]["text"], "still");
    web.forget("mcp-session-id");
    web.initialize();
    assert!(!web.process().stderr().contains("draining"), "{}", web.process().stderr());
    web.process().signal(Signal::TERM);
    assert_eq!(web.process().exit().code(), Some(0));
    web.process().stderr_with("draining");
    web.process().no_orphans();
}

/// Item 90.
#[test]
fn ending_during_the_start_of_the_tool_process_leaves_nothing() {
    for transport in ["stdio", "http"] {
        for end in ["hang up", "SIGTERM", "SIGINT", "SIGKILL"] {
            if (transport, end) == ("http", "hang up") {
                continue;
            }
            let sandbox = Sandbox::new();
            sandbox.copy("py/never_connects.py");
            let flags = ["run", "never_connects.py", "--transport", transport, "--port", "0"];
            let host = sandbox.pmcp(&flags[..if transport == "http" { 6 } else { 4 }]).start();
            host.stderr_with("busy with something else");
            assert_eq!(sandbox.leftovers().len(), 1, "the process has a socket to connect to");
            finish(&host, end);
            let code = host.exit().code();
            if end != "SIGKILL" {
                assert_eq!(code, Some(0), "{transport}, {end}");
            }
            host.no_orphans();
            assert!(sandbox.leftovers().is_empty(), "{transport}, {end}: {:?}", sandbox.leftovers());
        }
    }
}

fn finish(host: &Host, end: &str) {
    match end {
        "hang up" => host.hang_up(),
        "SIGTERM" => host.signal(Signal::TERM),
        "SIGINT" => host.signal(Signal::INT),
        _ => host.signal(Signal::KILL),
    }
}

/// Starts a session behind a wrapper.
type Start = fn() -> (Host, Sandbox);

/// A TypeScript file behind `npx` and `tsx`.
fn typescript() -> (Host, Sandbox) {
    let sandbox = Sandbox::new();
    sandbox.copy("third_party");
    // Only the command of tsx, not its package, whose module `pmcp` would use without these wrappers; and an extension
    // that every Node leaves to it.
    fs::create_dir(sandbox.path("node_modules")).expect("the sandbox can be written");
    symlink(peers().join("node/node_modules/.bin"), sandbox.path("node_modules/.bin")).expect("a link can be made");
    fs::rename(sandbox.path("tools.ts"), sandbox.path("tools.tsx")).expect("it was copied");
    let host = sandbox.pmcp(&["run", "tools.tsx", "--drain-timeout=200ms"]).start();
    host.initialize();
    assert_eq!(host.text("echo", &json!({"text": "ts"})), "ts");
    (host, sandbox)
}

/// A Python file behind a stand-in for `uv run`, which starts Python as its child and waits, as the real one does.
fn uv() -> (Host, Sandbox) {
    let sandbox = Sandbox::new();
    sandbox.copy("py/stuck.py");
    sandbox.write("pyproject.toml", "");
    fs::create_dir(sandbox.path("bin")).expect("the sandbox can be written");
    let python = peers().join("py/bin/python");
    // The words are: run python FILE.
    let script = format!("#!/bin/sh\n{} \"$3\"\nexit $?\n", python.display());
    fs::write(sandbox.path("bin/uv"), script).expect("the sandbox can be written");
    fs::set_permissions(sandbox.path("bin/uv"), fs::Permissions::from_mode(0o755)).expect("it is our file");
    let path = format!("{}:{}", sandbox.path("bin").display(), std::env::var("PATH").unwrap_or_default());
    let launch =
        sandbox.pmcp(&["run", "stuck.py", "--drain-timeout=200ms"]).without("PROTOMCP_PYTHON").env("PATH", path);
    let host = launch.start();
    host.initialize();
    assert_eq!(host.text("echo", &json!({"text": "uv"})), "uv");
    (host, sandbox)
}

#[test]
fn a_closed_terminal_ends_pmcp() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    for ends in [&["run", "basics.py", "--transport", "http", "--port", "0"][..], &["dev", "basics.py"]] {
        let pmcp = sandbox.pmcp(ends).command();
        let mut terminal = Command::new(peers().join("py/bin/python"));
        terminal.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/hosts/terminal.py")).arg("serving basics.py");
        terminal.arg(pmcp.get_program()).args(pmcp.get_args()).current_dir(sandbox.path(""));
        terminal.envs(pmcp.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = terminal.output().expect("python starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "0", "{ends:?}: {text}");
        assert!(living(sandbox.marker()).is_empty(), "{ends:?}");
    }
}
