//! A tool process that dies.

use std::fs;
use std::time::{Duration, Instant};

use protomcp_conformance::{Sandbox, Scene, Web, eventually, judge, pmcp, rust_session, session, tool};
use rustix::process::{Pid, Signal};
use serde_json::json;

/// The product promises a second; a test allows ten times that, in the long tier.
const SOON: Duration = Duration::from_secs(10);

/// Item 88.
#[test]
fn a_killed_process_fails_its_call_and_is_restarted() {
    let mut scene = Scene::open(&[], &["slow"]);
    let ids = [scene.host.start_call("slow", &json!({})), scene.host.start_call("slow", &json!({}))];
    for _ in ids {
        scene.peer.call();
    }
    let start = Instant::now();
    scene.peer.signal(Signal::KILL);
    for id in ids {
        let answer = scene.host.answer(id).value;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(answer.to_string().contains("SIGKILL"), "{answer}");
        assert!(answer["result"]["_meta"].to_string().contains(r#""retryable":true"#), "{answer}");
    }
    judge("from the end of a process to the failure of its calls", start.elapsed(), SOON);
    let mut fresh = scene.stage.accept();
    fresh.handshake(vec![tool("slow")]);
    let id = scene.host.start_call("slow", &json!({}));
    let (call, _) = fresh.call();
    fresh.result(&call, r#""alive""#);
    assert_eq!(scene.host.answer(id).value["result"]["content"][0]["text"], "alive");
}

/// Item 88.
#[test]
fn a_process_that_exits_in_a_call_is_reported() {
    let (host, _sandbox) = session("run", "py/basics.py", &[]);
    let text = host.error_text("die", &json!({"status": 9}));
    assert!(text.contains("status 9"), "{text}");
    assert!(text.contains("the last words of the tool process"), "{text}");
    assert_eq!(host.text("echo", &json!({"text": "again"})), "again");

    let (host, _sandbox) = rust_session("run", &[]);
    assert!(host.error_text("panic", &json!({})).contains("status 101"));
    assert_eq!(host.text("echo", &json!({"text": "again"})), "again");
}

#[test]
fn a_process_is_restarted_though_its_directory_is_gone() {
    let sandbox = Sandbox::new();
    let tools = sandbox.copy("py/basics.py");
    fs::create_dir(sandbox.path("project")).expect("the sandbox can be written");
    let (program, tools) = (pmcp().to_str().expect("text"), tools.to_str().expect("text"));
    let host = sandbox.pmcp(&["-c", r#"cd project && exec "$0" run "$1""#, program, tools]).program("sh").start();
    host.initialize();
    fs::remove_dir(sandbox.path("project")).expect("it is empty");
    host.error_text("die", &json!({"status": 9}));
    assert_eq!(host.text("echo", &json!({"text": "again"})), "again");
}

/// Item 88.
#[test]
fn a_crash_resets_the_selection_and_reports_changed_tools() {
    let mut scene = Scene::open(&[], &["a", "b"]);
    scene.peer.send("", protomcp_envelope::DisableToolsRequest { tool_names: vec!["a".to_owned()] });
    scene.peer.active_tools();
    assert_eq!(scene.host.names(), ["b"]);
    scene.peer.signal(Signal::KILL);
    let mut fresh = scene.stage.accept();
    fresh.handshake(vec![tool("a"), tool("b"), tool("c")]);
    scene.host.until_names(&["a", "b", "c"]);
}

/// Item 89.
#[test]
fn a_crash_loop_stops_is_explained_and_ends_with_a_save() {
    let sandbox = Sandbox::new();
    let file = |comment: &str| {
        format!(
            "# {comment}\nimport os, sys\nopen(os.environ['WORK_LOG'], 'a').write('start\\n')\nif os.path.exists('crash'):\n    \
             sys.exit('crashing at start')\nfrom protomcp import tool\nfrom protomcp.runner import run\n\n@tool(\"A tool.\")\n\
             def die() -> str:\n    os._exit(5)\n\n@tool(\"A tool.\")\ndef live() -> str:\n    return 'alive'\n\nrun()\n"
        )
    };
    sandbox.write("tools.py", file("first"));
    let host = sandbox.pmcp(&["dev", "tools.py"]).start();
    host.initialize();
    assert_eq!(host.names(), ["die", "live"]);
    fs::write(sandbox.path("crash"), "").expect("the sandbox can be written");
    assert!(host.error_text("die", &json!({})).contains("status 5"));
    let text = eventually("the degraded state to be explained", || {
        let result = host.call("live", &json!({}));
        let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        (result["isError"] == true && text.contains("crashing at start")).then_some(text)
    });
    assert!(text.contains("status 1"), "{text}");

    let starts = || fs::read_to_string(sandbox.path("work.log")).unwrap_or_default().lines().count();
    host.stderr_with("giving up");
    assert!((2..=7).contains(&starts()), "{} starts", starts());
    assert_eq!(host.names(), ["die", "live"], "a crash takes no tool off the list");

    fs::remove_file(sandbox.path("crash")).expect("it was there");
    sandbox.write("tools.py", file("second"));
    eventually("the save to bring it back", || {
        let result = host.call("live", &json!({}));
        (result["content"][0]["text"] == "alive").then_some(())
    });
}

#[test]
fn a_process_that_was_given_up_is_not_ready() {
    let sandbox = Sandbox::new();
    let text = "import os, sys\nopen(os.environ['WORK_LOG'], 'a').write(f'{os.getpid()}\\n')\nif                 os.path.exists('crash'):\n    sys.exit(1)\nfrom protomcp import tool\nfrom protomcp.runner import                 run\n\n@tool(\"A tool.\")\ndef live() -> str:\n    return 'alive'\n\nrun()\n";
    sandbox.write("tools.py", text);
    let launch = sandbox.pmcp(&["run", "tools.py", "--transport", "http", "--port", "0", "--health"]);
    let web = Web::launch(sandbox.clone(), launch);
    let ready = || web.send("GET", "/readyz", &[], "").status;
    eventually("the first start", || (ready() == 200).then_some(()));
    fs::write(sandbox.path("crash"), "").expect("the sandbox can be written");
    let log = fs::read_to_string(sandbox.path("work.log")).expect("the process has started");
    let pid = log.trim().parse().ok().and_then(Pid::from_raw).expect("a process id");
    rustix::process::kill_process(pid, Signal::KILL).expect("it runs");
    web.process().stderr_with("giving up");
    eventually("the end of readiness", || (ready() == 503).then_some(()));
    fs::remove_file(sandbox.path("crash")).expect("it was there");
    web.process().signal(Signal::HUP);
    eventually("the next start", || (ready() == 200).then_some(()));
}
