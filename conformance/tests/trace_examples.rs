//! A conversation with each of the examples is recorded. It replays without a difference, a mock answers as the example did,
//! and the scenario that `pmcp scenario` makes of it passes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use protomcp_conformance::{Host, Sandbox, link_sdk_packages, peers, root, sdk_example, tier};
use serde_json::{Value, json};

/// The calls of an example, by its name without extension, or by its folder if it has one. One without a row here is
/// listed only.
fn calls(example: &str) -> Vec<(&'static str, Value)> {
    match example {
        "app" | "structured" => vec![("forecast", json!({"city": "Ulm"}))],
        "discovery" => vec![
            ("total", json!({"numbers": [1, 2]})),
            ("words", json!({"text": "one two three"})),
            ("nothing", json!({})),
        ],
        "groups" => vec![
            ("notes", json!({"action": "write", "title": "a", "text": "hi", "color": "gren"})),
            ("notes", json!({"action": "write", "title": "a", "text": "hi", "color": "green"})),
            ("notes", json!({"action": "read", "title": "a"})),
        ],
        "hidden" => vec![("open_vault", json!({"code": "0"})), ("open_vault", json!({"code": "1234"}))],
        "interception" | "middleware" => vec![("pay", json!({"amount": 5})), ("pay", json!({"amount": 500}))],
        "large" => vec![("large", json!({"bytes": 100_000}))],
        "local_middleware" => vec![("weather", json!({"city": "ulm"}))],
        "logs" => vec![("import", json!({"rows": 2}))],
        "progress" => vec![("count", json!({"to": 3}))],
        "server_context" => vec![("whoami", json!({}))],
        "sidecar" => vec![("ask", json!({"about": "tea"}))],
        "telemetry" => vec![("divide", json!({"a": 7, "b": 2})), ("divide", json!({"a": 7, "b": 0}))],
        "tools" => {
            vec![("add", json!({"a": 2, "b": 3})), ("add", json!({"a": "x"})), ("greet", json!({"name": "Ann"}))]
        }
        "workflow" => vec![("status", json!({})), ("nothing", json!({}))],
        _ => vec![],
    }
}

/// Records and replays; returns the reason if the answers differ.
fn round_trip(file: &Path) -> Option<String> {
    let sandbox = Sandbox::new();
    let name = match file.file_stem().expect("an example has a name").to_string_lossy().into_owned() {
        main if main == "main" => "discovery".to_owned(),
        name => name,
    };
    // It runs TypeScript itself, and starts sooner than `tsx`.
    let node =
        peers().join("suite/node_modules/.bin/node").canonicalize().expect("please run scripts/setup suite first");
    let file = file.to_string_lossy().into_owned();
    let home = sandbox.path("");
    let pmcp =
        |words: &[&str]| sandbox.pmcp(words).env("HOME", &home).env("NOTES_USER", "ann").env("PROTOMCP_NODE", &node);
    let host = pmcp(&["record", &file, "--to", "trace.jsonl"]).start();
    host.initialize();
    let names = host.names();
    for list in ["tools", "resources", "resources/templates", "prompts"] {
        host.ask(&format!("{list}/list"), &json!({}));
    }
    let answers = |host: &Host| -> Vec<Value> {
        let answer = |(tool, arguments): (&str, Value)| host.answer(host.start_call(tool, &arguments)).value;
        calls(&name).into_iter().map(answer).map(|answer| outcome(&answer)).collect()
    };
    let recorded = answers(&host);
    host.hang_up();
    assert!(host.exit().success(), "{file}: {}", host.stderr());
    let output = pmcp(&["replay", "trace.jsonl", &file, "--strict"]).command().output().expect("pmcp starts");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if !output.status.success() || !text.contains("no difference") {
        return Some(format!("{file}: {text}"));
    }
    let mock = pmcp(&["mock", "trace.jsonl"]).start();
    mock.initialize();
    assert_eq!((mock.names(), answers(&mock)), (names, recorded), "{file}");
    let made = pmcp(&["scenario", "trace.jsonl"]).command().output().expect("pmcp starts");
    sandbox.write("scenario.yaml", made.stdout);
    let output = pmcp(&["test", &file, "run", "scenario.yaml"]).command().output().expect("pmcp starts");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    (!output.status.success() || !text.contains("1 of 1 scenarios passed")).then(|| format!("{file}: {text}"))
}

/// The answer without what differs between sessions.
fn outcome(answer: &Value) -> Value {
    json!({"result": answer["result"], "error": answer["error"]})
}

fn all(files: impl IntoIterator<Item = PathBuf>) {
    let differences: Vec<_> = files.into_iter().filter_map(|file| round_trip(&file)).collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Those in a language with an interpreter, which takes longer to start than the rest: in the short tier as many as show a
/// folder of files, groups, hidden tools and plain ones.
fn interpreted(files: impl IntoIterator<Item = PathBuf>) {
    let names = ["main", "groups", "hidden", "tools"];
    let is_chosen = |file: &PathBuf| names.iter().any(|name| file.file_stem().is_some_and(|stem| stem == *name));
    all(files.into_iter().filter(|file| tier(is_chosen(file), true)));
}

fn entries(folder: &str, extension: &str, least: usize) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).expect("the examples are there");
    let paths = entries.map(|entry| entry.expect("an entry can be read").path());
    let found: BTreeSet<_> = paths.filter(|path| path.extension().is_some_and(|it| it == extension)).collect();
    assert!(found.len() >= least, "{folder}: {found:?}");
    found
}

#[test]
fn examples_in_python_replay_and_meet_their_scenario() {
    let folder = "conformance/published/python";
    interpreted(entries(folder, "py", 12).into_iter().chain([root().join(folder).join("discovery/main.py")]));
}

#[test]
fn examples_in_rust_replay_and_meet_their_scenario() {
    let names = entries("crates/sdk/examples", "rs", 12);
    all(names.iter().map(|path| sdk_example(&path.file_stem().expect("it has a name").to_string_lossy())));
}

#[test]
fn examples_in_typescript_replay_and_meet_their_scenario() {
    link_sdk_packages();
    let files = entries("sdk/typescript/examples", "ts", 12);
    interpreted(files.into_iter().chain([root().join("sdk/typescript/examples/discovery/main.ts")]));
}
