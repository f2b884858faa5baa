//! Saving the tool file while the session runs (docs/envelope.md, "Reload").

mod files;
mod handover;
mod watched;

use std::fs;
use std::time::{Duration, Instant};

use protomcp_conformance::{Peer, Sandbox, Scene, eventually, judge, session, tool};
use protomcp_envelope::{ReloadResponse, ToolListResponse};
use rustix::process::Signal;
use serde_json::json;

use self::files::{end, processes, python, replace, save, touch, work_log};

/// Long enough to notice a frame that should not have been written.
const MOMENT: Duration = Duration::from_millis(600);

/// The promised time from a save to `list_changed`, in addition to the start of the tool process.
const PROMISE: Duration = Duration::from_millis(45);

/// A test allows ten times the promise, in the long tier.
const MARGIN: u32 = 10;

/// Two reloads may follow each other without a pause; a third waits until this long after the first.
const PACE: Duration = Duration::from_secs(1);

/// Items 67, 75.
#[test]
fn saving_a_python_file_replaces_its_tools_and_tells_the_host() {
    for mode in ["graceful", "swap", "immediate"] {
        let sandbox = Sandbox::new();
        sandbox.write("tools.py", python("original", ""));
        let begun = Instant::now();
        let host = sandbox.pmcp(&["dev", "tools.py", "--hot-reload", mode]).start();
        host.initialize();
        assert_eq!(host.names(), ["original"], "{mode}");
        let start = begun.elapsed();
        let (place, saved) = (host.now(), Instant::now());
        sandbox.write("tools.py", python("new_tool", ""));
        let took = host.list_changed(place).at - saved;
        judge(&format!("{mode}: from a save to its list"), took, MARGIN * (PROMISE + start));
        assert_eq!(host.names(), ["new_tool"], "{mode}");
        assert_eq!(host.text("new_tool", &json!({})), "new_tool", "{mode}: the session goes on");
        eventually("the old process to leave", || (processes(&sandbox) == 1).then_some(()));
    }
}

/// Item 75.
#[test]
fn a_save_that_changes_no_definition_is_reported_too() {
    let (host, sandbox) = session("dev", "py/versioned.py", &[]);
    assert_eq!(host.names(), ["work"]);
    let place = host.now();
    save(&sandbox, "versioned.py", "v1");
    host.list_changed(place);
    assert_eq!(host.text("work", &json!({"id": 1, "ms": 0})), "1 v1");
}

/// Item 67.
#[test]
fn sibling_modules_and_renamed_files_trigger_a_reload() {
    let sandbox = Sandbox::new();
    sandbox.write("words.py", "NAME = 'before'\n");
    sandbox.write("tools.py", python("fixed", "import words\n").replace("return \"fixed\"", "return words.NAME"));
    let host = sandbox.pmcp(&["dev", "tools.py"]).start();
    host.initialize();
    assert_eq!(host.text("fixed", &json!({})), "before");
    let place = host.now();
    // `write` renames a draft over the file, as editors do.
    sandbox.write("words.py", "NAME = 'after'\n");
    host.list_changed(place);
    assert_eq!(host.text("fixed", &json!({})), "after");
}

/// Item 68.
#[test]
fn a_reload_waits_for_a_running_call() {
    let mut scene = Scene::with_tools("dev", "./relay", &[], vec![tool("slow")]);
    let running = scene.host.start_call("slow", &json!({}));
    let (call, _) = scene.peer.call();
    touch(&scene.sandbox);
    let early = scene.peer.request_within(MOMENT);
    assert!(early.is_none(), "nothing is asked of a busy process: {early:?}");
    // A new call waits for the reload, and goes to the version that it leads to.
    let queued = scene.host.start_call("slow", &json!({"queued": true}));
    let early = scene.peer.request_within(MOMENT / 2);
    assert!(early.is_none(), "a new call waits behind the reload: {early:?}");
    scene.peer.result(&call, r#""done""#);
    assert_eq!(scene.host.answer(running).value["result"]["content"][0]["text"], "done");

    let reload = scene.peer.request();
    assert_eq!(reload.name(), "reload");
    assert!(!reload.request_id.is_empty());
    scene.peer.send(&reload.request_id, ReloadResponse { success: true, error: String::new() });
    scene.peer.send("", ToolListResponse { tools: vec![tool("slow")] });
    scene.peer.send("", ReloadResponse { success: true, error: String::new() });
    // The same list as before: the process did not really read the file again, so a fresh one takes over.
    let mut fresh = scene.stage.accept();
    fresh.handshake(vec![tool("slow")]);
    let (call, request) = fresh.call();
    assert_eq!(request.arguments_json, r#"{"queued":true}"#);
    fresh.result(&call, r#""fresh""#);
    assert_eq!(scene.host.answer(queued).value["result"]["content"][0]["text"], "fresh");
    scene.peer.until_closed();
}

/// Item 68.
#[test]
fn a_running_python_call_is_answered_by_its_own_version() {
    let (host, sandbox) = session("dev", "py/versioned.py", &[]);
    let id = host.start_call("work", &json!({"id": 1, "ms": 1500}));
    eventually("the call to run", || work_log(&sandbox).first().cloned());
    let place = host.now();
    save(&sandbox, "versioned.py", "v1");
    let answer = host.answer(id);
    assert_eq!(answer.value["result"]["content"][0]["text"], "1 v0");
    assert!(host.list_changed(place).place > answer.place, "the reload waited for the call");
    assert_eq!(host.text("work", &json!({"id": 2, "ms": 0})), "2 v1");
    assert_eq!(work_log(&sandbox), ["1 v0", "2 v1"]);
}

/// Item 69.
#[test]
fn an_immediate_reload_fails_the_call_in_flight_as_retryable() {
    let mut scene = Scene::with_tools("dev", "./relay", &["--hot-reload=immediate"], vec![tool("slow")]);
    let id = scene.host.start_call("slow", &json!({}));
    scene.peer.call();
    touch(&scene.sandbox);
    let answer = scene.host.answer(id).value;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(answer["result"]["_meta"].to_string().contains(r#""retryable":true"#), "{answer}");
    let mut fresh = scene.stage.accept();
    fresh.handshake(vec![tool("fast")]);
    scene.host.until_names(&["fast"]);
    let asked: Vec<_> = scene.peer.until_closed().iter().map(protomcp_envelope::Envelope::name).collect();
    assert!(!asked.contains(&"reload"), "an immediate reload sends no request: {asked:?}");
}

/// Item 69.
#[test]
fn a_swap_serves_new_calls_while_the_old_process_finishes() {
    let mut scene = Scene::with_tools("dev", "./relay", &["--hot-reload", "swap"], vec![tool("slow")]);
    let old = scene.host.start_call("slow", &json!({}));
    let (call, _) = scene.peer.call();
    let place = scene.host.now();
    touch(&scene.sandbox);
    let mut fresh = scene.stage.accept();
    assert_eq!(scene.host.names(), ["slow"], "the old list stays until the new process is ready");
    fresh.handshake(vec![tool("slow")]);
    scene.host.list_changed(place);
    let new = scene.host.start_call("slow", &json!({}));
    let (new_call, _) = fresh.call();
    fresh.result(&new_call, r#""from the new""#);
    assert_eq!(scene.host.answer(new).value["result"]["content"][0]["text"], "from the new");
    scene.peer.result(&call, r#""from the old""#);
    assert_eq!(scene.host.answer(old).value["result"]["content"][0]["text"], "from the old");
    scene.peer.until_closed();
}

/// Item 70.
#[test]
fn a_reload_in_the_order_of_the_documents_is_accepted_too() {
    let mut scene = Scene::with_tools("dev", "./relay", &[], vec![tool("original")]);
    let place = scene.host.now();
    touch(&scene.sandbox);
    let reload = scene.peer.request();
    assert_eq!(reload.name(), "reload");
    scene.peer.send(&reload.request_id, ToolListResponse { tools: vec![tool("renamed")] });
    scene.peer.send(&reload.request_id, ReloadResponse { success: true, error: String::new() });
    scene.host.list_changed(place);
    assert_eq!(scene.host.names(), ["renamed"]);
    // The definitions did change, so the process has read the file again: no other is started.
    assert!(scene.stage.accept_within(MOMENT).is_none(), "a process that reloads in place is kept");
}

/// Item 70.
#[test]
fn a_rejected_reload_keeps_the_list_and_is_reported() {
    let mut scene = Scene::with_tools("dev", "./relay", &[], vec![tool("original")]);
    touch(&scene.sandbox);
    let reload = scene.peer.request();
    scene.peer.send(&reload.request_id, ReloadResponse { success: false, error: "line 7 is nonsense".to_owned() });
    scene.host.stderr_with("line 7 is nonsense");
    scene.host.wait_for("a log message", 0, |message| {
        message.method() == "notifications/message" && message.text.contains("line 7 is nonsense")
    });
    assert_eq!(scene.host.names(), ["original"]);
    let id = scene.host.start_call("original", &json!({}));
    let (call, _) = scene.peer.call();
    scene.peer.result(&call, r#""still here""#);
    assert_eq!(scene.host.answer(id).value["result"]["content"][0]["text"], "still here");
}

/// Item 71.
#[test]
fn a_broken_edit_keeps_the_tools_and_the_next_good_one_recovers() {
    for mode in ["graceful", "swap"] {
        let sandbox = Sandbox::new();
        sandbox.write("tools.py", python("original", ""));
        let host = sandbox.pmcp(&["dev", "tools.py", "--hot-reload", mode]).start();
        host.initialize();
        assert_eq!(host.names(), ["original"]);
        sandbox.write("tools.py", "def broken(:\n");
        host.stderr_with("SyntaxError");
        assert_eq!(host.names(), ["original"], "{mode}: no edit empties the list");
        assert_eq!(host.text("original", &json!({})), "original", "{mode}: the old process serves on");
        host.wait_for("a log message", 0, |message| message.method() == "notifications/message");
        let place = host.now();
        sandbox.write("tools.py", python("mended", ""));
        host.list_changed(place);
        assert_eq!(host.names(), ["mended"], "{mode}");
    }
}

/// Items 71, 72.
#[test]
fn a_version_that_hangs_at_start_does_not_delay_its_fix() {
    for mode in ["graceful", "swap"] {
        let sandbox = Sandbox::new();
        sandbox.write("tools.py", python("original", ""));
        // It has no time limit in this test, so it must be stopped.
        let host = sandbox.pmcp(&["dev", "tools.py", "--hot-reload", mode, "--connect-timeout=10m"]).start();
        host.initialize();
        assert_eq!(host.names(), ["original"]);
        // It ignores SIGTERM, and so does its child.
        let hang = "import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.fork()\n\
                    open(os.environ['WORK_LOG'], 'a').write(f'{os.getpid()}\\n')\nwhile True: pass\n";
        sandbox.write("tools.py", hang);
        let hanging = eventually("the new version to hang", || {
            let ids: Vec<i32> = work_log(&sandbox).iter().filter_map(|line| line.parse().ok()).collect();
            (ids.len() == 2).then_some(ids)
        });
        let place = host.now();
        sandbox
            .write("tools.py", python("mended", "import os\nopen(os.environ['WORK_LOG'], 'a').write('mended\\n')\n"));
        let lives = |id: &i32| fs::metadata(format!("/proc/{id}")).is_ok();
        eventually("the mended version to start", || {
            assert_eq!(host.names().len(), 1, "{mode}: no edit empties the list");
            work_log(&sandbox).contains(&"mended".to_owned()).then_some(())
        });
        assert!(!hanging.iter().any(lives), "{mode}: the version that hangs lives together with the next one");
        host.list_changed(place);
        assert_eq!(host.names(), ["mended"], "{mode}");
        assert_eq!(host.text("mended", &json!({})), "mended", "{mode}");
        eventually("one process to be left", || (processes(&sandbox) == 1).then_some(()));
    }
}

/// Item 72.
#[test]
fn ten_saves_within_a_second_cause_at_most_three_reloads() {
    for gap in [20, 90] {
        ten_saves(Duration::from_millis(gap));
    }
}

fn ten_saves(gap: Duration) {
    let sandbox = Sandbox::new();
    let file = |n: u32| python(&format!("t{n}"), "import os\nopen(os.environ['WORK_LOG'], 'a').write('start\\n')\n");
    sandbox.write("tools.py", file(0));
    let begun = Instant::now();
    let host = sandbox.pmcp(&["dev", "tools.py"]).start();
    host.initialize();
    assert_eq!(host.names(), ["t0"]);
    let start = begun.elapsed();
    let saving = Instant::now();
    for n in 1..=10 {
        sandbox.write("tools.py", file(n));
        std::thread::sleep(gap);
    }
    let saved = Instant::now();
    eventually("the last save to show", || (host.names() == ["t10"]).then_some(()));
    judge("from the last of ten saves to its list", saved.elapsed(), MARGIN * (PACE + PROMISE + start));
    let keep_the_pace = || {
        let (starts, paces) = (work_log(&sandbox).len() as u64, saving.elapsed().as_secs() / PACE.as_secs());
        // The first version, two reloads without a pause, and one more for each second since.
        assert!(starts <= 3 + paces, "{starts} starts, the first one included, and {paces} s for ten saves");
    };
    keep_the_pace();
    eventually("one process to be left", || (processes(&sandbox) == 1).then_some(()));
    keep_the_pace();
}

/// Item 72.
#[test]
fn two_saves_reload_immediately_and_a_third_in_a_second_waits() {
    let mut scene = Scene::with_tools("dev", "./relay", &["--hot-reload=swap"], vec![tool("slow")]);
    let mut fastest = Duration::MAX;
    for _ in 0..3 {
        let first = Instant::now();
        replace(&mut scene);
        fastest = fastest.min(replace(&mut scene) - first);
        // Within a second of the first one, on a machine that is fast enough for that.
        let third = replace(&mut scene) - first;
        assert!(third >= PACE, "a third reload was over {third:?} after the first save");
        std::thread::sleep(2 * PACE);
    }
    judge("two reloads at best", fastest, PACE);
}

/// Items 68, 69.
#[test]
fn a_python_call_outlives_any_number_of_saves() {
    for mode in ["swap", "graceful"] {
        // The log of this level names each batch of changes.
        let options = ["--hot-reload", mode, "--drain-timeout=100ms", "--call-timeout=10m", "--log-level=debug"];
        let (host, sandbox) = session("dev", "py/versioned.py", &options);
        let file = sandbox.path("end");
        let long = host.start_call("work", &json!({"id": 1, "ms": 0, "until": &file}));
        eventually("the call to run", || work_log(&sandbox).first().cloned());
        for version in 1..=3 {
            let (place, log) = (host.now(), host.stderr().len());
            save(&sandbox, "versioned.py", &format!("v{version}"));
            if mode == "swap" {
                // The new version takes over and serves while the call continues.
                host.list_changed(place);
                let id = version + 1;
                assert_eq!(host.text("work", &json!({"id": id, "ms": 0})), format!("{id} v{version}"));
            } else {
                eventually("the save to be seen", || {
                    host.stderr()[log..].contains("debug: files changed").then_some(())
                });
            }
        }
        assert!(host.answered(long).is_none(), "{mode}: the call has no end before it is told to");
        fs::write(file, "").expect("the sandbox can be written");
        assert_eq!(host.answer(long).value["result"]["content"][0]["text"], "1 v0", "{mode}");
        eventually("the last version", || (host.text("work", &json!({"id": 9, "ms": 0})) == "9 v3").then_some(()));
        eventually("one process to be left", || (processes(&sandbox) == 1).then_some(()));
        if mode == "graceful" {
            let log = host.stderr_with("reloaded (");
            assert_eq!(log.matches("reloaded (").count(), 1, "three saves wait as one reload");
        }
    }
}

/// Items 68, 69.
#[test]
fn a_save_waits_while_too_many_old_versions_run_calls() {
    let options = ["--hot-reload=swap", "--max-retiring=2", "--drain-timeout=100ms"];
    let mut scene = Scene::with_tools("dev", "./relay", &options, vec![tool("slow")]);
    let mut old: Vec<(u64, String, Peer)> = Vec::new();
    for _ in 0..2 {
        let id = scene.host.start_call("slow", &json!({}));
        let (call, _) = scene.peer.call();
        let place = scene.host.now();
        touch(&scene.sandbox);
        let mut next = scene.stage.accept();
        next.handshake(vec![tool("slow")]);
        next.settle(|| !scene.host.notifications("notifications/tools/list_changed", place).is_empty());
        old.push((id, call, std::mem::replace(&mut scene.peer, next)));
    }
    let place = scene.host.now();
    touch(&scene.sandbox);
    let log = scene.host.stderr_with("the reload waits for running calls: slow (");
    assert!(log.contains("s), slow ("), "both calls are named: {log}");
    let told = scene.host.wait_for("a log message", place, |message| message.method() == "notifications/message");
    assert!(!told.text.contains("slow"), "hosts hear of no calls that may belong to others: {}", told.text);
    assert!(scene.stage.accept_within(MOMENT).is_none(), "a third process of an earlier version");
    for (id, call, mut peer) in old {
        peer.result(&call, r#""done""#);
        assert_eq!(scene.host.answer(id).value["result"]["content"][0]["text"], "done");
        peer.until_closed();
    }
    let mut last = scene.stage.accept();
    last.handshake(vec![tool("slow")]);
    scene.peer.until_closed();
}

/// Items 68, 90.
#[test]
fn the_end_of_pmcp_ends_the_processes_of_earlier_versions_too() {
    for end in ["hang up", "SIGTERM", "SIGKILL"] {
        let options = ["--hot-reload=swap", "--drain-timeout=500ms"];
        let (host, sandbox) = session("dev", "py/versioned.py", &options);
        for version in 1..=2 {
            host.start_call("work", &json!({"id": version, "ms": 3_600_000}));
            eventually("the call to run", || (work_log(&sandbox).len() == version).then_some(()));
            let place = host.now();
            save(&sandbox, "versioned.py", &format!("v{version}"));
            host.list_changed(place);
        }
        assert_eq!(processes(&sandbox), 3, "two finish their calls, and one serves");
        match end {
            "SIGTERM" => host.signal(Signal::TERM),
            "SIGKILL" => host.signal(Signal::KILL),
            _ => host.hang_up(),
        }
        host.exit();
        host.no_orphans();
        assert!(sandbox.leftovers().is_empty(), "{end}: {:?}", sandbox.leftovers());
    }
}

/// Item 74.
#[test]
fn tools_hidden_by_a_workflow_return_with_a_fresh_process() {
    let (host, sandbox) = session("dev", "py/workflow.py", &[]);
    let before = host.names();
    host.text("deploy.review", &json!({"version": "1"}));
    assert_ne!(host.names(), before);
    let text = fs::read_to_string(sandbox.path("workflow.py")).expect("the file is there");
    sandbox.write("workflow.py", format!("{text}\n# saved\n"));
    let before: Vec<&str> = before.iter().map(String::as_str).collect();
    host.until_names(&before);
}

/// Item 76.
#[test]
fn run_does_not_watch_and_dev_on_the_same_file_does() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/versioned.py");
    let start = |command: &str| {
        let host = sandbox.pmcp(&[command, "versioned.py"]).start();
        host.initialize();
        host
    };
    let (run, dev) = (start("run"), start("dev"));
    for host in [&run, &dev] {
        assert_eq!(host.text("work", &json!({"id": 1, "ms": 0})), "1 v0");
    }
    save(&sandbox, "versioned.py", "v1");
    dev.list_changed(0);
    assert_eq!(dev.text("work", &json!({"id": 2, "ms": 0})), "2 v1");
    assert_eq!(run.text("work", &json!({"id": 2, "ms": 0})), "2 v0");
    assert!(run.notifications("notifications/tools/list_changed", 0).is_empty());
    // Both share the sandbox, which marks the processes of each: end them together.
    end(&run);
    end(&dev);
}

/// Item 76.
#[test]
fn run_reloads_on_sighup() {
    let (host, sandbox) = session("run", "py/versioned.py", &[]);
    assert_eq!(host.text("work", &json!({"id": 1, "ms": 0})), "1 v0");
    save(&sandbox, "versioned.py", "v1");
    let place = host.now();
    host.signal(Signal::HUP);
    host.list_changed(place);
    assert_eq!(host.text("work", &json!({"id": 2, "ms": 0})), "2 v1");
}
