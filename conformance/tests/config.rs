//! Settings from `pmcp.toml` and from the environment, on the real program.

use std::fs;
use std::process::Output;

use protomcp_conformance::Sandbox;
use serde_json::json;

const FILE: &str = "\
call-timeout = \"250ms\"
port = 0
allow-host = [\"a.example.com\", \"b.example.com\"]
lazy-tools = true

[run]
transport = \"http\"
[list]
log-level = \"debug\"
";

fn sandbox(file: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.copy("py/versioned.py");
    sandbox.write("pmcp.toml", file);
    sandbox
}

fn run(sandbox: &Sandbox, words: &[&str], variables: &[(&str, &str)]) -> Output {
    let launch = variables.iter().fold(sandbox.pmcp(words), |launch, (name, value)| launch.env(name, value));
    launch.command().output().expect("pmcp starts")
}

/// The rows of `pmcp config show` that are not defaults, with single blanks.
fn shown(sandbox: &Sandbox, words: &[&str], variables: &[(&str, &str)]) -> Vec<String> {
    let words: Vec<_> = ["config", "show"].iter().chain(words).copied().collect();
    let output = run(sandbox, &words, variables);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let rows = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    rows.filter(|row| !row.ends_with(" default")).collect()
}

#[test]
fn a_file_of_servers_that_is_missing_is_an_error() {
    let sandbox = Sandbox::new();
    for words in [&["--config", "none.json"][..], &["run", "--config=none.json"]] {
        let output = run(&sandbox, &[&["config", "show"], words].concat(), &[]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("invalid --config none.json: No such file"), "{error}");
    }
    sandbox.write("servers.json", r#"{"mcpServers": {"a": {"command": "true"}}}"#);
    let output = run(&sandbox, &["config", "show", "--config", "servers.json"], &[]);
    assert!(output.status.success() && output.stdout.starts_with(b"# pmcp run\n"), "{output:?}");
}

#[test]
fn a_tool_file_that_is_missing_is_an_error() {
    let sandbox = Sandbox::new();
    for words in [&["none.py"][..], &["run", "none.py"], &["list", "none.py", "--timeout", "3s"]] {
        let output = run(&sandbox, &[&["config", "show"], words].concat(), &[]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains("file not found: none.py"), "{words:?}: {error}");
    }
    for words in [&["list", "https://tools.example.com/mcp"][..], &["run", "--", "none.py"], &["dev"]] {
        let output = run(&sandbox, &[&["config", "show"], words].concat(), &[]);
        assert!(output.status.success(), "{words:?}: {output:?}");
    }
}

#[test]
fn a_link_to_settings_that_are_missing_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/versioned.py");
    std::os::unix::fs::symlink("none.toml", sandbox.path("pmcp.toml")).expect("a link");
    for words in [&["config", "show", "versioned.py"][..], &["list", "versioned.py"]] {
        let output = run(&sandbox, words, &[]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_named = error.contains("cannot read pmcp.toml: No such file");
        assert!(output.status.code() == Some(2) && is_named, "{words:?}: {error}");
    }
}

#[test]
fn the_settings_of_a_file_apply_where_it_is_served() {
    let sandbox = sandbox("call-timeout = \"250ms\"\nport = 0\n[run]\ncall-timeout = \"20s\"\n");
    let file = sandbox.path("versioned.py").display().to_string();
    for (words, is_late) in [
        (vec!["dev", "versioned.py"], true),
        (vec!["dev", file.as_str()], true),
        (vec!["dev", "versioned.py", "--call-timeout", "20s"], false),
        (vec!["run", "versioned.py"], false),
    ] {
        let host = sandbox.pmcp(&words).start();
        host.initialize();
        let result = host.call("work", &json!({"id": 1, "ms": 600}));
        assert_eq!(result["isError"] == true, is_late, "{words:?}: {result}");
    }
}

#[test]
fn each_setting_is_shown_with_its_origin() {
    let sandbox = sandbox(FILE);
    assert_eq!(
        shown(&sandbox, &["versioned.py"], &[]),
        [
            "# pmcp dev, with pmcp.toml",
            "call-timeout 250ms pmcp.toml, line 1",
            "lazy-tools true pmcp.toml, line 4",
            "port 0 pmcp.toml, line 2",
            "allow-host a.example.com, b.example.com pmcp.toml, line 3",
        ]
    );
    let variables =
        [("PMCP_CALL_TIMEOUT", "1s"), ("PMCP_LAZY_TOOLS", "0"), ("PMCP_TRANSPORTS", "sse"), ("PMCP_PORT", "")];
    assert_eq!(
        shown(&sandbox, &["run", "versioned.py", "--call-timeout=2s", "--host", "::1"], &variables),
        [
            "# pmcp run, with pmcp.toml",
            "transport http pmcp.toml, line 7",
            "call-timeout 2s --call-timeout",
            "lazy-tools false PMCP_LAZY_TOOLS",
            "host ::1 --host",
            "port 0 pmcp.toml, line 2",
            "allow-host a.example.com, b.example.com pmcp.toml, line 3",
            "# PMCP_TRANSPORTS is unknown; did you mean PMCP_TRANSPORT?",
        ]
    );
    assert_eq!(
        shown(&sandbox, &["list", "versioned.py"], &[("PMCP_TIMEOUT", "3s")]),
        ["# pmcp list, with pmcp.toml", "timeout 3s PMCP_TIMEOUT", "log-level debug pmcp.toml, line 9"]
    );
    // A command has no settings file.
    assert_eq!(shown(&sandbox, &["dev", "--", "versioned.py"], &[]), ["# pmcp dev"]);
}

#[test]
fn a_watched_path_is_relative_to_the_settings() {
    let sandbox = sandbox("");
    fs::create_dir(sandbox.path("sub")).expect("the sandbox can be written");
    sandbox.write("words.json", "");
    for (name, text) in [("tools.py", ""), ("words.json", ""), ("pmcp.toml", "watch = [\"words.json\", \"/tmp\"]\n")] {
        fs::write(sandbox.path("sub").join(name), text).expect("the sandbox can be written");
    }
    assert_eq!(
        shown(&sandbox, &["sub/tools.py"], &[]),
        ["# pmcp dev, with sub/pmcp.toml", "watch sub/words.json, /tmp pmcp.toml, line 1"]
    );
    let variables = [("PMCP_WATCH", "words.json")];
    assert_eq!(shown(&sandbox, &["sub/tools.py"], &variables)[1..], ["watch words.json PMCP_WATCH"]);
    assert_eq!(shown(&sandbox, &["run", "sub/tools.py"], &variables), ["# pmcp run, with sub/pmcp.toml"]);
    // A variable does not change the files of a command that are watched.
    assert_eq!(shown(&sandbox, &["dev", "--", "sub/tools.py"], &variables), ["# pmcp dev"]);

    fs::remove_file(sandbox.path("sub/words.json")).expect("the file is there");
    let output = run(&sandbox, &["dev", "sub/tools.py"], &[]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = "pmcp.toml, line 1: invalid --watch \"sub/words.json\": it does not exist";
    assert!(stderr.contains(expected), "{stderr}");
}

#[test]
fn a_wrong_setting_is_named_with_its_place() {
    for (file, words, variables, expected) in [
        (
            "port = 1\ncall-timout = \"1s\"\n",
            "run",
            &[][..],
            "line 2: unknown key \"call-timout\"; did you mean call-timeout?",
        ),
        ("[run]\nwatch = \"src\"\n", "dev", &[], "line 2: unknown key \"watch\"; the keys are the flags of pmcp run"),
        ("[rum]\nport = 1\n", "dev", &[], "line 1: unknown key \"rum\"; did you mean run?"),
        ("port = 70000\n", "run", &[], "pmcp.toml, line 1: invalid --port \"70000\""),
        ("port = [1, 2]\n", "run", &[], "pmcp.toml, line 1: port has one value"),
        ("lazy-tools = 3\n", "run", &[], "pmcp.toml, line 1: lazy-tools is true or false"),
        ("port = {}\n", "run", &[], "line 1: port is not a text, a number, true, false or a list"),
        (
            "watch = [\"nope.json\"]\n",
            "dev",
            &[],
            "pmcp.toml, line 1: invalid --watch \"nope.json\": it does not exist",
        ),
        ("port = 0\nwatch = true\n", "dev", &[], "pmcp.toml, line 2: watch is not a path or a list of paths"),
        ("watch = [1]\n", "dev", &[], "pmcp.toml, line 1: watch is not a path or a list of paths"),
        ("", "dev", &[("PMCP_WATCH", "nope.json")], "PMCP_WATCH: invalid --watch \"nope.json\": it does not exist"),
        ("port = \n", "run", &[], "pmcp.toml, line 1: "),
        ("no-auth = true\nauth = [\"token:A\"]\n", "run", &[], "pmcp.toml: "),
        ("", "run", &[("PMCP_TRANSPORT", "pigeon")], "PMCP_TRANSPORT: invalid --transport \"pigeon\""),
    ] {
        let sandbox = sandbox(file);
        let output = run(&sandbox, &[words, "versioned.py"], variables);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{file}: {stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(expected), "{file}: {stderr}");
    }
}

#[test]
fn the_file_of_the_user_counts_after_the_one_next_to_the_tool() {
    let sandbox = sandbox("call-timeout = \"250ms\"\n");
    let folder = sandbox.path("settings/pmcp");
    fs::create_dir_all(&folder).expect("the sandbox can be written");
    let path = folder.join("pmcp.toml").display().to_string();
    let write = |text: &str| fs::write(&path, text).expect("the sandbox can be written");
    write("call-timeout = \"9s\"\nmax-pending = 7\nruntime = \"nothing\"\n[list]\ntimeout = \"8s\"\n");
    let home = sandbox.path("settings").display().to_string();
    let variables = [("XDG_CONFIG_HOME", home.as_str())];
    assert_eq!(
        shown(&sandbox, &["versioned.py"], &variables),
        [
            "# pmcp dev, with pmcp.toml".to_owned(),
            "call-timeout 250ms pmcp.toml, line 1".to_owned(),
            format!("max-pending 7 {path}, line 2"),
            format!("runtime nothing {path}, line 3"),
        ]
    );
    assert_eq!(
        shown(&sandbox, &["list", "https://example.com/mcp"], &variables),
        ["# pmcp list".to_owned(), format!("timeout 8s {path}, line 5")],
        "a server at a URL has no tool file"
    );
    write("call-timout = \"9s\"\n");
    let output = run(&sandbox, &["run", "versioned.py"], &variables);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = format!("{path}, line 1: unknown key \"call-timout\"; did you mean call-timeout?");
    assert!(output.status.code() == Some(2) && stderr.contains(&expected), "{stderr}");
}

#[test]
fn a_setting_gives_way_to_a_flag_that_contradicts_it() {
    let sandbox = sandbox("no-auth = true\n");
    assert_eq!(
        shown(&sandbox, &["run", "versioned.py", "--auth", "token:A"], &[]),
        ["# pmcp run, with pmcp.toml", "auth token:A --auth"]
    );
}
