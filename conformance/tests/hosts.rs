//! Third-party clients drive the product through the published Python SDK, on stdio. `matrix` has them over HTTP, too.

use std::process::Command;

use protomcp_conformance::{Launch, Sandbox, living, peers, pmcp};
use serde_json::{Value, json};

/// Items 28, 36, 43, 59.
#[test]
fn the_official_python_client_works() {
    for (mode, revision) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        let sandbox = Sandbox::new();
        let seen = visit(&sandbox, &[&path("mcp/bin/python"), &host("client.py"), mode]);
        assert_eq!(seen["protocol"], revision, "{mode}");
        check(&seen, mode);
    }
}

/// Items 28, 36, 43, 59.
#[test]
fn the_official_typescript_client_works() {
    let sandbox = Sandbox::new();
    sandbox.with_node();
    std::fs::copy(host("client.mts"), sandbox.path("client.mts")).expect("the sandbox can be written");
    let seen = visit(&sandbox, &[&path("node/node_modules/.bin/tsx"), "client.mts"]);
    check(&seen, "TypeScript");
}

/// Items 28, 33, 36.
#[test]
fn the_official_inspector_lists_and_calls() {
    let inspect = |arguments: &[&str]| {
        let sandbox = Sandbox::new();
        let inspector = path("inspector/node_modules/.bin/mcp-inspector");
        let script = host("inspector.sh");
        let mut words = vec![script, inspector];
        words.extend(arguments.iter().map(|word| (*word).to_owned()));
        // This client passes on only the variables that it is given.
        for (name, value) in sandbox.pmcp(&[]).command().get_envs() {
            let pair = format!("{}={}", name.to_string_lossy(), value.unwrap_or_default().to_string_lossy());
            words.extend(["-e".to_owned(), pair]);
        }
        words.push("--".to_owned());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        visit(&sandbox, &words)
    };
    let list = inspect(&["tools/list"]);
    assert!(list["tools"].as_array().is_some_and(|tools| tools.iter().any(|tool| tool["name"] == "echo")), "{list}");
    let result = inspect(&["tools/call", "--tool-name", "add", "--tool-arg", "a=1", "--tool-arg", "b=2"]);
    assert_eq!(result["content"], json!([{"type": "text", "text": "3"}]));
}

/// Checks the report of either client.
fn check(seen: &Value, who: &str) {
    let names = |list: &Value| -> Vec<String> {
        list.as_array().expect("a list").iter().map(|name| name.as_str().unwrap_or_default().to_owned()).collect()
    };
    let (before, after) = (names(&seen["tools"]), names(&seen["tools_after"]));
    assert_eq!(seen["server"], "protomcp", "{who}");
    assert!(
        before.is_sorted() && before.contains(&"echo".to_owned()) && !before.contains(&"secret".to_owned()),
        "{who}"
    );
    // MCP 2026-07-28, server/tools: there, no call changes what the next request sees.
    let is_stateless = seen["protocol"] == "2026-07-28";
    assert_eq!(after.contains(&"secret".to_owned()), !is_stateless, "{who}: {after:?}");

    let calls = &seen["calls"];
    let text = |label: &str| calls[label]["text"][0].as_str().unwrap_or_else(|| panic!("{who}: no {label} in {seen}"));
    assert_eq!(text("echo"), "hello", "{who}");
    assert_eq!(text("add"), "3", "{who}");
    assert_eq!(text("greet"), "Grüß dich, Jürgen! 你好 🦀 \u{2028} é", "{who}");
    assert_eq!(calls["structured"]["structured"]["z"], 1, "{who}");
    assert_eq!(calls["weather_json"]["structured"], json!({"city": "Ulm", "degrees": 21}), "{who}");
    assert_eq!(text("weather_prose"), "mild in Ulm", "{who}: a strict client refuses a broken promise");
    assert_eq!(calls["fail_with_code"]["isError"], true, "{who}");
    assert_eq!(
        (&calls["raise_error"]["isError"], text("raise_error")),
        (&json!(true), "the handler raised on purpose"),
        "{who}"
    );
    assert_eq!(text("large").len(), 70_000, "{who}");
    assert_eq!(text("after"), "still here", "{who}");

    assert_eq!(seen["errors"]["unknown"]["code"], -32602, "{who}: {seen}");
    assert_eq!(seen["errors"].as_object().map(serde_json::Map::len), Some(1), "{who}: {}", seen["errors"]);
    let progress = seen["progress"].as_array().expect("a list");
    let steps: Vec<_> = progress.iter().map(|step| (step[0].as_f64(), step[1].as_f64(), step[2].as_str())).collect();
    let wanted = [1.0, 2.0, 3.0].map(|n| (Some(n), Some(3.0), format!("step {n}")));
    assert!(
        steps.iter().copied().eq(wanted.iter().map(|(n, total, text)| (*n, *total, Some(text.as_str())))),
        "{who}: {steps:?}"
    );
    assert_eq!(seen["cancelled"], true, "{who}");
}

/// Runs a host with `pmcp run basics.py` as its server, and returns its output.
fn visit(sandbox: &Sandbox, words: &[&str]) -> Value {
    sandbox.copy("py/basics.py");
    let mut command = in_place_of(sandbox.pmcp(&[]), words);
    outcome(sandbox, command.arg(pmcp()).args(["run", "basics.py"]))
}

/// The output of a host, which must succeed and leave nothing behind.
fn outcome(sandbox: &Sandbox, command: &mut Command) -> Value {
    let output = command.output().expect("the host starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} failed\n{stdout}\n{stderr}");
    protomcp_conformance::eventually("everything to be gone", || living(sandbox.marker()).is_empty().then_some(()));
    serde_json::from_str(&stdout)
        .unwrap_or_else(|error| panic!("{command:?} printed no JSON ({error}): {stdout}\n{stderr}"))
}

/// Another program with the environment and the working directory that `pmcp` would be given.
fn in_place_of(launch: Launch, words: &[&str]) -> Command {
    let prepared = launch.command();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(prepared.get_current_dir().expect("a launch has a working directory"));
    for (name, value) in prepared.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

fn path(name: &str) -> String {
    peers().join(name).to_string_lossy().into_owned()
}

fn host(name: &str) -> String {
    format!("{}/hosts/{name}", env!("CARGO_MANIFEST_DIR"))
}
