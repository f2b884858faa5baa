//! The file of each host on each system, and the entry of a server in its words.

use std::collections::BTreeSet;

use protomcp_install::{Environment, Inherited, Os, Scope, Server, check_name, host, hosts, snippet};

/// The file for all projects on Linux, macOS and Windows.
const FILES: &[(&str, &str, &str, &str)] = &[
    (
        "claude-desktop",
        "~/.config/Claude/claude_desktop_config.json",
        "~/Library/Application Support/Claude/claude_desktop_config.json",
        r"C:\U\ann\AppData\Roaming\Claude\claude_desktop_config.json",
    ),
    ("claude-code", "~/.claude.json", "~/.claude.json", r"C:\U\ann\.claude.json"),
    ("cursor", "~/.cursor/mcp.json", "~/.cursor/mcp.json", r"C:\U\ann\.cursor\mcp.json"),
    (
        "vscode",
        "~/.config/Code/User/mcp.json",
        "~/Library/Application Support/Code/User/mcp.json",
        r"C:\U\ann\AppData\Roaming\Code\User\mcp.json",
    ),
    (
        "vscode-insiders",
        "~/.config/Code - Insiders/User/mcp.json",
        "~/Library/Application Support/Code - Insiders/User/mcp.json",
        r"C:\U\ann\AppData\Roaming\Code - Insiders\User\mcp.json",
    ),
    ("copilot", "~/.copilot/mcp-config.json", "~/.copilot/mcp-config.json", r"C:\U\ann\.copilot\mcp-config.json"),
    (
        "windsurf",
        "~/.codeium/windsurf/mcp_config.json",
        "~/.codeium/windsurf/mcp_config.json",
        r"C:\U\ann\.codeium\windsurf\mcp_config.json",
    ),
    (
        "zed",
        "~/.config/zed/settings.json",
        "~/.config/zed/settings.json",
        r"C:\U\ann\AppData\Roaming\Zed\settings.json",
    ),
    ("gemini", "~/.gemini/settings.json", "~/.gemini/settings.json", r"C:\U\ann\.gemini\settings.json"),
    ("codex", "~/.codex/config.toml", "~/.codex/config.toml", r"C:\U\ann\.codex\config.toml"),
    (
        "cline",
        "~/.cline/data/settings/cline_mcp_settings.json",
        "~/.cline/data/settings/cline_mcp_settings.json",
        r"C:\U\ann\.cline\data\settings\cline_mcp_settings.json",
    ),
    (
        "roo",
        "~/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        "~/Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
        r"C:\U\ann\AppData\Roaming\Code\User\globalStorage\rooveterinaryinc.roo-cline\settings\mcp_settings.json",
    ),
    ("kilo", "~/.config/kilo/kilo.jsonc", "~/.config/kilo/kilo.jsonc", r"C:\U\ann\.config\kilo\kilo.jsonc"),
    ("lmstudio", "~/.lmstudio/mcp.json", "~/.lmstudio/mcp.json", r"C:\U\ann\.lmstudio\mcp.json"),
    (
        "opencode",
        "~/.config/opencode/opencode.json",
        "~/.config/opencode/opencode.json",
        r"C:\U\ann\.config\opencode\opencode.json",
    ),
    ("junie", "~/.junie/mcp/mcp.json", "~/.junie/mcp/mcp.json", r"C:\U\ann\.junie\mcp\mcp.json"),
    ("kiro", "~/.kiro/settings/mcp.json", "~/.kiro/settings/mcp.json", r"C:\U\ann\.kiro\settings\mcp.json"),
    ("amazonq", "~/.aws/amazonq/mcp.json", "~/.aws/amazonq/mcp.json", r"C:\U\ann\.aws\amazonq\mcp.json"),
    ("warp", "~/.warp/.mcp.json", "~/.warp/.mcp.json", r"C:\U\ann\.warp\.mcp.json"),
    (
        "antigravity",
        "~/.gemini/antigravity/mcp_config.json",
        "~/.gemini/antigravity/mcp_config.json",
        r"C:\U\ann\.gemini\antigravity\mcp_config.json",
    ),
    ("amp", "~/.config/amp/settings.json", "~/.config/amp/settings.json", r"C:\U\ann\.config\amp\settings.json"),
];

/// The members of an entry for a command and for a URL, on one line.
const ENTRIES: &[(&str, &str, &str)] = &[
    ("claude-desktop", r#"{"mcpServers":{"t":{"command":"/pmcp","args":["dev","/t.py"],"env":{"K":"v"}}}}"#, ""),
    (
        "claude-code",
        r#"{"mcpServers":{"t":{"type":"stdio","command":"/pmcp","args":["dev","/t.py"],"env":{"K":"v"}}}}"#,
        r#"{"mcpServers":{"t":{"type":"http","url":"http://h/mcp","headers":{"A":"b"}}}}"#,
    ),
    (
        "vscode",
        r#"{"servers":{"t":{"type":"stdio","command":"/pmcp","args":["dev","/t.py"],"env":{"K":"v"}}}}"#,
        r#"{"servers":{"t":{"type":"http","url":"http://h/mcp","headers":{"A":"b"}}}}"#,
    ),
    (
        "copilot",
        r#"{"mcpServers":{"t":{"type":"local","command":"/pmcp","args":["dev","/t.py"],"env":{"K":"v"},"tools":["*"]}}}"#,
        r#"{"mcpServers":{"t":{"type":"http","url":"http://h/mcp","headers":{"A":"b"},"tools":["*"]}}}"#,
    ),
    (
        "windsurf",
        r#"{"mcpServers":{"t":{"command":"/pmcp","args":["dev","/t.py"],"env":{"K":"v"}}}}"#,
        r#"{"mcpServers":{"t":{"serverUrl":"http://h/mcp","headers":{"A":"b"}}}}"#,
    ),
    (
        "zed",
        r#"{"context_servers":{"t":{"source":"custom","command":"/pmcp","args":["dev","/t.py"],"env":{"K":"v"}}}}"#,
        r#"{"context_servers":{"t":{"url":"http://h/mcp","headers":{"A":"b"}}}}"#,
    ),
    (
        "gemini",
        r#"{"mcpServers":{"t":{"command":"/pmcp","args":["dev","/t.py"],"env":{"K":"v"}}}}"#,
        r#"{"mcpServers":{"t":{"httpUrl":"http://h/mcp","headers":{"A":"b"}}}}"#,
    ),
    (
        "cline",
        r#"{"mcpServers":{"t":{"command":"/pmcp","args":["dev","/t.py"],"env":{"K":"v"}}}}"#,
        r#"{"mcpServers":{"t":{"type":"streamableHttp","url":"http://h/mcp","headers":{"A":"b"}}}}"#,
    ),
    (
        "roo",
        r#"{"mcpServers":{"t":{"command":"/pmcp","args":["dev","/t.py"],"env":{"K":"v"}}}}"#,
        r#"{"mcpServers":{"t":{"type":"streamable-http","url":"http://h/mcp","headers":{"A":"b"}}}}"#,
    ),
    (
        "opencode",
        r#"{"mcp":{"t":{"type":"local","command":["/pmcp","dev","/t.py"],"environment":{"K":"v"},"enabled":true}}}"#,
        r#"{"mcp":{"t":{"type":"remote","url":"http://h/mcp","headers":{"A":"b"},"enabled":true}}}"#,
    ),
    (
        "amp",
        r#"{"amp.mcpServers":{"t":{"command":"/pmcp","args":["dev","/t.py"],"env":{"K":"v"}}}}"#,
        r#"{"amp.mcpServers":{"t":{"url":"http://h/mcp","headers":{"A":"b"}}}}"#,
    ),
    ("chatgpt", "", r#"{"mcpServers":{"t":{"url":"http://h/mcp"}}}"#),
    (
        "goose",
        r#"{"extensions":{"t":{"name":"t","type":"stdio","cmd":"/pmcp","args":["dev","/t.py"],"envs":{"K":"v"},"enabled":true}}}"#,
        r#"{"extensions":{"t":{"name":"t","type":"streamable_http","uri":"http://h/mcp","headers":{"A":"b"},"enabled":true}}}"#,
    ),
];

fn linux() -> Environment {
    Environment::new(Os::Linux, [("HOME", "/u/ann")])
}

fn macos() -> Environment {
    Environment::new(Os::MacOs, [("HOME", "/u/ann")])
}

fn windows() -> Environment {
    Environment::new(Os::Windows, [("UserProfile", r"C:\U\ann"), ("AppData", r"C:\U\ann\AppData\Roaming")])
}

fn first(id: &str, environment: &Environment) -> Option<String> {
    host(id).expect(id).files(environment, &Scope::User).into_iter().next()
}

#[test]
fn each_host_has_its_file_on_each_system() {
    for (id, on_linux, on_macos, on_windows) in FILES {
        let home = |path: &str| path.replacen('~', "/u/ann", 1);
        assert_eq!(first(id, &linux()), Some(home(on_linux)), "{id}");
        assert_eq!(first(id, &macos()), Some(home(on_macos)), "{id}");
        assert_eq!(first(id, &windows()).as_deref(), Some(*on_windows), "{id}");
    }
    let tested: BTreeSet<_> = FILES.iter().map(|row| row.0).collect();
    let with_file = hosts().iter().filter(|host| !host.files(&linux(), &Scope::User).is_empty());
    assert_eq!(tested, with_file.map(|host| host.id).collect(), "every host with a file is in this table");
}

#[test]
fn variables_name_other_directories() {
    let with = |os, name, value| Environment::new(os, [("HOME", "/u/ann"), ("USERPROFILE", r"C:\U"), (name, value)]);
    for (id, name, value, file) in [
        ("claude-desktop", "XDG_CONFIG_HOME", "/conf/", "/conf/Claude/claude_desktop_config.json"),
        ("claude-desktop", "XDG_CONFIG_HOME", "relative", "/u/ann/.config/Claude/claude_desktop_config.json"),
        ("claude-code", "CLAUDE_CONFIG_DIR", "/c", "/c/.claude.json"),
        ("claude-code", "CLAUDE_CONFIG_DIR", "", "/u/ann/.claude.json"),
        ("codex", "CODEX_HOME", "/c", "/c/config.toml"),
        ("copilot", "COPILOT_HOME", "/c", "/c/mcp-config.json"),
        ("zed", "XDG_CONFIG_HOME", "/conf", "/conf/zed/settings.json"),
        ("opencode", "XDG_CONFIG_HOME", "/conf", "/conf/opencode/opencode.json"),
    ] {
        assert_eq!(first(id, &with(Os::Linux, name, value)).as_deref(), Some(file), "{id} with {name}={value}");
    }
    let codex = first("codex", &with(Os::Windows, "CODEX_HOME", r"D:\c\"));
    assert_eq!(codex.as_deref(), Some(r"D:\c\config.toml"));
    assert_eq!(first("cursor", &Environment::new(Os::Linux, [])), None, "without a home there is no file");
}

#[test]
fn projects_have_their_own_files() {
    let file = |id: &str, environment: &Environment, directory: &str| {
        host(id).expect(id).files(environment, &Scope::Project(directory.into())).into_iter().next()
    };
    assert_eq!(file("claude-code", &linux(), "/p").as_deref(), Some("/p/.mcp.json"));
    assert_eq!(file("vscode", &windows(), r"C:\p").as_deref(), Some(r"C:\p\.vscode\mcp.json"));
    assert_eq!(file("claude-desktop", &linux(), "/p"), None);
    let all = |id: &str| host(id).expect(id).files(&linux(), &Scope::Project("/p".into())).join(" ");
    assert_eq!(
        all("opencode"),
        "/p/opencode.json /p/opencode.jsonc /p/.opencode/opencode.json /p/.opencode/opencode.jsonc"
    );
    assert_eq!(all("kilo"), "/p/kilo.jsonc /p/kilo.json /p/.kilo/kilo.jsonc /p/.kilo/kilo.json");
}

#[test]
fn entries_are_in_the_words_of_the_host() {
    let command = Server::Command {
        program: "/pmcp".into(),
        args: vec!["dev".into(), "/t.py".into()],
        env: vec![("K".into(), "v".into())],
    };
    let url = Server::Url { url: "http://h/mcp".into(), headers: vec![("A".into(), "b".into())] };
    let on_one_line = |id, server| {
        let text = snippet(Some(host(id).expect(id)), "t", server)?;
        let words = text.lines().map(str::trim_start).collect::<Vec<_>>().concat();
        Some(words.replace("\": ", "\":"))
    };
    for (id, expected, remote) in ENTRIES {
        assert_eq!(on_one_line(id, &command).as_deref(), Some(*expected).filter(|text| !text.is_empty()), "{id}");
        assert_eq!(host(id).expect(id).takes_commands(), !expected.is_empty(), "{id}");
        assert_eq!(on_one_line(id, &url).as_deref(), Some(*remote).filter(|text| !text.is_empty()), "{id}");
    }
    let codex = snippet(host("codex"), "t", &command).expect("Codex takes commands");
    assert_eq!(codex, "[mcp_servers.t]\ncommand = \"/pmcp\"\nargs = [\"dev\", \"/t.py\"]\nenv = { K = \"v\" }\n");
    let codex = snippet(host("codex"), "t", &url).expect("Codex takes URLs");
    assert_eq!(codex, "[mcp_servers.t]\nurl = \"http://h/mcp\"\nhttp_headers = { A = \"b\" }\n");
    let other = snippet(None, "t", &command).expect("every host takes commands");
    assert!(other.starts_with("{\n  \"mcpServers\": {\n    \"t\": {\n      \"type\": \"stdio\",\n"), "{other}");
    let plain = Server::Command { program: "/pmcp".into(), args: Vec::new(), env: Vec::new() };
    let cursor = on_one_line("cursor", &plain);
    assert_eq!(cursor.as_deref(), Some(r#"{"mcpServers":{"t":{"command":"/pmcp","args":[]}}}"#));
}

#[test]
fn hosts_pass_on_a_part_of_the_environment() {
    let shell = [("HOME", "/u/ann"), ("PATH", "/u/ann/bin:/bin"), ("TOKEN", "x")];
    let given = |id: &str, shell: &Environment| host(id).expect(id).inherits.variables(shell);
    let pairs =
        |pairs: [(&str, &str); 2]| Some(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec());
    let linux = Environment::new(Os::Linux, shell);
    assert_eq!(given("claude-code", &linux), None);
    assert_eq!(given("copilot", &linux), pairs([("HOME", "/u/ann"), ("PATH", "/u/ann/bin:/bin")]));
    assert_eq!(given("cursor", &linux), pairs([("HOME", "/u/ann"), ("PATH", "/usr/local/bin:/usr/bin:/bin")]));
    let macos = Environment::new(Os::MacOs, shell);
    assert_eq!(given("zed", &macos), pairs([("HOME", "/u/ann"), ("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")]));
    let windows = Environment::new(Os::Windows, [("SystemRoot", r"D:\W"), ("Path", r"C:\tools")]);
    assert_eq!(given("vscode", &windows), pairs([("SYSTEMROOT", r"D:\W"), ("PATH", r"D:\W\System32;D:\W")]));
    let (_, page) =
        include_str!("../../../docs/hosts.md").split_once("## Environment").expect("the page has a section");
    let (section, _) = page.split_once("\n## ").expect("a section has an end");
    for host in hosts() {
        let is_listed = section.contains(&format!("`{}`", host.id));
        assert_eq!(is_listed, host.inherits != Inherited::Window, "{} in docs/hosts.md", host.id);
    }
}

#[test]
fn every_row_names_its_source_and_the_next_step() {
    let mut ids = BTreeSet::new();
    for host in hosts() {
        assert!(ids.insert(host.id), "two rows are called {}", host.id);
        assert!(check_name(host.id).is_ok() && !host.label.is_empty() && !host.reload.is_empty(), "{}", host.id);
        let month =
            host.source.split("; ").flat_map(|part| part.rsplit(", ").take(1)).any(|part| part.contains("2026-"));
        assert!(month, "{}: the source has no month: {}", host.id, host.source);
        assert!(host.format.is_some() || host.files(&linux(), &Scope::User).is_empty(), "{}", host.id);
    }
}
