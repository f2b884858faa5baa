//! Several processes of one tool file behind one list: `--workers`.

use std::collections::BTreeSet;
use std::fs;

use protomcp_conformance::{Host, Reply, Sandbox, Web, eventually, living};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::storm::{call_while_saving, each_ran_once, one_answer_each};

/// Each process counts its calls, and can end in one.
const FILE: &str = r#"import os, time
from protomcp import tool
from protomcp.runner import run

VERSION = "v0"
calls = 0

@tool("Names the process and its call.")
def who(ms: int = 0) -> str:
    global calls
    calls += 1
    time.sleep(ms / 1000)
    return f"{os.getpid()} {calls} {VERSION}"

@tool("Ends the process.")
def die() -> str:
    os._exit(9)

run()
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", FILE);
    sandbox
}

fn web(flags: &[&str]) -> Web {
    let sandbox = sandbox();
    let launch = sandbox.pmcp(&[&["run", "tools.py", "--transport", "http", "--port", "0"], flags].concat());
    Web::launch(sandbox.clone(), launch)
}

/// A session over HTTP.
struct Session<'a> {
    web: &'a Web,
    id: String,
}

impl<'a> Session<'a> {
    fn open(web: &'a Web) -> Self {
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "s", "version": "1"}});
        let begun = web.post(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        let id = begun.header("mcp-session-id").expect("a session").to_owned();
        let session = Self { web, id };
        session.send("POST", &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        session
    }

    fn send(&self, method: &str, body: &str) -> Reply {
        self.web.send(method, "/mcp", &[("mcp-session-id", &self.id)], body)
    }

    fn call(&self, tool: &str) -> Value {
        let params = json!({"name": tool, "arguments": {}});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        self.send("POST", &call.to_string()).json()["result"].take()
    }

    /// The process of the session and the number of its calls there.
    fn who(&self) -> (u32, u32) {
        let answer = self.call("who");
        let text = answer["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}"));
        let mut words = text.split(' ').map(|word| word.parse().unwrap_or_default());
        (words.next().expect("a process"), words.next().expect("a call"))
    }
}

fn process(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}

#[test]
fn a_session_stays_with_its_process_and_its_state() {
    let web = web(&["--workers", "3"]);
    let sessions: Vec<Session> = (0..3).map(|_| Session::open(&web)).collect();
    let first: Vec<(u32, u32)> = sessions.iter().map(Session::who).collect();
    let processes: BTreeSet<u32> = first.iter().map(|(process, _)| *process).collect();
    assert_eq!(processes.len(), 3, "each session has a process: {first:?}");
    for count in 2..=4 {
        let known: Vec<(u32, u32)> = sessions.iter().map(Session::who).collect();
        let expected: Vec<(u32, u32)> = first.iter().map(|(process, _)| (*process, count)).collect();
        assert_eq!(known, expected);
    }
    // The next session gets the process that has none.
    sessions[1].send("DELETE", "");
    assert_eq!(Session::open(&web).who(), (first[1].0, 5));
}

#[test]
fn requests_without_a_session_have_the_process_of_their_owner() {
    let web = web(&["--workers", "3"]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "s", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "who", "arguments": {}, "_meta": meta});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "who")];
    let text = || web.send("POST", "/mcp", &headers, &call).json()["result"]["content"][0]["text"].clone();
    let texts: Vec<String> = (0..4).map(|_| text().as_str().unwrap_or_default().to_owned()).collect();
    let processes: BTreeSet<&str> = texts.iter().map(|text| process(text)).collect();
    assert_eq!(processes.len(), 1, "{texts:?}");
    assert!(texts[3].contains(" 4 "), "{texts:?}");
}

#[test]
fn calls_spread_over_processes_without_affinity() {
    let sandbox = sandbox();
    let host = sandbox.pmcp(&["run", "tools.py", "--workers", "3", "--worker-affinity", "none"]).start();
    host.initialize();
    host.stderr_with("serving");
    let ids: Vec<u64> = (0..6).map(|_| host.start_call("who", &json!({"ms": 300}))).collect();
    let text = |id: u64| host.answer(id).value["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    let texts: Vec<String> = ids.into_iter().map(text).collect();
    for worker in texts.iter().map(|text| process(text)).collect::<BTreeSet<_>>() {
        assert_eq!(texts.iter().filter(|text| process(text) == worker).count(), 2, "{texts:?}");
    }
    let one_by_one: BTreeSet<String> = (0..3).map(|_| process(&host.text("who", &json!({}))).to_owned()).collect();
    assert_eq!(one_by_one.len(), 3, "idle processes take turns");
}

#[test]
fn a_reload_goes_from_process_to_process_and_loses_no_call() {
    for mode in ["graceful", "swap"] {
        let sandbox = Sandbox::new();
        sandbox.copy("py/versioned.py");
        let flags = ["--workers", "2", "--worker-affinity", "none", "--hot-reload", mode];
        let host = sandbox.pmcp(&[&["dev", "versioned.py"], &flags[..]].concat()).start();
        host.initialize();
        host.stderr_with("serving");
        let saves = 3;
        let write = |version| {
            let text = fs::read_to_string(sandbox.path("versioned.py")).expect("the file is there");
            let before = format!("VERSION = \"v{}\"", version - 1);
            assert!(text.contains(&before), "{text}");
            sandbox.write("versioned.py", text.replace(&before, &format!("VERSION = \"v{version}\"")));
        };
        let answers = call_while_saving(&host, write, 24, saves);
        each_ran_once(&answers, &sandbox);
        one_answer_each(&host);
        eventually("the last version in each process", || {
            let texts: Vec<String> = (0..4).map(|_| host.text("work", &json!({"id": 9_999, "ms": 0}))).collect();
            texts.iter().all(|text| text.ends_with(&format!("v{saves}"))).then_some(())
        });
        for worker in [1, 2] {
            host.stderr_with(&format!("worker {worker}: reloaded ("));
        }
    }
}

#[test]
fn a_version_that_does_not_start_reaches_one_process_only() {
    let sandbox = sandbox();
    let host = sandbox.pmcp(&["dev", "tools.py", "--workers", "2", "--worker-affinity", "none"]).start();
    host.initialize();
    host.stderr_with("serving");
    sandbox.write("tools.py", "raise SystemExit('broken')\n");
    host.stderr_with("worker 1: reload failed");
    let texts: BTreeSet<String> = (0..4).map(|_| process(&host.text("who", &json!({}))).to_owned()).collect();
    assert_eq!(texts.len(), 2, "both serve the version before");
    sandbox.write("tools.py", FILE.replace("\"v0\"", "\"v1\""));
    let log = host.stderr_with("worker 2: reloaded");
    assert!(!log.contains("worker 2: reload failed"), "{log}");
    for _ in 0..4 {
        assert!(host.text("who", &json!({})).ends_with(" v1"));
    }
}

#[test]
fn a_crash_concerns_the_sessions_of_one_process() {
    let web = web(&["--workers", "2"]);
    let (first, second) = (Session::open(&web), Session::open(&web));
    let (gone, stays) = (first.who().0, second.who().0);
    assert_ne!(gone, stays);
    let failed = first.call("die");
    assert_eq!(failed["isError"], true, "{failed}");
    assert!(failed.to_string().contains("status 9"), "{failed}");
    assert_eq!(second.who(), (stays, 2), "the other one has not noticed");
    let (fresh, count) = first.who();
    assert!(fresh != gone && fresh != stays && count == 1, "{fresh} {count}");
    web.process().stderr_with("worker 1: the tool process is back");
}

#[test]
fn without_affinity_calls_avoid_a_process_that_is_gone() {
    let sandbox = sandbox();
    sandbox.write("tools.py", format!("import os\nif os.path.exists('crash'):\n    raise SystemExit('gone')\n{FILE}"));
    let host = sandbox.pmcp(&["run", "tools.py", "--workers", "2", "--worker-affinity", "none"]).start();
    host.initialize();
    host.stderr_with("serving");
    sandbox.write("crash", "");
    assert!(host.error_text("die", &json!({})).contains("status 9"));
    let texts: BTreeSet<String> = (0..4).map(|_| process(&host.text("who", &json!({}))).to_owned()).collect();
    assert_eq!(texts.len(), 1, "the other process takes all: {texts:?}");
}

fn end(host: &Host, how: &str) {
    match how {
        "hang up" => host.hang_up(),
        "SIGTERM" => host.signal(Signal::TERM),
        _ => host.signal(Signal::KILL),
    }
}

#[test]
fn every_way_to_end_leaves_none_of_the_processes() {
    for how in ["hang up", "SIGTERM", "SIGKILL"] {
        let sandbox = sandbox();
        let host = sandbox.pmcp(&["run", "tools.py", "--workers", "3"]).start();
        host.initialize();
        host.stderr_with("serving");
        assert!(living(sandbox.marker()).len() >= 7, "pmcp, three guardians and processes");
        end(&host, how);
        host.exit();
        host.no_orphans();
        assert!(sandbox.leftovers().is_empty(), "after {how}: {:?}", sandbox.leftovers());
    }
}

#[test]
fn a_file_that_does_not_start_ends_the_program_once() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", "raise SystemExit('broken')\n");
    let host = sandbox.pmcp(&["run", "tools.py", "--workers", "4"]).start();
    host.initialize();
    assert_eq!(host.exit().code(), Some(1));
    assert_eq!(host.stderr().matches("failed to start tool process").count(), 1, "{}", host.stderr());
    host.no_orphans();
}
