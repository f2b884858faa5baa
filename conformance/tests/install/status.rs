//! `pmcp status` starts servers as their hosts do.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use protomcp_conformance::{Web, pmcp};
use serde_json::{Value, json};

use super::{User, reply};

const TOOL: &str = "from protomcp import tool\n\n@tool('Says hello.')\ndef hello() -> str:\n    return 'hello'\n";

/// Standard output of a `pmcp status` that finds a server without an answer.
fn failing(user: &User, words: &[&str], summary: &str) -> String {
    let output = user.command(pmcp()).arg("status").args(words).env("ONLY_IN_THE_SHELL", "1").output();
    let output = output.expect("pmcp starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.code() == Some(1) && stderr.contains(summary), "{stdout}{stderr}");
    stdout
}

#[test]
fn status_tries_programs_and_urls() {
    let user = User::new();
    user.sandbox.write("tools.py", TOOL);
    user.sandbox.write("broken.py", "raise RuntimeError('no luck')\n");
    user.write(".cursor/mcp.json", "");
    user.ok(&["install", "tools.py"]);
    let status = user.ok(&["status"]);
    assert!(status.contains("\n    answers in ") && status.ends_with(" ms, 1 tool\n"), "{status}");

    let web = Web::start("py/quickstart.py", &["--transport", "http"]);
    user.ok(&["install", &format!("http://127.0.0.1:{}/mcp", web.port()), "--name", "remote"]);
    let json: Value = serde_json::from_str(&user.ok(&["status", "--json"])).expect("it is JSON");
    for server in json[0]["servers"].as_array().expect("there are servers") {
        let answers = &server["answers"];
        assert!(answers["tools"].as_u64() > Some(0) && answers["ms"].is_u64(), "{server}");
    }
    drop(web);
    user.ok(&["install", "broken.py"]);
    let status = failing(&user, &[], "servers that do not answer: 2 of 3");
    assert!(status.contains("does not answer: no tools until the next save: "), "{status}");
    assert!(status.contains(" RuntimeError: no luck\n") && status.contains("cannot be reached"), "{status}");
    let status = user.ok(&["status", "--no-start"]);
    assert!(!status.contains("answer") && status.contains("  remote  http://127.0.0.1:"), "{status}");
}

#[test]
fn status_starts_a_server_in_the_environment_of_its_host() {
    let user = User::new();
    let file = format!("import os\n{TOOL}\nassert 'ONLY_IN_THE_SHELL' not in os.environ, 'it is inherited'\n");
    user.sandbox.write("tools.py", file);
    user.ok(&["install", "tools.py", "--client", "claude-desktop"]);
    user.ok(&["install", "tools.py", "--client", "claude-code"]);
    let status = failing(&user, &[], "servers that do not answer: 1 of 2");
    let (of_desktop, of_code) = status.split_once("Claude Code: ").expect("both hosts are printed");
    assert!(
        of_desktop.ends_with(" ms, 1 tool\n") && of_code.contains(" AssertionError: it is inherited\n"),
        "{status}"
    );
}

/// Its output is read no further than the longest line.
#[test]
fn status_stops_a_server_that_floods() {
    let user = User::new();
    fs::create_dir(user.sandbox.path("flood")).expect("the sandbox can be written");
    let flood = user.sandbox.path("flood/pmcp");
    fs::write(&flood, "#!/bin/sh\nexec yes $(printf %04096d 0)\n").expect("the sandbox can be written");
    fs::set_permissions(&flood, fs::Permissions::from_mode(0o755)).expect("it is ours");
    user.write(".cursor/mcp.json", &json!({"mcpServers": {"a": {"command": flood}}}).to_string());
    let status = failing(&user, &[], "servers that do not answer: 1 of 1: a in Cursor");
    assert!(status.contains("was stopped: it has written 67108864 bytes to standard output"), "{status}");
}

#[test]
fn status_waits_ten_seconds_for_all_servers_together() {
    let user = User::new();
    fs::create_dir(user.sandbox.path("silent")).expect("the sandbox can be written");
    let silent = user.sandbox.path("silent/pmcp");
    fs::write(&silent, "#!/bin/sh\nexec sleep 300\n").expect("the sandbox can be written");
    fs::set_permissions(&silent, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let entry = json!({"command": silent});
    user.write(".cursor/mcp.json", &json!({"mcpServers": {"a": entry, "b": entry, "c": entry}}).to_string());
    let began = Instant::now();
    let status = failing(&user, &[], "servers that do not answer: 3 of 3");
    assert!(began.elapsed() < Duration::from_secs(25), "one after the other takes thirty seconds");
    assert_eq!(status.matches("does not answer: ").count(), 3, "{status}");
    assert_eq!(status.matches("within 10").count(), 3, "{status}");
}

/// A project may be the work of another person.
#[test]
fn status_starts_nothing_that_a_project_brings_along() {
    let user = User::new();
    user.sandbox.write("tools.py", TOOL);
    let trap = user.sandbox.path("trap");
    let file = user.sandbox.write("theirs.py", format!("open({trap:?}, 'w')\n{TOOL}"));
    let servers = json!({"mcpServers": {"theirs": {"command": pmcp(), "args": ["run", file]}}});
    user.sandbox.write(".mcp.json", servers.to_string());
    user.ok(&["install", "tools.py", "--client", "claude-code", "--project"]);
    let status = user.ok(&["status", "--project"]);
    assert!(
        status.contains("is not tried: pmcp install has not written it") && status.contains("1 tool\n"),
        "{status}"
    );
    assert!(!trap.exists());
}

/// A pull, or a clone at the same place, changes what the name of an installed server stands for.
#[test]
fn status_starts_no_entry_that_was_changed() {
    let user = User::new();
    user.sandbox.write("tools.py", TOOL);
    let trap = user.sandbox.path("trap");
    user.ok(&["install", "tools.py", "--client", "claude-code", "--project"]);
    let path = user.sandbox.path(".mcp.json");
    let written: Value = serde_json::from_str(&super::read(&path)).expect("it is JSON");
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut file = written.clone();
        change(&mut file["mcpServers"]["tools"]);
        fs::write(&path, file.to_string()).expect("the sandbox can be written");
        user.ok(&["status", "--scope", "project"])
    };
    let status = changed(&|_| {});
    assert!(status.contains(" ms, 1 tool\n"), "another layout is the same entry: {status}");
    let script = format!("touch '{}'; exec cat", trap.display());
    let changes: [&dyn Fn(&mut Value); 4] = [
        &|entry| *entry = json!({"command": "/bin/sh", "args": ["-c", script]}),
        &|entry| entry["args"] = json!(["run", "--", "/bin/sh", "-c", script]),
        &|entry| entry["env"] = json!({"PROTOMCP_PYTHON": "/bin/false"}),
        &|entry| entry["timeout"] = json!(1),
    ];
    for change in changes {
        let status = changed(change);
        assert!(status.contains("is not tried: the entry is not the one that pmcp install has written"), "{status}");
        assert!(!trap.exists());
    }
    let json: Value = serde_json::from_str(&user.ok(&["status", "--project", "--json"])).expect("it is JSON");
    let rows = json.as_array().expect("hosts are an array");
    let row = rows.iter().find(|row| row["id"] == "claude-code").expect("the host is listed");
    let reason = row["servers"][0]["answers"]["notTried"].as_str().expect("there is a reason");
    assert!(reason.contains("run pmcp install again"), "{reason}");

    // A record from before there were digests.
    let records = user.home(".local/state/pmcp/installed.json");
    let mut record: Value = serde_json::from_str(&super::read(&records)).expect("it is JSON");
    record["files"][0].as_object_mut().expect("a record is an object").remove("digests").expect("it has digests");
    fs::write(&records, record.to_string()).expect("the sandbox can be written");
    let status = changed(&|_| {});
    assert!(status.contains("is not tried: the record of an older pmcp has its name alone"), "{status}");
    user.ok(&["install", "tools.py", "--client", "claude-code", "--project"]);
    assert!(user.ok(&["status", "--project"]).contains(" ms, 1 tool\n"));
}

#[test]
fn status_tries_no_entry_with_a_reference() {
    let user = User::new();
    let entry = json!({"command": "${HOME}/bin/pmcp", "args": ["run", "${workspaceFolder}/tools.py"]});
    user.write(".cursor/mcp.json", &json!({"mcpServers": {"theirs": entry}}).to_string());
    let status = user.ok(&["status"]);
    assert!(status.contains("is not tried: its entry has a reference such as ${NAME}"), "{status}");
}

/// The transport of a URL says that a token is missing; the words of a program do not.
#[test]
fn a_sign_in_is_asked_for_by_a_url_alone() {
    let user = User::new();
    fs::create_dir(user.sandbox.path("failing")).expect("the sandbox can be written");
    let program = user.sandbox.path("failing/pmcp");
    fs::write(&program, "#!/bin/sh\necho 'upstream: 401 Unauthorized' >&2\nexit 3\n")
        .expect("the sandbox can be written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let port = reply::serve("HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer", "");
    let url = format!("http://127.0.0.1:{port}/mcp");
    user.write(".cursor/mcp.json", &json!({"mcpServers": {"local": {"command": program}}}).to_string());
    user.ok(&["install", &url, "--name", "remote", "--client", "cursor"]);
    let status = failing(&user, &[], "servers that do not answer: 1 of 2: local in Cursor");
    assert!(status.contains("does not answer: ") && status.contains("401 Unauthorized"), "{status}");
    assert_eq!(status.matches("asks for a sign-in, which the host does").count(), 1, "{status}");
}

/// A server that waits for its turn takes the place of the first that has answered.
#[test]
fn status_tries_a_server_as_soon_as_another_is_over() {
    let user = User::new();
    fs::create_dir(user.sandbox.path("some")).expect("the sandbox can be written");
    let program = user.sandbox.path("some/pmcp");
    let done = user.sandbox.path("done");
    // The last one has its turn while the first one waits for it.
    let script = format!(
        "#!/bin/sh\ncase $1 in\nfirst) while [ ! -e '{0}' ]; do sleep 0.05; done; exit 4;;\nlast) touch '{0}'; exit 5;;\n\
         *) exit 3;;\nesac\n",
        done.display()
    );
    fs::write(&program, script).expect("the sandbox can be written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let entry = |word: &str| json!({"command": program, "args": [word]});
    let others = (0..70).map(|number| (format!("m{number:02}"), entry("other")));
    let servers = [("a".to_owned(), entry("first"))].into_iter().chain(others).chain([("z".to_owned(), entry("last"))]);
    let servers: serde_json::Map<_, _> = servers.collect();
    user.write(".cursor/mcp.json", &json!({"mcpServers": servers}).to_string());
    let status = failing(&user, &[], "servers that do not answer: 72 of 72");
    assert!(done.exists() && !status.contains("within 10"), "{status}");
}
