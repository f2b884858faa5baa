//! `pmcp doctor`: what it finds about real files.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use protomcp_conformance::{Sandbox, living, peers, pmcp};
use serde_json::{Value, json};

/// The exit code and the findings, each as its health and its text with its fix.
fn doctor(sandbox: &Sandbox, words: &[&str]) -> (Option<i32>, Vec<(String, String)>) {
    let words = [&["doctor", "--format", "json"], words].concat();
    let output = sandbox.pmcp(&words).env("HOME", sandbox.path("home")).command().output().expect("pmcp starts");
    assert_eq!(living(sandbox.marker()), [], "the trial start has ended");
    let report: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    assert_eq!(report["well"], output.status.success());
    let text = |check: &Value, member: &str| check[member].as_str().unwrap_or_default().to_owned();
    let line = |check: &Value| {
        (text(check, "part"), format!("{}: {} / {}", text(check, "health"), text(check, "found"), text(check, "fix")))
    };
    (output.status.code(), report["checks"].as_array().into_iter().flatten().map(line).collect())
}

fn finding(checks: &[(String, String)], part: &str) -> String {
    checks.iter().find(|(name, _)| name == part).map(|(_, text)| text.clone()).unwrap_or_default()
}

#[test]
fn a_healthy_file_is_well() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let (code, checks) = doctor(&sandbox, &["basics.py"]);
    assert_eq!(code, Some(0), "{checks:?}");
    assert!(finding(&checks, "interpreter").contains("Python 3."), "{checks:?}");
    assert!(finding(&checks, "sdk").contains("protomcp 0.3."), "{checks:?}");
    assert!(finding(&checks, "start").contains(" tools after "), "{checks:?}");
    let text = sandbox.pmcp(&["doctor", "basics.py"]).command().output().expect("pmcp starts").stdout;
    assert!(String::from_utf8_lossy(&text).starts_with("✓ file         basics.py\n✓ interpreter  "));
}

#[test]
fn hosts_that_start_the_file_are_named() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let (code, checks) = doctor(&sandbox, &[]);
    assert_eq!(code, Some(0), "{checks:?}");
    assert!(finding(&checks, "host").contains("none starts it") && finding(&checks, "file").is_empty(), "{checks:?}");
    let (file, program) = (sandbox.path("basics.py").display().to_string(), pmcp().display().to_string());
    let configure = |program: &str| {
        let servers = json!({"mcpServers": {"mine": {"command": program, "args": ["dev", file]}}});
        fs::create_dir_all(sandbox.path("home/.cursor")).expect("the sandbox can be written");
        fs::write(sandbox.path("home/.cursor/mcp.json"), servers.to_string()).expect("the sandbox can be written");
    };
    configure(&program);
    let (code, checks) = doctor(&sandbox, &["basics.py"]);
    assert_eq!(code, Some(0), "{checks:?}");
    let starts = format!("good: Cursor starts \"mine\": {program} dev {file}");
    assert!(finding(&checks, "host").starts_with(&starts), "{checks:?}");
    configure("/no/such/pmcp");
    for words in [&["basics.py"][..], &[]] {
        let (code, checks) = doctor(&sandbox, words);
        let found = finding(&checks, "host");
        assert!(code == Some(1) && found.contains("there is no /no/such/pmcp"), "{words:?}: {checks:?}");
        assert!(found.contains(" / pmcp install ") && found.ends_with(" --client cursor"), "{words:?}: {checks:?}");
    }
}

#[test]
fn a_broken_file_of_a_host_is_named() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    fs::create_dir_all(sandbox.path("home/.cursor")).expect("the sandbox can be written");
    fs::write(sandbox.path("home/.cursor/mcp.json"), "{\"mcpServers\": {").expect("the sandbox can be written");
    let (code, checks) = doctor(&sandbox, &["basics.py"]);
    let found = finding(&checks, "host");
    assert!(code == Some(1) && found.starts_with("bad: Cursor reads ") && found.contains("line 1"), "{checks:?}");
}

#[test]
fn the_file_to_install_is_one_word() {
    let sandbox = Sandbox::new();
    fs::copy(sandbox.copy("py/basics.py"), sandbox.path("two words.py")).expect("the sandbox can be written");
    let (_, checks) = doctor(&sandbox, &["two words.py"]);
    assert!(finding(&checks, "host").contains("`pmcp install 'two words.py'`"), "{checks:?}");
    let (_, checks) = doctor(&sandbox, &["missing.py"]);
    assert!(!finding(&checks, "host").contains("install"), "{checks:?}");
}

#[test]
fn a_file_that_prints_while_it_starts_is_named() {
    let sandbox = Sandbox::new();
    let tools = "from protomcp import tool\n\nprint('loading')\n\n@tool('Says hello.')\ndef hello() -> str:\n    return 'hello'\n";
    sandbox.write("prints.py", tools);
    let (code, checks) = doctor(&sandbox, &["prints.py"]);
    let found = finding(&checks, "output");
    assert!(code == Some(0) && found.starts_with("doubtful: it prints to standard output"), "{checks:?}");
    assert!(found.contains("\"loading\" / print to standard error"), "{checks:?}");
}

#[test]
fn a_server_with_another_sdk_is_well() {
    let sandbox = Sandbox::new();
    sandbox.copy("dev/server.py");
    sandbox.write("broken.py", "import fastmcp\nraise SystemExit(3)\n");
    let python = peers().join("mcp/bin/python").display().to_string();
    let (code, checks) = doctor(&sandbox, &["server.py", "--runtime", &python]);
    assert_eq!(code, Some(0), "{checks:?}");
    assert!(finding(&checks, "sdk").contains("another one: the file is an MCP server"), "{checks:?}");
    assert!(finding(&checks, "start").contains("1 tool after "), "{checks:?}");
    let (code, checks) = doctor(&sandbox, &["broken.py", "--runtime", &python]);
    assert_eq!(code, Some(1), "{checks:?}");
    assert!(finding(&checks, "start").contains("exited with status 3"), "{checks:?}");
}

#[test]
fn a_url_is_named_elsewhere() {
    let output = Sandbox::new().pmcp(&["doctor", "https://a.example/mcp"]).command().output().expect("pmcp starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("named by --upstream, as in: pmcp run --upstream https://a.example/mcp"), "{stderr}");
}

#[test]
fn faults_are_found_with_their_fixes() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    sandbox.write("broken.py", "import protomcp\nraise SystemExit(3)\n");
    sandbox.write("empty.py", "import protomcp\n");
    sandbox.write("script", "#!/bin/sh\r\nexit 0\n");
    let taken = TcpListener::bind(("localhost", 0)).expect("a port is free");
    let port = taken.local_addr().expect("it has an address").port().to_string();
    let rows: &[(&[&str], &str, &str)] = &[
        (&["nowhere.py"], "file", "bad: there is no nowhere.py / correct the path"),
        (&["script"], "file", "bad: script is not executable / chmod +x script"),
        (&["broken.py"], "start", "bad: the tool process exited with status 3"),
        (&["empty.py"], "start", "bad: it registers no tool / declare tools"),
        (
            &["basics.py", "--runtime", "no-such-python"],
            "interpreter",
            "bad: no-such-python was not found / install it",
        ),
        (&["basics.py", "--port", &port], "port", &format!("bad: {port}: ")),
    ];
    for (words, part, expected) in rows {
        let (code, checks) = doctor(&sandbox, words);
        let found = finding(&checks, part);
        assert!(code == Some(1) && found.starts_with(expected), "{words:?}: {code:?} {checks:?}");
    }
    fs::set_permissions(sandbox.path("script"), fs::Permissions::from_mode(0o755)).expect("it can be made executable");
    let (_, checks) = doctor(&sandbox, &["script"]);
    assert!(finding(&checks, "file").contains("carriage return"), "{checks:?}");
}
