//! Tool processes on `protomcp-sdk` behind `pmcp`: large results, many calls, and Cargo projects under `dev`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use protomcp_conformance::{Host, Sandbox, eventually, everything_tool, living, sdk_example, tier};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const MIB: usize = 1 << 20;
/// The bytes of a result around its text: an array with one block.
const AROUND: usize = r#"[{"type":"text","text":""}]"#.len();

/// The peak memory of the program, in bytes.
fn peak(host: &Host) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", host.pid())).expect("the program lives");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("Linux shows the peak");
    let kib: usize = line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number of kB");
    kib << 10
}

fn start(program: &Path, options: &[&str]) -> (Host, Sandbox) {
    let sandbox = Sandbox::new();
    let program = program.to_string_lossy().into_owned();
    let host = sandbox.pmcp(&[&["run", &program], options].concat()).start();
    host.initialize();
    (host, sandbox)
}

#[test]
fn the_largest_result_passes_and_a_larger_one_names_the_limit() {
    let limit = tier(16, 256) * MIB;
    let (host, _sandbox) = start(&sdk_example("large"), &[&format!("--max-result={limit}")]);
    host.text("large", &json!({"bytes": 1}));
    let before = peak(&host);
    let text = host.text("large", &json!({"bytes": limit - AROUND}));
    assert_eq!(text.len(), limit - AROUND);
    let grown = peak(&host) - before;
    assert!(grown <= 2 * limit, "{} MiB more for a result of {} MiB", grown / MIB, limit / MIB);
    let refused = host.call("large", &json!({"bytes": limit - AROUND + 1}));
    assert_eq!(refused["isError"], true);
    assert!(refused.to_string().contains("--max-result"), "{refused}");
    assert_eq!(host.text("large", &json!({"bytes": 3})), "xxx", "the link goes on");
}

#[test]
fn many_calls_run_concurrently() {
    let (host, _sandbox) = start(&everything_tool(), &[]);
    let arguments = json!({});
    // Each of these reports progress when it begins, and goes on until it is cancelled.
    let waiting: Vec<u64> = (0..64)
        .map(|token| {
            let params = json!({"name": "test_wait", "arguments": arguments, "_meta": {"progressToken": token}});
            host.request("tools/call", &params)
        })
        .collect();
    eventually("all of them concurrently", || {
        (host.notifications("notifications/progress", 0).len() == waiting.len()).then_some(())
    });
    for call in waiting {
        host.tell("notifications/cancelled", &json!({"requestId": call}));
    }
    let calls: Vec<u64> = (0..64).map(|_| host.start_call("test_tool_with_logging", &arguments)).collect();
    for call in calls {
        let answer = host.answer(call).value;
        assert_ne!(answer["result"]["isError"], true, "{answer}");
    }
}

/// A program that becomes the tool process at this path; it builds without the crates of the tool process.
fn project(tool: &Path) -> String {
    format!(
        "use std::os::unix::process::CommandExt;\n\nfn main() {{\n    panic!(\"{{}}\", \
         std::process::Command::new({tool:?}).exec());\n}}\n"
    )
}

/// Renames a draft over the program, as editors do.
fn save(sandbox: &Sandbox, program: &str) {
    let draft = sandbox.path("tool/src/draft");
    std::fs::write(&draft, program).expect("the sandbox can be written");
    std::fs::rename(draft, sandbox.path("tool/src/main.rs")).expect("the sandbox can be written");
}

/// Items 67, 74.
#[test]
fn a_cargo_project_is_built_again_after_each_save() {
    let (first, second) = (sdk_example("tools"), sdk_example("structured"));
    for program in ["tool", "tool/src/main.rs"] {
        let sandbox = Sandbox::new();
        std::fs::create_dir_all(sandbox.path("tool/src")).expect("the sandbox can be written");
        let manifest = "[package]\nname = \"tool\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
        std::fs::write(sandbox.path("tool/Cargo.toml"), manifest).expect("the sandbox can be written");
        save(&sandbox, &project(&first));
        // The project is compiled as its author would, not as these tests are.
        let launch = sandbox.pmcp(&["dev", program]).without("RUSTC_WORKSPACE_WRAPPER").without("CLIPPY_ARGS");
        let host = launch.start();
        host.initialize();
        host.until_names(&["add", "count", "greet"]);

        save(&sandbox, "fn main() { this_is_not_rust }\n");
        let said = host.stderr_with("reload failed");
        assert!(said.contains("this_is_not_rust"), "the error of the compiler: {said}");
        assert_eq!(host.text("greet", &json!({"name": "Ann"})), "Hello, Ann!", "the version before serves");

        let place = host.now();
        save(&sandbox, &project(&second));
        host.list_changed(place);
        assert_eq!(host.names(), ["forecast"]);
        let result: Value = host.call("forecast", &json!({"city": "Ulm"}));
        assert_eq!(result["structuredContent"]["degrees"], 21);
    }
}

/// A workflow in the revision without sessions: its handle is an argument, and the list of tools never changes.
#[test]
fn a_workflow_runs_without_a_session() {
    let sandbox = Sandbox::new();
    let program = sdk_example("workflow").to_string_lossy().into_owned();
    let host = sandbox.pmcp(&["run", &program]).start();
    let ask = |method: &str, mut params: Value| {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "conformance", "version": "1"},
        });
        host.ask(method, &params)
    };
    let call = |name: &str, arguments: Value| ask("tools/call", json!({"name": name, "arguments": arguments}));
    let before = ask("tools/list", json!({}))["tools"].clone();
    let chosen = call("release_choose", json!({"version": "1.2"}));
    let next = chosen["content"][1]["text"].as_str().expect("the handle").to_owned();
    let handle = next.split('"').nth(1).unwrap_or_else(|| panic!("no handle in {next}")).to_owned();
    assert_eq!(ask("tools/list", json!({}))["tools"], before);
    let early = call("release_publish", json!({"workflow": handle}));
    assert_eq!(
        (&early["isError"], &early["_meta"]["protomcp/error"]["error_code"]),
        (&json!(true), &json!("WRONG_STEP"))
    );
    assert_eq!(call("release_test", json!({"workflow": "guessed"}))["isError"], true);
    assert_ne!(call("release_test", json!({"workflow": handle}))["isError"], true);
    let out = call("release_publish", json!({"workflow": handle}));
    assert_eq!(out["content"][0]["text"], "it is out");
    assert_eq!(ask("tools/list", json!({}))["tools"], before);
}

/// The levels of the log messages about a call, and their loggers.
fn logged(host: &Host, rows: u32) -> Vec<(String, String)> {
    let place = host.now();
    host.text("import", &json!({ "rows": rows }));
    // Messages about a call come before its answer.
    let messages = host.notifications("notifications/message", place);
    let word = |message: &Value, name: &str| message["params"][name].as_str().unwrap_or_default().to_owned();
    messages.iter().map(|message| (word(&message.value, "level"), word(&message.value, "logger"))).collect()
}

#[test]
fn events_of_handlers_are_log_messages_of_their_calls() {
    let program = sdk_example("logs");
    let sandbox = Sandbox::new();
    let path = program.to_string_lossy().into_owned();
    for launch in [sandbox.pmcp(&["run", &path]), sandbox.pmcp(&[]).program(&program)] {
        let host = launch.start();
        host.initialize();
        let set = |level: &str| host.ask("logging/setLevel", &json!({ "level": level }));
        let pair = |level: &str, logger: &str| (level.to_owned(), logger.to_owned());
        let (debug, info, slow) = (pair("debug", "logs"), pair("info", "logs"), pair("warning", "database"));
        set("debug");
        assert_eq!(logged(&host, 7), [debug.clone(), info.clone()]);
        set("info");
        assert_eq!(logged(&host, 7), std::slice::from_ref(&info));
        assert_eq!(logged(&host, 700), [slow.clone(), info]);
        set("warning");
        assert_eq!(logged(&host, 700), [slow]);
        set("error");
        assert_eq!(logged(&host, 700), []);
        host.hang_up();
        host.exit();
    }
}

/// Makes the next version of a built program, as a compiler does: the bytes behind its end do not change it.
pub(crate) fn rebuild(sandbox: &Sandbox, built: &Path, version: usize) {
    let mut program = std::fs::read(built).expect("the example is built");
    program.extend(format!("\nversion {version}").into_bytes());
    let draft = sandbox.path(".draft");
    std::fs::write(&draft, program).expect("the sandbox can be written");
    std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o755)).expect("a file of ours");
    std::fs::rename(draft, sandbox.path("visits")).expect("a file in the sandbox can be replaced");
}

#[test]
fn the_state_survives_saves_while_calls_run() {
    const SAVES: usize = 3;
    let built = sdk_example("visits");
    for mode in ["graceful", "swap"] {
        let sandbox = Sandbox::new();
        rebuild(&sandbox, &built, 0);
        let host = sandbox.pmcp(&["dev", "./visits", "--hot-reload", mode]).start();
        host.initialize();
        let visit = |name: String| host.text("visit", &json!({"name": name, "stay": 30})).parse::<usize>();
        let saved = AtomicBool::new(false);
        let mut counts: Vec<usize> = thread::scope(|scope| {
            let callers = [1, 2, 3].map(|caller| {
                let (visit, saved) = (&visit, &saved);
                scope.spawn(move || {
                    let mut counts = Vec::new();
                    while !saved.load(Ordering::Relaxed) {
                        counts.push(visit(format!("caller {caller}")).expect("a number"));
                    }
                    counts
                })
            });
            for version in 1..=SAVES {
                let place = host.now();
                rebuild(&sandbox, &built, version);
                host.list_changed(place);
            }
            saved.store(true, Ordering::Relaxed);
            callers.into_iter().flat_map(|caller| caller.join().expect("each call is answered")).collect()
        });
        counts.sort_unstable();
        assert!(counts.iter().copied().eq(1..=counts.len()), "{mode}: no visit is lost or counted twice: {counts:?}");
        let taken_over = || host.stderr().matches("has taken over the state").count();
        eventually("the last line of the log", || (taken_over() >= SAVES).then_some(()));
        assert_eq!(taken_over(), SAVES);
    }
}

#[test]
fn a_crash_hands_over_nothing() {
    let sandbox = Sandbox::new();
    rebuild(&sandbox, &sdk_example("visits"), 0);
    let host = sandbox.pmcp(&["dev", "./visits"]).start();
    host.initialize();
    let visit = || host.text("visit", &json!({"name": "Ann"}));
    assert_eq!((visit().as_str(), visit().as_str()), ("1", "2"));
    let tool = living(sandbox.marker()).into_iter().find(|process| process.command == "./visits").expect("it runs");
    let pid = i32::try_from(tool.pid).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(pid, Signal::KILL).expect("it runs");
    host.stderr_with("the tool process is back");
    assert_eq!(visit(), "1");
}
