//! The guide `docs/write-an-sdk.md`: its program passes the vectors, and serves its tool behind the bridge.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use protomcp_conformance::{Host, Sandbox, eventually, root};
use serde_json::{Value, json};

/// The blocks of the guide that belong to this file, joined.
fn program(file: &str) -> String {
    let guide = fs::read_to_string(root().join("docs/write-an-sdk.md")).expect("the guide is there");
    let begin = format!("```perl {file}\n");
    let blocks = guide.split(&begin).skip(1).map(|rest| rest.split("```").next().expect("a block ends"));
    blocks.collect::<Vec<_>>().join("\n")
}

/// A folder with both programs.
fn sandbox() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let tool = sandbox.write("tool.pl", program("tool.pl"));
    sandbox.write("vectors.pl", program("vectors.pl"));
    fs::set_permissions(&tool, Permissions::from_mode(0o755)).expect("the file is ours");
    (sandbox, tool)
}

/// Runs the vectors in this text.
fn check(vectors: &str) -> Output {
    let (sandbox, _) = sandbox();
    let vectors = sandbox.write("envelopes.json", vectors);
    let mut perl = Command::new("perl");
    perl.current_dir(sandbox.path("")).arg("vectors.pl").arg(vectors).output().expect("perl starts")
}

fn session(command: &str) -> (Host, Sandbox, PathBuf) {
    let (sandbox, tool) = sandbox();
    let host = sandbox.pmcp(&[command, tool.to_str().expect("the path is text")]).start();
    host.initialize();
    (host, sandbox, tool)
}

#[test]
fn the_program_is_as_short_as_the_guide_says() {
    let lines = program("tool.pl").lines().filter(|line| !line.trim().is_empty()).count();
    assert!((100..150).contains(&lines), "{lines} lines of code");
}

#[test]
fn the_program_passes_the_vectors_of_its_messages() {
    let vectors = fs::read_to_string(root().join("conformance/vectors/envelopes.json")).expect("they are there");
    let output = check(&vectors);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    let passed: usize = told.split(' ').next().and_then(|number| number.parse().ok()).expect("a number");
    assert!(passed >= 30, "{told}");
    // The bytes of one name in another letter.
    let changed = vectors.replacen("0a03616464", "0a03616465", 1);
    assert_ne!(changed, vectors);
    assert!(!check(&changed).status.success(), "a vector with a changed byte fails");
}

#[test]
fn the_tool_is_listed_and_called() {
    let (host, _sandbox, _) = session("run");
    assert_eq!(host.names(), ["greet"]);
    assert_eq!(host.tool("greet")["description"], "Greets by name.");
    assert_eq!(host.text("greet", &json!({"name": "Änn"})), "Hello, Änn!");
    let failed = host.call("greet", &json!({}));
    let error = &failed["_meta"]["protomcp/error"];
    assert_eq!((&failed["isError"], &error["error_code"]), (&json!(true), &Value::from("NO_NAME")), "{failed}");
    let long = "x".repeat(200_000);
    assert_eq!(host.text("greet", &json!({ "name": long })), format!("Hello, {long}!"));
    host.hang_up();
    host.exit();
    host.no_orphans();
}

#[test]
fn a_save_reloads_the_program() {
    let (host, sandbox, tool) = session("dev");
    assert_eq!(host.text("greet", &json!({"name": "Ann"})), "Hello, Ann!");
    let draft = sandbox.write("draft", program("tool.pl").replace("Hello", "Howdy"));
    fs::set_permissions(&draft, Permissions::from_mode(0o755)).expect("the file is ours");
    fs::rename(draft, tool).expect("the sandbox can be written");
    eventually("the new version", || (host.text("greet", &json!({"name": "Ann"})) == "Howdy, Ann!").then_some(()));
}
