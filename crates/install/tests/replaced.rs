//! Servers of other origins that entries replace: each comes back, or is in a copy.

use std::fs;
use std::path::Path;

use protomcp_install::{Action, Edit, InstallError, Restored, Scope};
use serde_json::{Value, json};

use crate::user::{User, read, row, server};

fn replace(user: &User, id: &str, name: &str) -> Result<Edit, InstallError> {
    let action = Action::Install { name: name.into(), server: server(), replaces: true };
    user.installer.apply(row(id), &Scope::User, &action)
}

/// A host writes its file in its own layout.
fn reformat(path: &Path) {
    let state: Value = serde_json::from_str(&read(path)).expect("it is JSON");
    fs::write(path, serde_json::to_string(&state).expect("it is JSON")).expect("it can be written");
}

#[test]
fn a_replaced_server_comes_back_after_a_change() {
    let user = User::new();
    let path = user.write("cursor", r#"{"mcpServers": {"tools": {"command": "npx"}}}"#);
    replace(&user, "cursor", "tools").expect("it fits");
    let changed = read(&path).replacen('{', "{\"theme\": 1, ", 1);
    fs::write(&path, changed).expect("it can be written");
    let edit = user.uninstall("cursor", "tools").expect("it is there");
    assert_eq!(edit.restored, Some(Restored::Back));
    assert_eq!(read(&path), r#"{"theme": 1, "mcpServers": {"tools": {"command": "npx"}}}"#);
}

/// The copy of an earlier installation says nothing about a server that was added since.
#[test]
fn a_server_that_was_added_later_is_not_lost() {
    let user = User::new();
    let path = user.write("cursor", "{\n  \"theme\": 1\n}\n");
    user.install("cursor", "tools").expect("it fits");
    reformat(&path);
    user.uninstall("cursor", "tools").expect("it is there");
    assert!(user.files().contains(&".cursor/mcp.json.pmcp-backup".to_owned()), "{:?}", user.files());
    let mut state: Value = serde_json::from_str(&read(&path)).expect("it is JSON");
    state["mcpServers"]["precious"] = json!({"command": "npx", "env": {"KEY": "gold"}});
    fs::write(&path, state.to_string()).expect("it can be written");
    let before = read(&path);
    let edit = replace(&user, "cursor", "precious").expect("it fits");
    assert_eq!(read(&edit.backup.expect("there is a copy")), before);
    reformat(&path);
    assert!(!read(&path).contains("gold"));
    let edit = user.uninstall("cursor", "precious").expect("it is there");
    assert_eq!(edit.restored, Some(Restored::Back));
    let after: Value = serde_json::from_str(&read(&path)).expect("it is JSON");
    assert_eq!(after, state);
}

#[test]
fn replaced_servers_come_back_in_any_order() {
    let json =
        "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"npx\" },\n    \"b\": {\"url\": \"http://h\"}\n  }\n}\n";
    let jsonc = "{\n  \"servers\": {\n    \"a\": { \"command\": \"npx\", /* a */ }, // b\n    \"b\": {},\n  },\n}\n";
    let toml =
        "[mcp_servers.a]\ncommand = \"npx\" # a\n\n[mcp_servers.b]\ncommand = \"x\"\n\n[mcp_servers.b.env]\nK = \"v\"";
    for (id, before) in [("cursor", json), ("vscode", jsonc), ("codex", toml)] {
        for order in [["a", "b"], ["b", "a"]] {
            let user = User::new();
            let path = user.write(id, before);
            for name in ["a", "b"] {
                replace(&user, id, name).unwrap_or_else(|error| panic!("{id}: {error}"));
            }
            let both = read(&path);
            assert!(both.matches("/bin/pmcp").count() == 2 && !both.contains("npx"), "{both}");
            for name in order {
                let edit = user.uninstall(id, name).unwrap_or_else(|error| panic!("{id}: {error}"));
                assert_eq!(edit.restored, Some(Restored::Back), "{id}");
            }
            assert_eq!(read(&path), before, "{id}: {order:?}");
            assert_eq!(user.files().len(), 2, "{id}: the file and the lock stay: {:?}", user.files());
        }
    }
}

/// The record has a text that gives another server, or none.
#[test]
fn a_server_that_cannot_come_back_is_in_the_copy() {
    for text in ["}}", "{\"command\": \"other\"}"] {
        let user = User::new();
        let before = r#"{"mcpServers": {"tools": {"command": "npx"}}}"#;
        let path = user.write("cursor", before);
        replace(&user, "cursor", "tools").expect("it fits");
        let records = user.home.path().join(".local/state/pmcp/installed.json");
        let mut record: Value = serde_json::from_str(&read(&records)).expect("it is JSON");
        record["files"][0]["former"]["tools"]["text"] = json!(text);
        fs::write(&records, record.to_string()).expect("it can be written");
        let edit = user.uninstall("cursor", "tools").expect("it is there");
        let Some(Restored::InCopy(copy)) = edit.restored else { panic!("{text}: {:?}", edit.restored) };
        assert_eq!((read(&copy).as_str(), read(&path).contains("tools")), (before, false), "{text}");
    }
}

/// The name is recorded, but the entry may be of another origin by now.
#[test]
fn an_entry_that_was_changed_is_in_a_copy() {
    for is_replaced in [true, false] {
        let user = User::new();
        let path = user.write("cursor", "{}");
        user.install("cursor", "tools").expect("it fits");
        let theirs = json!({"mcpServers": {"tools": {"command": "npx", "args": ["precious"]}}}).to_string();
        fs::write(&path, &theirs).expect("it can be written");
        let edit = if is_replaced { replace(&user, "cursor", "tools") } else { user.uninstall("cursor", "tools") };
        let copy = edit.expect("it is recorded").backup.expect("there is a copy");
        assert_eq!((read(&copy), read(&path).contains("precious")), (theirs, false));
    }
}

/// Copies are bounded, and one that a record needs is not overwritten.
#[test]
fn old_copies_are_overwritten_and_needed_ones_stay() {
    let user = User::new();
    let path = user.write("cursor", "");
    for number in 0..12 {
        let before = format!("{{\"n\": {number}}}");
        fs::write(&path, &before).expect("it can be written");
        let copy = user.install("cursor", "tools").expect("it fits").backup.expect("there is a copy");
        assert_eq!(read(&copy), before);
        reformat(&path);
        user.uninstall("cursor", "tools").expect("it is there");
    }
    let copies = |user: &User| user.files().iter().filter(|name| name.contains(".pmcp-backup")).count();
    assert_eq!(copies(&user), 9);
    // Nine servers are replaced, each with its copy, and a tenth is not.
    let name = |number: usize| format!("n{number}");
    let servers: serde_json::Map<_, _> = (0..10).map(|number| (name(number), json!({"command": "npx"}))).collect();
    fs::write(&path, json!({"mcpServers": servers}).to_string()).expect("it can be written");
    for number in 0..9 {
        replace(&user, "cursor", &name(number)).expect("it fits");
    }
    let before = read(&path);
    let error = replace(&user, "cursor", "n9").expect_err("all copies are needed").to_string();
    assert!(error.contains("has nine copies, and pmcp uninstall needs each of them"), "{error}");
    assert_eq!((read(&path), copies(&user)), (before, 9));
    for number in 0..9 {
        let edit = user.uninstall("cursor", &name(number)).expect("it is there");
        assert_eq!(edit.restored, Some(Restored::Back));
    }
    let after: Value = serde_json::from_str(&read(&path)).expect("it is JSON");
    assert_eq!(after, json!({"mcpServers": servers}));
}

/// A run that is killed may have written the file and no record.
#[test]
fn an_entry_without_a_record_is_installed_again() {
    for id in ["cursor", "codex", "vscode", "opencode"] {
        let user = User::new();
        let path = user.write(id, if id == "codex" { "" } else { "{}" });
        user.install(id, "tools").unwrap_or_else(|error| panic!("{id}: {error}"));
        let records = user.home.path().join(".local/state/pmcp/installed.json");
        let (record, text) = (read(&records), read(&path));
        fs::remove_file(&records).expect("it is there");
        user.install(id, "tools").unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(read(&path), text, "{id}: only the record is written");
        let digests = |record: &str| {
            let record: Value = serde_json::from_str(record).expect("it is JSON");
            record["files"][0]["digests"].clone()
        };
        assert_eq!(digests(&read(&records)), digests(&record), "{id}");
        user.uninstall(id, "tools").unwrap_or_else(|error| panic!("{id}: {error}"));
        assert!(!read(&path).contains("tools"), "{id}: {}", read(&path));
    }
}
