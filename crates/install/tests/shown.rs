//! The lines of a change, for people.

use protomcp_install::{Action, Edit, Scope};

use crate::user::{User, row, server};

fn prepare(user: &User, id: &str, action: &Action) -> Edit {
    user.installer.prepare(row(id), &Scope::User, action).expect("it fits")
}

/// Files of hosts have secrets of others, and a line next to a change is printed with it.
#[test]
fn a_change_shows_no_value_of_others() {
    let json = "{\n  \"projects\": {\"/p\": {\"mcpServers\": {\"x\": {\"env\": {\"KEY\": \"gold-1\"}}}}},\n  // KEY: gold-2\n  \
        \"servers\": {\"tools\": {\"command\": \"npx\", \"env\": {\"PIN\": 734221}, \"args\": [\"gold-3\"]}}, \"t\": [\"gold-4\"]\n}\n";
    let toml = "key = \"gold-1\" # gold-2\n[mcp_servers.tools]\ncommand = \"npx\"\nargs = [\"gold-3\"]\nenv = { PIN = 734221 }\n\
        [mcp_servers.b]\nurl = \"gold-4\"\n";
    for (id, text) in [("vscode", json), ("codex", toml)] {
        let user = User::new();
        user.write(id, text);
        let install = |name: &str| Action::Install { name: name.into(), server: server(), replaces: true };
        let uninstall = Action::Uninstall { name: "tools".into() };
        let mut edits = vec![prepare(&user, id, &install("tools")), prepare(&user, id, &install("new"))];
        user.installer.apply(row(id), &Scope::User, &install("tools")).expect("it fits");
        edits.push(prepare(&user, id, &uninstall));
        for edit in edits {
            let diff = edit.diff();
            assert!(diff.contains("/bin/pmcp") && diff.contains("[redacted]") && diff.contains("dev"), "{id}: {diff}");
            for secret in ["gold-", "734221", "npx"] {
                assert!(!diff.contains(secret), "{id}: {secret} in {diff}");
            }
        }
    }
}
