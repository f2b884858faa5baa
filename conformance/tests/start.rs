//! The start of the tool process, and the handling of its failures (docs/envelope.md, "Start of a process").

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use protomcp_conformance::{Sandbox, Stage, judge, living, peers, session, tool};
use rustix::process::Signal;
use serde_json::json;

/// The product promises a second; a test allows ten times that, in the long tier.
const SOON: Duration = Duration::from_secs(10);

/// Items 17, 18.
#[test]
fn the_command_follows_from_the_file_and_the_environment() {
    // file, PROTOMCP_PYTHON, PROTOMCP_NODE, options, the resulting command
    type Row<'a> = (&'a str, Option<&'a str>, Option<&'a str>, &'a [&'a str], &'a str);
    let rows: &[Row<'_>] = &[
        ("tool.py", Some("my-python"), None, &[], "my-python tool.py"),
        ("tool.py", None, None, &[], "python3 tool.py"),
        ("in/project/tool.py", None, None, &[], "uv run python in/project/tool.py"),
        ("in/project/tool.py", Some("my-python"), None, &[], "my-python in/project/tool.py"),
        ("tool.ts", None, None, &[], &node_for_types("tool.ts")),
        ("tool.tsx", None, None, &[], "npx --no --offline tsx tool.tsx"),
        ("tool.ts", None, Some("my-node"), &[], "my-node tool.ts"),
        ("tool.js", None, None, &[], "node tool.js"),
        ("tool.js", None, Some("my-node"), &[], "my-node tool.js"),
        ("tool.go", None, None, &[], "go run tool.go"),
        ("crate/tool.rs", None, None, &[], "cargo run --quiet --manifest-path crate/Cargo.toml"),
        ("crate/src/main.rs", None, None, &[], "cargo run --quiet --manifest-path crate/Cargo.toml"),
        ("tool.py", Some("my-python"), None, &["--runtime", "my-runtime"], "my-runtime tool.py"),
        ("tool.rb", None, None, &["--runtime=my-runtime"], "my-runtime tool.rb"),
    ];
    for (file, python, node, options, wanted) in rows {
        assert_eq!(command_for(file, *python, *node, options), *wanted, "{file} {options:?}");
    }
}

/// The command that ends immediately if Node does not read TypeScript, so that `npx` runs the file.
fn node_for_types(file: &str) -> String {
    format!("node --import data:text/javascript,process.features.typescript||process.exit(97) {file}")
}

/// Item 18.
#[test]
fn npx_and_tsx_run_a_file_that_node_cannot_read() {
    let sandbox = Sandbox::new();
    let stage = Stage::new(&sandbox);
    on_path(&sandbox, "npx", "exec \"$PMCP_TEST_RELAY\" npx \"$@\"");
    on_path(&sandbox, "node", "exit 97");
    sandbox.write("tool.ts", "");
    let launch = stage.pmcp(&sandbox, &["run", "tool.ts"]).without("PROTOMCP_NODE");
    let _host = launch.env("PATH", format!("{}:/usr/bin:/bin", sandbox.path("bin").display())).start();
    assert_eq!(stage.accept().hello.args[1..].join(" "), "npx --no --offline tsx tool.ts");
}

/// Item 17.
#[test]
fn uv_runs_a_file_with_script_metadata() {
    for (file, has_uv, wanted) in [
        ("# /// script\n# dependencies = []\n# ///\n", true, "uv run --script tool.py"),
        ("# /// script\n# dependencies = []\n# ///\n", false, "python3 tool.py"),
        ("# dependencies = []\n", true, "python3 tool.py"),
    ] {
        let sandbox = Sandbox::new();
        let stage = Stage::new(&sandbox);
        for program in ["uv", "python3"].into_iter().filter(|program| has_uv || *program != "uv") {
            on_path(&sandbox, program, &format!("exec \"$PMCP_TEST_RELAY\" {program} \"$@\""));
        }
        sandbox.write("tool.py", file);
        let launch = stage.pmcp(&sandbox, &["run", "tool.py"]).without("PROTOMCP_PYTHON");
        let host = launch.env("PATH", format!("{}:/usr/bin:/bin", sandbox.path("bin").display())).start();
        assert_eq!(stage.accept().hello.args[1..].join(" "), wanted, "{file}");
        if !has_uv {
            host.stderr_with("uv is not on the path");
        }
    }
}

/// Makes a program of a script for the shell.
fn on_path(sandbox: &Sandbox, program: &str, script: &str) {
    fs::create_dir_all(sandbox.path("bin")).expect("the sandbox can be written");
    let path = sandbox.path("bin").join(program);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("the sandbox can be written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is our file");
}

/// Runs `pmcp` with a PATH on which every program is a scripted tool process, and returns the command that started it.
fn command_for(file: &str, python: Option<&str>, node: Option<&str>, options: &[&str]) -> String {
    let sandbox = Sandbox::new();
    let stage = Stage::new(&sandbox);
    for folder in ["bin", "in/project", "crate/src"] {
        fs::create_dir_all(sandbox.path(folder)).expect("the sandbox can be written");
    }
    for file in ["in/pyproject.toml", "crate/Cargo.toml"] {
        fs::write(sandbox.path(file), "").expect("the sandbox can be written");
    }
    for program in ["my-python", "python3", "uv", "npx", "node", "my-node", "go", "cargo", "my-runtime"] {
        on_path(&sandbox, program, &format!("exec \"$PMCP_TEST_RELAY\" {program} \"$@\""));
    }
    fs::write(sandbox.path(file), "").expect("the sandbox can be written");

    let mut launch = stage.pmcp(&sandbox, &["run", file]);
    for option in options {
        launch = launch.arg(option);
    }
    launch = launch.env("PATH", format!("{}:/usr/bin:/bin", sandbox.path("bin").display()));
    for (name, value) in [("PROTOMCP_PYTHON", python), ("PROTOMCP_NODE", node)] {
        launch = match value {
            Some(value) => launch.env(name, value),
            None => launch.without(name),
        };
    }
    let _host = launch.start();
    let peer = stage.accept();
    let words = peer.hello.args[1..].join(" ");
    words.replace(&format!("{}/", sandbox.path("").display()), "").replace("crate/src/../", "crate/")
}

/// Item 18.
#[test]
fn a_file_of_any_other_kind_is_run_itself() {
    let sandbox = Sandbox::new();
    let stage = Stage::new(&sandbox);
    let _host = stage.pmcp(&sandbox, &["run", "./relay"]).start();
    assert_eq!(stage.accept().hello.args[1..], [""; 0], "no arguments are added");
}

/// Item 19.
/// A guardian that is executed has its options in its command line.
#[test]
fn the_guardian_of_the_first_process_is_forked() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let host = sandbox.pmcp(&["run", "basics.py"]).start();
    host.initialize();
    assert!(!host.tools().is_empty(), "the tool process runs");
    let family = living(sandbox.marker());
    let guardians: Vec<_> = family.iter().filter(|one| one.command.starts_with("protomcp-guardian")).collect();
    let [guardian] = &guardians[..] else { panic!("{family:?}") };
    assert_eq!(guardian.command, "protomcp-guardian");
}

#[test]
fn the_socket_lies_in_the_runtime_directory_and_is_private() {
    let sandbox = Sandbox::new();
    let stage = Stage::new(&sandbox);
    let host = stage.pmcp(&sandbox, &["run", "./relay"]).start();
    let mut peer = stage.accept();
    let folder = sandbox.runtime().join("pmcp");
    assert!(peer.hello.socket.starts_with(&folder), "{} is not in {}", peer.hello.socket.display(), folder.display());
    assert_eq!(peer.hello.folder_mode & 0o077, 0, "the directory of the socket is private");
    peer.handshake(vec![tool("echo")]);
    host.initialize();
    assert_eq!(host.names(), ["echo"]);
    // After this point nothing is left to clean up, even after SIGKILL.
    assert_eq!(sandbox.leftovers(), [""; 0].map(std::path::PathBuf::from));
}

/// Item 19.
#[test]
fn without_a_runtime_directory_the_temporary_one_is_used() {
    let sandbox = Sandbox::new();
    let stage = Stage::new(&sandbox);
    let temporary = sandbox.path("tmp");
    fs::create_dir(&temporary).expect("the sandbox can be written");
    let launch = stage.pmcp(&sandbox, &["run", "./relay"]).without("XDG_RUNTIME_DIR").env("TMPDIR", &temporary);
    let _host = launch.start();
    let peer = stage.accept();
    assert!(peer.hello.socket.starts_with(&temporary), "{}", peer.hello.socket.display());
    assert_eq!(peer.hello.folder_mode & 0o077, 0, "the directory of the socket is private");
}

/// Item 19.
#[test]
fn a_given_socket_path_replaces_a_stale_one_and_is_removed() {
    for end in ["hang up", "SIGINT", "SIGTERM"] {
        let sandbox = Sandbox::new();
        let stage = Stage::new(&sandbox);
        let path = sandbox.path("by-hand.sock");
        drop(UnixListener::bind(&path).expect("a socket can be made"));
        // A second name keeps the number of the stale socket from being reused.
        fs::hard_link(&path, sandbox.path("stale.sock")).expect("the sandbox can be written");
        let stale = fs::metadata(&path).expect("a socket stays behind").ino();
        let host = stage.pmcp(&sandbox, &["run", "./relay", "--socket"]).arg(&path).start();
        let mut peer = stage.accept();
        assert_eq!(peer.hello.socket, path);
        assert_ne!(
            fs::metadata(&path).map(|found| found.ino()).unwrap_or_default(),
            stale,
            "the stale socket was replaced"
        );
        peer.handshake(vec![tool("echo")]);
        host.initialize();
        match end {
            "SIGINT" => host.signal(Signal::INT),
            "SIGTERM" => host.signal(Signal::TERM),
            _ => host.hang_up(),
        }
        drop(peer);
        host.exit();
        assert!(!path.exists(), "after {end} the socket is still there");
        assert!(sandbox.leftovers().is_empty());
    }
}

/// Item 20.
#[test]
fn a_process_that_exits_before_it_connects_is_reported() {
    for status in ["3", "0"] {
        let sandbox = Sandbox::new();
        sandbox.copy("py/exits.py");
        let start = Instant::now();
        // It is not a matter of the time to connect.
        let launch = sandbox.pmcp(&["run", "exits.py", "--connect-timeout", "10m"]);
        let host = launch.env("EXIT_STATUS", status).start();
        let exit = host.exit();
        judge("from the start to the end of a process that exits", start.elapsed(), SOON);
        assert_eq!(exit.code(), Some(1), "status {status}");
        let stderr = host.stderr();
        assert!(stderr.contains(&format!("status {status}")), "it names the status {status}: {stderr}");
        assert!(stderr.contains("leaving before connecting"), "it shows the last words: {stderr}");
        assert!(sandbox.leftovers().is_empty(), "it leaves {:?}", sandbox.leftovers());
    }
}

/// Item 20.
#[test]
fn a_file_with_a_syntax_error_is_reported_with_the_error() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/syntax_error.py");
    // Once: in the output of the tool, or if that is not shown, under the error.
    for command in [&["run", "syntax_error.py"][..], &["run", "syntax_error.py", "--quiet"]] {
        let host = sandbox.pmcp(command).start();
        assert_eq!(host.exit().code(), Some(1));
        assert_eq!(host.stderr().matches("SyntaxError").count(), 1, "{}", host.stderr());
    }
    let host = sandbox.pmcp(&["dev", "syntax_error.py"]).start();
    host.initialize();
    let log = host.stderr_with("no tools until the next save");
    assert_eq!(log.matches("SyntaxError").count(), 1, "{log}");
}

/// Item 20.
#[test]
fn in_dev_a_file_that_does_not_start_waits_for_its_fix() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/syntax_error.py");
    let host = sandbox.pmcp(&["dev", "syntax_error.py"]).start();
    // Before there is a client.
    host.stderr_with("no tools until the next save");
    host.stderr_with("SyntaxError");
    host.initialize();
    let place = host.now();
    assert!(host.names().is_empty());
    let said = host.notified("notifications/message", place).value;
    assert!(said["params"]["data"].as_str().is_some_and(|why| why.contains("SyntaxError")), "{said}");
    let refused = host.refused("tools/call", &json!({"name": "add", "arguments": {}}));
    let text = refused["message"].as_str().expect("a message");
    assert!(text.contains("did not start") && text.contains("SyntaxError"), "{text}");
    let place = host.now();
    sandbox.copy("py/quickstart.py");
    fs::rename(sandbox.path("quickstart.py"), sandbox.path("syntax_error.py")).expect("both are there");
    host.list_changed(place);
    assert_eq!(host.text("add", &json!({"a": 2, "b": 3})), "5");
    host.hang_up();
    assert_eq!(host.exit().code(), Some(0));
    host.no_orphans();
    assert!(sandbox.leftovers().is_empty());
}

/// Item 20.
#[test]
fn in_dev_a_missing_program_is_still_an_end() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/quickstart.py");
    let host = sandbox.pmcp(&["dev", "quickstart.py", "--runtime", "no-such-runtime"]).start();
    assert_eq!(host.exit().code(), Some(2));
    host.stderr_with("no-such-runtime");
}

/// Item 20.
#[test]
fn initialize_fails_if_the_process_cannot_start() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/exits.py");
    let host = sandbox.pmcp(&["run", "exits.py"]).env("EXIT_STATUS", "3").start();
    host.line(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert_eq!(host.exit().code(), Some(1));
}

/// Item 20.
#[test]
fn a_process_that_never_connects_is_killed_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/never_connects.py");
    let host = sandbox.pmcp(&["run", "never_connects.py", "--connect-timeout", "1s"]).start();
    assert_eq!(host.exit().code(), Some(1));
    let stderr = host.stderr();
    assert!(stderr.contains("connect"), "it says what was waited for: {stderr}");
    assert!(stderr.contains("busy with something else"), "it shows the last words: {stderr}");
    host.no_orphans();
    assert!(sandbox.leftovers().is_empty());
}

/// Item 20.
#[test]
fn a_python_file_without_run_is_started_with_the_sdks_runner() {
    for command in ["dev", "run"] {
        let (host, _sandbox) = session(command, "py/quickstart.py", &[]);
        assert_eq!(host.text("add", &json!({"a": 2, "b": 3})), "5", "{command}");
    }
}

/// Item 20.
/// Also where `run` is a part of its text, or its own name.
#[test]
fn a_python_file_without_run_is_executed_once() {
    let sandbox = Sandbox::new();
    let text = "import os, subprocess\nfrom protomcp import tool\n\npath = None\n\
        open(os.environ['WORK_LOG'], 'a').write('executed\\n')\nsubprocess.run(['true'])\n\n\n\
        @tool(\"Runs nothing.\")\ndef run() -> str:\n    return 'ran'\n\n\n\
        @tool(\"Says whether a name of another file is known.\")\ndef known() -> str:\n    return str('sys' in globals())\n";
    sandbox.write("once.py", text);
    let host = sandbox.pmcp(&["run", "once.py"]).start();
    host.initialize();
    assert_eq!(host.text("run", &json!({})), "ran");
    assert_eq!(host.text("known", &json!({})), "False");
    assert_eq!(fs::read_to_string(sandbox.path("work.log")).expect("the file wrote it"), "executed\n");
    assert!(!host.stderr().contains("running them for it"), "{}", host.stderr());
}

/// Also where it calls a `run` of another module.
#[test]
fn a_python_file_that_runs_something_else_is_executed_once() {
    let sandbox = Sandbox::new();
    let text = "import os\nfrom subprocess import run\nfrom protomcp import tool\n\n\
        open(os.environ['WORK_LOG'], 'a').write('executed\\n')\nrun(['true'])\n\n\n\
        @tool(\"Echoes.\")\ndef echo(text: str) -> str:\n    return text\n";
    sandbox.write("mine.py", text);
    let host = sandbox.pmcp(&["run", "mine.py"]).start();
    host.initialize();
    assert_eq!(host.text("echo", &json!({"text": "a"})), "a");
    assert_eq!(fs::read_to_string(sandbox.path("work.log")).expect("the file wrote it"), "executed\n");
}

#[test]
fn a_traceback_has_the_frames_of_the_file_alone() {
    let sandbox = Sandbox::new();
    sandbox.write("broken.py", "import protomcp\n\nraise KeyError('not today')\n");
    let host = sandbox.pmcp(&["run", "broken.py"]).start();
    let log = host.stderr_with("KeyError: 'not today'");
    assert!(log.contains("broken.py\", line 3, in <module>") && !log.contains("<string>"), "{log}");
}

#[test]
fn a_missing_program_is_reported_by_name() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/quickstart.py");
    let host = sandbox.pmcp(&["run", "quickstart.py", "--runtime", "no-such-runtime"]).start();
    assert_ne!(host.exit().code(), Some(0));
    host.stderr_with("no-such-runtime");
}

/// Item 29.
#[test]
fn a_process_that_floods_both_streams_is_served() {
    assert!(peers().exists());
    let (host, _sandbox) = session("run", "py/floods.py", &[]);
    assert_eq!(host.names(), ["pour"]);
    assert_eq!(host.text("pour", &json!({"lines": 20_000})), "poured 20000");
}

/// Item 20.
#[test]
fn a_file_that_cannot_start_is_reported_without_a_client() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/syntax_error.py");
    let host = sandbox.pmcp(&["run", "syntax_error.py"]).start();
    host.hang_up();
    assert_eq!(host.exit().code(), Some(1));
    host.stderr_with("failed to start tool process");
}
