//! `pmcp uninstall` removes the server that is meant, and no other.

use serde_json::json;

use super::{User, read};

#[test]
fn a_word_of_a_command_is_not_a_server() {
    let user = User::new();
    for file in ["a.py", "b.py", "c.py"] {
        user.sandbox.write(file, "");
    }
    let path = user.write(".cursor/mcp.json", "{}");
    user.ok(&["install", "a.py", "--name", "first", "--", "--call-timeout", "30s"]);
    user.ok(&["install", "b.py", "--name", "dev"]);
    user.ok(&["install", "--name", "command", "--", "sh", "-c", "exit 3"]);
    let all = read(&path);
    for word in ["run", "30s", "exit 3"] {
        user.refused(&["uninstall", word], 1);
        assert_eq!(read(&path), all, "{word}");
    }
    user.ok(&["uninstall", "dev"]);
    let left = read(&path);
    assert!(left.contains("a.py") && left.contains("exit 3") && !left.contains("b.py"), "{left}");
    user.ok(&["uninstall", "a.py"]);
    assert!(!read(&path).contains("a.py"));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let user = User::new();
    user.sandbox.write("tools.py", "");
    user.write(".config/Claude/claude_desktop_config.json", "{");
    user.write(".cursor/mcp.json", "{}");
    user.ok(&["install", "tools.py", "--client", "cursor"]);
    for code in [0, 1] {
        let output = user.pmcp(&["uninstall", "tools"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        let warning = "claude_desktop_config.json: line 1, column 1: ";
        assert!(stderr.contains(warning) && stderr.contains("; a server in this file stays\n"), "{stderr}");
        assert_eq!(stderr.contains("no host has a server \"tools\""), code == 1, "{stderr}");
    }
}

#[test]
fn a_value_of_a_flag_is_not_the_file_of_a_server() {
    let user = User::new();
    for file in ["a.py", "data.json", "server.py"] {
        user.sandbox.write(file, "");
    }
    let place = |file: &str| user.sandbox.path(file).to_string_lossy().into_owned();
    let (a, data, server) = (place("a.py"), place("data.json"), place("server.py"));
    let entry = |args: &[&str]| json!({"command": "/usr/bin/pmcp", "args": args});
    let servers = json!({"mcpServers": {
        "flag": entry(&["dev", "--watch", &data, "--poll", "2s", &a]),
        "command": entry(&["run", "--", "/usr/bin/python3", "-u", &server, &data]),
    }});
    let path = user.write(".cursor/mcp.json", &servers.to_string());
    let all = read(&path);
    user.refused(&["uninstall", "data.json"], 1);
    assert_eq!(read(&path), all);
    user.ok(&["uninstall", "a.py"]);
    let left = read(&path);
    assert!(!left.contains("flag") && left.contains("command"), "{left}");
    user.ok(&["uninstall", "server.py"]);
    assert!(!read(&path).contains("run"));
}
