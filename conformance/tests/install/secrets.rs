//! The output of `pmcp install`, `status` and `uninstall` has no secret of a server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;

use serde_json::{Value, json};

use super::{User, reply};

/// All that a command has printed.
fn printed(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn assert_without(secrets: &[&str], words: &[&str], text: &str) {
    let found: Vec<_> = secrets.iter().filter(|secret| text.contains(*secret)).collect();
    assert!(found.is_empty(), "{words:?}: {found:?} in {text}");
}

/// A header, the query of a URL, a flag and a variable, as `pmcp install` writes them.
#[test]
fn secrets_of_installed_servers_are_not_printed() {
    let user = User::new();
    user.sandbox.write("tools.py", "");
    let url = "https://127.0.0.1:9/mcp?key=query-pass-1";
    let header = "Authorization: Bearer header-pass-1";
    let secrets = ["query-pass-1", "header-pass-1", "flag-pass-1", "env-pass-1"];
    let remote = ["install", url, "--name", "remote", "--header", header];
    let command = ["install", "--name", "local", "--env", "SOME_KEY=env-pass-1"];
    let program = ["--", "sh", "-c", "echo failed with $SOME_KEY >&2; exit 3", "--api-key=flag-pass-1"];
    // Cursor knows URLs, and Claude Desktop only commands.
    for host in ["cursor", "claude-desktop"] {
        for words in [&remote[..], &command[..]] {
            let tail: &[&str] = if words == command { &program } else { &[] };
            for flag in [&["--client", host, "--dry-run"][..], &["--client", host]] {
                let line = [words, flag, tail].concat();
                let output = user.pmcp(&line);
                assert!(output.status.success(), "{output:?}");
                // The variable has the name of no secret, so the program may print it.
                assert_without(&secrets[..3], &line, &printed(&output));
                assert!(flag.len() == 2 || !printed(&output).contains(secrets[3]), "{output:?}");
            }
        }
    }
    let output = user.pmcp(&["status", "--no-start", "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert!(json.to_string().contains("https://127.0.0.1:9/mcp"), "{json}");
    assert_without(&secrets, &["status", "--json"], &printed(&output));
    for words in [&["status"][..], &["status", "--json"], &["doctor"]] {
        assert_without(&secrets[..3], words, &printed(&user.pmcp(words)));
    }
    for name in ["remote", "local"] {
        let words = ["uninstall", name, "--dry-run"];
        assert_without(&secrets, &words, &user.ok(&words));
        user.ok(&["uninstall", name]);
    }
}

#[test]
fn words_of_a_server_that_fails_are_redacted() {
    let user = User::new();
    fs::create_dir(user.sandbox.path("failing")).expect("the sandbox can be written");
    let failing = user.sandbox.path("failing/pmcp");
    let script = "#!/bin/sh\necho \"lost $API_TOKEN, $1, password=typed-pass-1\" >&2\nexit 3\n";
    fs::write(&failing, script).expect("the sandbox can be written");
    fs::set_permissions(&failing, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let entry = json!({"command": failing, "args": ["--api-key=flag-pass-1"], "env": {"API_TOKEN": "env-pass-1"}});
    user.write(".cursor/mcp.json", &json!({"mcpServers": {"a": entry}}).to_string());
    for words in [&["status"][..], &["status", "--json"]] {
        let text = printed(&user.pmcp(words));
        assert!(text.contains("lost [redacted]") && text.contains("not answer: 1 of 1: a in Cursor"), "{text}");
        assert_without(&["flag-pass-1", "env-pass-1", "typed-pass-1"], words, &text);
    }
}

/// The error for a name that is taken shows the command of another person.
#[test]
fn the_server_that_has_the_name_is_shown_without_secrets() {
    let user = User::new();
    user.sandbox.write("tools.py", "");
    let key = format!("ghp_{}", "a1B2".repeat(9));
    for (entry, shown) in [
        (
            json!({"command": "db-mcp", "args": ["postgres://ann:url-pass-1@h/d?key=query-pass-1"]}),
            "db-mcp postgres://h/d",
        ),
        (json!({"command": "gh-mcp", "args": [key]}), "gh-mcp [redacted]"),
        (json!({"command": "my-mcp", "args": ["serve", "--key", "flag-pass-1"]}), "my-mcp serve"),
        (json!({"url": "https://ann:url-pass-1@h/mcp?key=query-pass-1"}), "https://h/mcp"),
    ] {
        user.write(".cursor/mcp.json", &json!({"mcpServers": {"tools": entry}}).to_string());
        let words = ["install", "tools.py", "--client", "cursor"];
        let error = user.refused(&words, 1);
        assert!(error.contains(&format!("which starts {shown}: choose a name")), "{error}");
        assert_without(&["url-pass-1", "query-pass-1", "flag-pass-1", &key], &words, &error);
    }
}

/// The reply of a server repeats the credentials of the request, and is cut where a secret begins.
#[test]
fn credentials_that_a_server_repeats_are_redacted() {
    let user = User::new();
    let fill = "y".repeat(256);
    let body = format!("anna hunter2 YW5uYTpodW50ZXIy tok-1 {fill} longsecret-1");
    let port = reply::serve("HTTP/1.1 500 Oops", &body);
    let url = format!("http://127.0.0.1:{port}/mcp");
    let install = ["install", url.as_str(), "--name", "remote", "--client", "cursor"];
    let fields = ["--header", "Authorization: Basic YW5uYTpodW50ZXIy", "--header", "X-Token: Key tok-1"];
    user.ok(&[&install[..], &fields, &["--header", "X-Other: longsecret-1"]].concat());
    for words in [&["status"][..], &["status", "--json"]] {
        let text = printed(&user.pmcp(words));
        assert!(text.contains("500") && text.contains("yyyy"), "{text}");
        assert_without(&["anna", "hunter2", "YW5uYTpodW50ZXIy", "tok-1", "longs"], words, &text);
    }
}
