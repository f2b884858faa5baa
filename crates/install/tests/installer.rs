//! Files of hosts on a disk: made, edited and brought back.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use protomcp_install::{Action, Environment, Format, Found, Host, InstallError, Os, Scope, Server, hosts};

use crate::user::{User, read, row, server};

/// A file with a server of another origin, as its users write it.
fn fixture(host: &Host) -> &'static str {
    match (host.id, host.format) {
        ("vscode" | "vscode-insiders", _) => {
            "{\n\t// My servers.\n\t\"servers\": {\n\t\t\"github\": { \"type\": \"http\", \"url\": \"https://h/mcp\" }, // fast\n\t},\n\t\"inputs\": [],\n}\n"
        }
        ("zed", _) => {
            "// Zed settings\n{\n  \"theme\": \"One\", /* dark */\n  \"context_servers\": {\n    // none yet\n  },\n}\n"
        }
        ("opencode" | "kilo", _) => {
            "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\n    \"a\": { \"type\": \"local\", \"command\": [\"x\"] }\n  }\n}"
        }
        ("amp", _) => "{\"amp.mcpServers\": {}}",
        ("claude-code", _) => {
            "{\n  \"numStartups\": 3,\n  \"projects\": {\n    \"/p\": { \"mcpServers\": {} }\n  }\n}\n"
        }
        (_, Some(Format::Toml)) => {
            "model = \"gpt-5\" # the model\r\n\r\n[mcp_servers.github]\r\ncommand = \"npx\"\r\n\r\n[tui]\r\ntheme = 1"
        }
        (_, Some(Format::JsonWithComments)) => {
            "{\n    // Servers.\n    \"mcpServers\": {\n        \"a\": { \"command\": \"npx\" }\n    }\n}\n"
        }
        _ => "{\"mcpServers\":{\"a\":{\"command\":\"npx\",\"args\":[\"-y\"]}},\"x\":1.0}",
    }
}

/// The hosts with a file for all projects.
fn with_file() -> impl Iterator<Item = &'static Host> {
    let environment = Environment::new(Os::Linux, [("HOME", "/u")]);
    hosts().iter().filter(move |host| host.format.is_some() && !host.files(&environment, &Scope::User).is_empty())
}

#[test]
fn a_file_comes_back_byte_for_byte() {
    for host in with_file() {
        for before in [fixture(host), "", if host.format == Some(Format::Toml) { "" } else { "{}" }] {
            let user = User::new();
            let path = user.write(host.id, before);
            let edit = user.install(host.id, "tools").unwrap_or_else(|error| panic!("{}: {error}", host.id));
            let after = read(&path);
            assert_eq!(edit.after.as_deref(), Some(after.as_str()));
            assert!(after.contains("tools") && after.contains("/bin/pmcp"), "{}: {after}", host.id);
            for line in before.lines().filter(|line| line.contains("//") || line.contains('#')) {
                assert!(after.contains(line.trim()), "{}: the comment stays: {after}", host.id);
            }
            assert_eq!(read(&edit.backup.expect("there is a copy")), before, "{}", host.id);
            user.uninstall(host.id, "tools").unwrap_or_else(|error| panic!("{}: {error}", host.id));
            assert_eq!(read(&path), before, "{}", host.id);
            let rest = user.files();
            assert_eq!(rest.len(), 2, "{}: the file and the lock of the records stay: {rest:?}", host.id);
        }
    }
}

#[test]
fn a_file_that_was_not_there_goes_again() {
    for host in with_file() {
        let user = User::new();
        user.install(host.id, "tools").expect(host.id);
        let path = user.path(host.id);
        let text = read(&path);
        assert!(text.ends_with('\n') && text.contains("/bin/pmcp"), "{}: {text}", host.id);
        let mode = fs::metadata(&path).expect("it is there").permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "entries may have secrets");
        user.uninstall(host.id, "tools").expect(host.id);
        assert_eq!(user.files(), [".local/state/pmcp/installed.lock"], "{}", host.id);
        let is_there = path.parent().is_some_and(|parent| parent != user.home.path() && parent.exists());
        assert!(!is_there, "{}: its directory goes, too", host.id);
    }
}

#[test]
fn a_broken_file_is_left_alone_and_its_mistake_named() {
    for (id, text, reason) in [
        ("claude-desktop", "{\n  \"mcpServers\": {,}\n}", "line 2, column 18: "),
        (
            "claude-desktop",
            "{\n  // mine\n}",
            "line 2, column 3: the host reads this file as JSON, which has no comments",
        ),
        ("cursor", "{\"mcpServers\": {}", "line 1, column 17: EOF while parsing an object"),
        ("cursor", "{\"mcpServers\": []}", "\"mcpServers\" is not an object"),
        ("cursor", "[]", "the file is not an object"),
        ("cursor", "{\"mcpServers\": {}, \"mcpServers\": {}}", "the key \"mcpServers\" occurs twice"),
        (
            "cursor",
            "{\"mcpServers\": {\"a\": {}, \"tools\": {\"command\": \"/bin/pmcp\"}, \"a\": null}}",
            "the key \"a\" occurs twice",
        ),
        ("gemini", "{\"a\": 1,}", "line 1, column 9: there is a comma before this bracket"),
        ("vscode", "{\n  \"a\": /* ", "line 2, column 8: this comment has no end"),
        ("codex", "a = 1\nb = = 2\n", "line 2, column 5: "),
        ("codex", "mcp_servers = { a = { command = \"x\" } }\n", "mcp_servers cannot hold a separate table"),
    ] {
        let user = User::new();
        let path = user.write(id, text);
        let error = user.install(id, "tools").expect_err(text).to_string();
        assert!(error.contains(reason) && error.contains(&path.display().to_string()), "{text}: {error}");
        assert_eq!(read(&path), text);
        assert_eq!(user.files().len(), 2, "there is neither a copy nor a draft: {:?}", user.files());
    }
}

#[test]
fn names_of_others_are_neither_replaced_nor_removed() {
    let user = User::new();
    // The first one starts what is installed, but was written by hand, and has a member more.
    for theirs in [
        r#"{"command": "/bin/pmcp", "args": ["dev", "/t.py"], "timeout": 5}"#,
        r#"{"command": "pmcp", "args": ["run", "theirs.py"]}"#,
        r#"{"command": "npx"}"#,
    ] {
        let text = format!("{{\"mcpServers\": {{\"tools\": {theirs}}}}}");
        let path = user.write("cursor", &text);
        let taken = user.install("cursor", "tools").expect_err("the name is taken");
        assert!(matches!(taken, InstallError::Taken { .. }) && taken.to_string().contains("--name"), "{taken}");
        assert_eq!(read(&path), text);
    }
    let text = "{\"mcpServers\": {\"tools\": {\"command\": \"npx\"}}}";
    let path = user.write("cursor", text);
    let foreign = user.uninstall("cursor", "tools").expect_err("the server is of another origin");
    assert!(matches!(foreign, InstallError::Foreign { .. }), "{foreign}");
    assert!(user.uninstall("cursor", "nothing").is_err());
    assert_eq!(read(&path), text);
}

#[test]
fn an_entry_of_ours_is_replaced() {
    let user = User::new();
    let path = user.write("cursor", "{\n}\n");
    user.install("cursor", "tools").expect("it fits");
    let other = |server: Server, replaces| {
        let action = Action::Install { name: "tools".into(), server, replaces };
        user.installer.apply(row("cursor"), &Scope::User, &action)
    };
    let args = vec!["run".into(), "/t.py".into(), "--quiet".into()];
    let flags = Server::Command { program: "/opt/pmcp".into(), args, env: Vec::new() };
    other(flags, false).expect("the same file is replaced");
    let text = read(&path);
    assert!(text.contains("/opt/pmcp") && !text.contains("/bin/pmcp"), "{text}");
    // Another server with this name is replaced on demand.
    let url = Server::Url { url: "http://h/mcp".into(), headers: Vec::new() };
    let taken = other(url.clone(), false).expect_err("it starts another server");
    assert!(taken.to_string().contains("which starts /opt/pmcp run /t.py: choose a name"), "{taken}");
    assert_eq!(read(&path), text);
    other(url, true).expect("it is replaced on demand");
    let text = read(&path);
    assert!(text.contains("http://h/mcp") && !text.contains("/opt/pmcp"), "{text}");
    user.uninstall("cursor", "tools").expect("a URL is recognized by its record");
    assert_eq!(read(&path), "{\n}\n");
    // The same for a file that was made for the first one.
    fs::remove_file(&path).expect("it is there");
    for _ in 0..2 {
        user.install("cursor", "tools").expect("it fits");
    }
    user.uninstall("cursor", "tools").expect("it is there");
    assert!(!path.exists());
}

#[test]
fn a_server_that_was_replaced_comes_back() {
    let mut hosts = 0;
    for host in with_file() {
        let before = fixture(host);
        let is_there = |name: &&str| before.contains(&format!("\"{name}\":")) || before.contains(&format!(".{name}]"));
        let Some(name) = ["github", "a"].into_iter().find(is_there) else { continue };
        hosts += 1;
        let user = User::new();
        let path = user.write(host.id, before);
        let replace = || {
            let action = Action::Install { name: name.into(), server: server(), replaces: true };
            user.installer.apply(host, &Scope::User, &action).unwrap_or_else(|error| panic!("{}: {error}", host.id))
        };
        // The second time it replaces an entry of ours.
        for _ in 0..2 {
            let text = replace().after.expect("there is a file");
            assert!(text.contains("/bin/pmcp") && !text.contains("npx") && !text.contains("https://h/mcp"), "{text}");
        }
        user.install(host.id, "more").expect(host.id);
        user.uninstall(host.id, "more").expect(host.id);
        user.uninstall(host.id, name).expect(host.id);
        assert_eq!(read(&path), before, "{}", host.id);
        assert_eq!(user.files().len(), 2, "{}: the file and the lock stay: {:?}", host.id, user.files());
    }
    assert!(hosts > 3, "{hosts}");
}

#[test]
fn changes_of_others_stay() {
    let user = User::new();
    let path = user.write("claude-code", "{\n  \"numStartups\": 3\n}\n");
    user.install("claude-code", "tools").expect("it fits");
    user.install("claude-code", "more").expect("it fits");
    // The host writes its state, in its own layout, and the user adds a server.
    let mut state: serde_json::Value = serde_json::from_str(&read(&path)).expect("it is JSON");
    state["numStartups"] = 4.into();
    state["mcpServers"]["theirs"] = serde_json::json!({"command": "npx"});
    fs::write(&path, serde_json::to_string(&state).expect("it is JSON")).expect("it can be written");
    user.uninstall("claude-code", "tools").expect("it is there");
    let edit = user.uninstall("claude-code", "more").expect("it is there");
    let left: serde_json::Value = serde_json::from_str(&read(&path)).expect("it is JSON");
    assert_eq!(left, serde_json::json!({"numStartups": 4, "mcpServers": {"theirs": {"command": "npx"}}}));
    assert_eq!(read(&edit.backup.expect("the copy differs, so it stays")), "{\n  \"numStartups\": 3\n}\n");
}

#[test]
fn without_a_record_an_entry_goes_too() {
    let user = User::new();
    let path = user.write("cursor", "{}");
    user.install("cursor", "tools").expect("it fits");
    fs::write(user.home.path().join(".local/state/pmcp/installed.json"), "broken").expect("it can be written");
    user.uninstall("cursor", "tools").expect("it runs pmcp");
    assert_eq!(read(&path), "{\n  \"mcpServers\": {}\n}");
}

#[test]
fn a_read_only_file_stays() {
    let user = User::new();
    let path = user.write("cursor", "{}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("it is ours");
    let error = user.install("cursor", "tools").expect_err("it is read-only").to_string();
    assert!(error.contains("is read-only"), "{error}");
    assert_eq!(read(&path), "{}");
    let folder = path.parent().expect("it is in a folder");
    assert_eq!(fs::read_dir(folder).expect("it is there").count(), 1, "no copy is made");
}

#[test]
fn a_file_is_changed_only_with_its_record() {
    let user = User::new();
    let path = user.write("cursor", "{}");
    user.install("cursor", "tools").expect("it fits");
    let before = read(&path);
    let records = user.home.path().join(".local/state/pmcp/installed.json");
    fs::set_permissions(&records, fs::Permissions::from_mode(0o444)).expect("it is ours");
    for error in [user.install("cursor", "more"), user.uninstall("cursor", "tools")] {
        let error = error.expect_err("the records are read-only").to_string();
        assert!(error.contains("installed.json is read-only"), "{error}");
        assert_eq!(read(&path), before);
    }
    // A directory in the place of the draft is seen only when the records are written.
    fs::set_permissions(&records, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let draft = records.with_file_name(format!("installed.json.pmcp-{}", std::process::id()));
    fs::create_dir(draft).expect("it can be made");
    let error = user.install("cursor", "more").expect_err("the records cannot be written");
    assert!(
        matches!(error, InstallError::Incomplete { .. }) && error.to_string().contains("was changed, but"),
        "{error}"
    );
    assert_ne!(read(&path), before);
}

#[test]
fn a_dry_run_changes_nothing() {
    let user = User::new();
    let action = Action::Install { name: "tools".into(), server: server(), replaces: false };
    let edit = user.installer.prepare(row("zed"), &Scope::User, &action).expect("it fits");
    assert_eq!(edit.before, None);
    assert!(edit.after.is_some_and(|text| text.contains("context_servers")));
    assert!(user.files().is_empty(), "{:?}", user.files());
}

/// A lock of Claude Code that is left behind is removed after ten seconds; a fresh one is waited for.
#[test]
fn the_lock_of_a_host_is_respected() {
    let user = User::new();
    let path = user.write("claude-code", "{}");
    let lock = path.with_file_name(".claude.json.lock");
    fs::create_dir(&lock).expect("it can be made");
    let waiting = std::thread::spawn({
        let lock = lock.clone();
        move || {
            std::thread::sleep(std::time::Duration::from_millis(200));
            fs::write(lock.with_file_name(".claude.json"), "{\"numStartups\": 1}").expect("it can be written");
            fs::remove_dir(lock).expect("it is there");
        }
    });
    user.install("claude-code", "tools").expect("the lock is free after a moment");
    waiting.join().expect("the host has written");
    let text = read(&path);
    assert!(text.contains("numStartups") && text.contains("\"tools\"") && !lock.exists(), "{text}");
}

#[test]
fn status_tells_our_servers_from_others() {
    let user = User::new();
    let found = |id: &str| user.installer.status(row(id), &Scope::User).expect("the host has a file").found;
    assert!(matches!(found("cursor"), Found::Nothing) && !user.installer.is_present(row("cursor")));
    user.write("cursor", "{\"mcpServers\": {\"theirs\": {\"command\": \"npx\"}}}");
    user.install("cursor", "tools").expect("it fits");
    assert!(user.installer.is_present(row("cursor")));
    let Found::Servers(servers) = found("cursor") else { panic!("there are servers") };
    let names: Vec<_> = servers.iter().map(|server| (server.name.as_str(), server.is_ours)).collect();
    assert_eq!(names, [("theirs", false), ("tools", true)]);
    user.write("zed", "{");
    assert!(matches!(found("zed"), Found::Broken(_)));
    user.write("cursor", "{\"mcpServers\": {\"tools\": {\"command\": \"pmcp\"}, \"tools\": {\"command\": \"sh\"}}}");
    let Found::Broken(reason) = found("cursor") else { panic!("one of two is not vouched for") };
    assert!(reason.ends_with("the key \"tools\" occurs twice"), "{reason}");
}

/// Version 2 of opencode has one more level.
#[test]
fn the_servers_of_opencode_are_found_in_both_versions() {
    let user = User::new();
    let path = user.write("opencode", "{\"mcp\": {\"servers\": {\"a\": {\"type\": \"local\"}}}}");
    user.install("opencode", "tools").expect("it fits");
    let state: serde_json::Value = serde_json::from_str(&read(&path)).expect("it is JSON");
    assert_eq!(state["mcp"]["servers"]["tools"]["enabled"], true, "{state}");
    let path = user.write("opencode", "{\"mcp\": {\"servers\": {\"type\": \"local\", \"environment\": {}}}}");
    user.install("opencode", "tools").expect("it fits");
    let state: serde_json::Value = serde_json::from_str(&read(&path)).expect("it is JSON");
    assert_eq!(state["mcp"]["tools"]["enabled"], true, "a server may be called servers: {state}");
}
