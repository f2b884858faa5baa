//! The command line: what it accepts, what it refuses and with which words.

mod terminal;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use protomcp_conformance::{Sandbox, pmcp, session};
use serde_json::json;

/// Item 99.
#[test]
fn version_prints_the_version_of_the_build() {
    let manifest = include_str!("../../Cargo.toml");
    let line = manifest.lines().find(|line| line.starts_with("version = ")).expect("the workspace has a version");
    let version = line.split('"').nth(1).expect("a version is a string");
    for word in ["version", "--version", "-v"] {
        let output = run(&[word]);
        assert_eq!(output.status.code(), Some(0), "{word}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(text.trim(), format!("pmcp version {version}"), "{word}");
    }
}

/// Item 99.
#[test]
fn the_server_info_carries_the_same_version() {
    let (host, _sandbox) = session("run", "py/quickstart.py", &[]);
    drop(host);
    let sandbox = Sandbox::new();
    sandbox.copy("py/quickstart.py");
    let host = sandbox.pmcp(&["run", "quickstart.py"]).start();
    let info = host.initialize()["serverInfo"].take();
    let printed = String::from_utf8_lossy(&run(&["version"]).stdout).into_owned();
    assert_eq!(format!("pmcp version {}", info["version"].as_str().unwrap_or_default()), printed.trim());
}

/// Item 91.
#[test]
fn help_is_printed_where_it_can_be_piped() {
    for word in ["help", "--help", "-h"] {
        let output = run(&[word]);
        assert_eq!(output.status.code(), Some(0), "{word}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        for part in ["dev", "run", "--hot-reload", "--call-timeout"] {
            assert!(text.contains(part), "{word} does not mention {part}: {text}");
        }
    }
}

/// The limits that a person can set are those that count.
#[test]
fn limits_of_the_command_line_apply_on_stdio() {
    let (host, _sandbox) = session("run", "py/versioned.py", &["--max-line", "1K", "--max-pending", "1"]);
    let place = host.now();
    host.line(&json!({"jsonrpc": "2.0", "id": "long", "method": "x".repeat(1024)}).to_string());
    let refused = host.wait_for("the refusal of a line", place, |message| message.value["error"].is_object()).value;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert!(
        refused["error"]["message"].as_str().is_some_and(|why| why.contains("1024 bytes; raise --max-line")),
        "{refused}"
    );
    let running = host.start_call("work", &json!({"id": 1, "ms": 1000}));
    let refused = host.refused("tools/call", &json!({"name": "work", "arguments": {"id": 2, "ms": 0}}));
    assert_eq!(refused["code"], -32603, "{refused}");
    assert_eq!(host.answer(running).value["result"]["content"][0]["text"], "1 v0");
}

/// Item 91.
#[test]
fn errors_on_the_command_line_are_named_and_exit_with_2() {
    let rows: &[(&[&str], &str)] = &[
        (&[], "usage: pmcp <command>"),
        (&[], "pmcp dev tools.py "),
        (&["dev"], "missing file argument"),
        (&["run", "--call-timeout", "1s"], "missing file argument"),
        (&["bogus", "tools.py"], "bogus"),
        (&["dev", "tools.py", "--nope"], r#"unknown flag "--nope""#),
        (&["dev", "--nope=1", "tools.py"], "unknown flag \"--nope"),
        (&["dev", "no-such-file.py"], "file not found: no-such-file.py"),
        (&["dev", "tools.py", "--hot-reload", "sometimes"], "sometimes"),
        (&["dev", "tools.py", "--call-timeout", "soon"], "soon"),
        (&["dev", "tools.py", "--call-timeout"], "--call-timeout"),
        (&["dev", "tools.py", "--transport", "pigeon"], "pigeon"),
        (&["dev", "tools.py", "--log-level", "loud"], "loud"),
        (&["dev", "", "--log-level", "info"], "the file is empty"),
        (&["run", "tools.py", "--socket", "."], "in use by another file or program; choose another path with --socket"),
        (
            &["run", "tools.py", "--socket", &"s".repeat(200)],
            "the system allows 107; choose another path with --socket",
        ),
        (&["run", "./orphan"], "/no/such/interpreter, which the first line of ./orphan names, does not exist"),
        (&["run", "--", "no-such-program"], "program not found: no-such-program"),
        (&["dev", "--", "no-such-program"], "program not found: no-such-program"),
        (&["run", "--", "./no-such-program"], "program not found: ./no-such-program"),
        (&["run", "--upstream-protocol", "proto", "--", "./orphan"], "which the first line of ./orphan names"),
        (&["run", "--", "/"], "/ is a directory"),
    ];
    let sandbox = Sandbox::new();
    sandbox.copy("py/quickstart.py");
    std::fs::rename(sandbox.path("quickstart.py"), sandbox.path("tools.py")).expect("the file is there");
    std::fs::write(sandbox.path("orphan"), "#!/no/such/interpreter\n").expect("the folder takes a file");
    std::fs::set_permissions(sandbox.path("orphan"), Permissions::from_mode(0o755)).expect("the file is ours");
    for (args, words) in rows {
        let output = Command::new(pmcp()).args(*args).current_dir(sandbox.path("")).output().expect("pmcp starts");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(words), "{args:?}: {stderr}");
        assert!(output.stdout.is_empty(), "{args:?}: standard output belongs to the protocol");
    }
}

/// Item 91.
#[test]
fn flags_are_accepted_around_the_file_and_with_an_equals_sign() {
    let rows: &[&[&str]] = &[
        &["run", "quickstart.py", "--call-timeout", "1m30s", "--log-level=debug"],
        &["run", "--call-timeout=300ms", "quickstart.py", "--log-level", "warn"],
        &["dev", "--hot-reload", "swap", "--call-timeout", "1.5h", "quickstart.py"],
        &["dev", "--hot-reload=immediate", "--transport=stdio", "quickstart.py"],
    ];
    for args in rows {
        let sandbox = Sandbox::new();
        sandbox.copy("py/quickstart.py");
        let host = sandbox.pmcp(args).start();
        host.initialize();
        assert_eq!(host.text("add", &json!({"a": 1, "b": 2})), "3", "{args:?}");
    }
}

#[test]
fn a_variable_that_names_no_program_is_named() {
    for (file, variable) in [("a.py", "PROTOMCP_PYTHON"), ("a.js", "PROTOMCP_NODE")] {
        let sandbox = Sandbox::new();
        std::fs::write(sandbox.path(file), "").expect("the folder takes a file");
        for program in ["/no/such/program", "/"] {
            let output = sandbox.pmcp(&["run", file]).command().env(variable, program).output().expect("pmcp starts");
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{stderr}");
            assert!(stderr.contains(program) && stderr.contains(variable), "{stderr}");
        }
    }
}

fn run(args: &[&str]) -> Output {
    Command::new(pmcp()).args(args).output().expect("pmcp starts")
}
