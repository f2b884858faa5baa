//! The data of hosts. Each row names its source and the month in which that was read: hosts change often.

use crate::document::edit::Format;
use crate::hosts::Host;
use crate::hosts::Part::{self, Args, Command, CommandAndArgs, Env, Headers, Name, Text, Url, Words, Yes};
use crate::inherited::Inherited;

type Parts = &'static [(&'static str, Part)];

const MCP_SERVERS: &[&[&str]] = &[&["mcpServers"]];

/// The entry that most hosts share.
const PLAIN: Parts = &[("command", Command), ("args", Args), ("env", Env)];
const PLAIN_URL: Parts = &[("url", Url), ("headers", Headers)];
const TYPED: Parts = &[("type", Text("stdio")), ("command", Command), ("args", Args), ("env", Env)];
const TYPED_URL: Parts = &[("type", Text("http")), ("url", Url), ("headers", Headers)];
const OPENCODE: Parts = &[("type", Text("local")), ("command", CommandAndArgs), ("environment", Env), ("enabled", Yes)];
const OPENCODE_URL: Parts = &[("type", Text("remote")), ("url", Url), ("headers", Headers), ("enabled", Yes)];

const RESTART: &str = "quit it and start it again";

/// A row without a file; the others are made from it.
const ROW: Host = Host {
    id: "",
    label: "",
    format: None,
    user: &[],
    windows: &[],
    variable: None,
    project: &[],
    keys: MCP_SERVERS,
    stdio: PLAIN,
    http: Some(PLAIN_URL),
    has_lock: false,
    // The safe one: an entry then has all that it needs.
    inherits: Inherited::Window,
    reload: RESTART,
    source: "",
};

/// A host that is not in the table.
pub(crate) const OTHER: Host = Host { id: "other", label: "other hosts", stdio: TYPED, http: Some(TYPED_URL), ..ROW };

pub(crate) const HOSTS: &[Host] = &[
    Host {
        id: "claude-desktop",
        label: "Claude Desktop",
        format: Some(Format::Json),
        user: &["{config}/Claude/claude_desktop_config.json"],
        http: None,
        source: "Claude's documentation of connectors; neondatabase/add-mcp and docker/mcp-gateway, sources; 2026-07",
        ..ROW
    },
    Host {
        id: "claude-code",
        label: "Claude Code",
        format: Some(Format::Json),
        user: &["{home}/.claude.json"],
        variable: Some(("CLAUDE_CONFIG_DIR", "{CLAUDE_CONFIG_DIR}/.claude.json")),
        project: &[".mcp.json"],
        stdio: TYPED,
        http: Some(TYPED_URL),
        has_lock: true,
        inherits: Inherited::Shell,
        reload: "new sessions see it; in a running one: /mcp, Reconnect",
        source: "documentation of Claude Code, 2026-08; its program 2.1.197 for the lock",
        ..ROW
    },
    Host {
        id: "cursor",
        label: "Cursor",
        format: Some(Format::Json),
        user: &["{home}/.cursor/mcp.json"],
        project: &[".cursor/mcp.json"],
        reload: "switch the server on in Settings, MCP; or restart Cursor",
        source: "documentation of Cursor, 2026-11",
        ..ROW
    },
    Host {
        id: "vscode",
        label: "VS Code",
        format: Some(Format::Jsonc),
        user: &["{config}/Code/User/mcp.json"],
        project: &[".vscode/mcp.json"],
        keys: &[&["servers"]],
        stdio: TYPED,
        http: Some(TYPED_URL),
        reload: "run the command MCP: List Servers and start it",
        source: "documentation of VS Code, 2026-11",
        ..ROW
    },
    Host {
        id: "vscode-insiders",
        label: "VS Code Insiders",
        format: Some(Format::Jsonc),
        user: &["{config}/Code - Insiders/User/mcp.json"],
        project: &[".vscode/mcp.json"],
        keys: &[&["servers"]],
        stdio: TYPED,
        http: Some(TYPED_URL),
        reload: "run the command MCP: List Servers and start it",
        source: "documentation of VS Code, 2026-11",
        ..ROW
    },
    Host {
        id: "copilot",
        label: "Copilot CLI",
        format: Some(Format::Json),
        user: &["{home}/.copilot/mcp-config.json"],
        variable: Some(("COPILOT_HOME", "{COPILOT_HOME}/mcp-config.json")),
        project: &[".github/mcp.json"],
        stdio: &[("type", Text("local")), ("command", Command), ("args", Args), ("env", Env), ("tools", Words(&["*"]))],
        http: Some(&[("type", Text("http")), ("url", Url), ("headers", Headers), ("tools", Words(&["*"]))]),
        inherits: Inherited::Path,
        reload: "/mcp reload",
        source: "github/docs, 2026-10",
        ..ROW
    },
    Host {
        id: "windsurf",
        label: "Windsurf",
        format: Some(Format::Json),
        user: &["{home}/.codeium/windsurf/mcp_config.json"],
        http: Some(&[("serverUrl", Url), ("headers", Headers)]),
        reload: "press Refresh in the list of MCP servers",
        source: "documentation of Windsurf, 2026-11",
        ..ROW
    },
    Host {
        id: "zed",
        label: "Zed",
        format: Some(Format::Jsonc),
        user: &["{xdg}/zed/settings.json"],
        windows: &["{config}/Zed/settings.json"],
        project: &[".zed/settings.json"],
        keys: &[&["context_servers"]],
        stdio: &[("source", Text("custom")), ("command", Command), ("args", Args), ("env", Env)],
        reload: "nothing, Zed watches the file",
        source: "zed-industries/zed, sources and documentation, 2026-11",
        ..ROW
    },
    Host {
        id: "gemini",
        label: "Gemini CLI",
        format: Some(Format::JsonWithComments),
        user: &["{home}/.gemini/settings.json"],
        project: &[".gemini/settings.json"],
        http: Some(&[("httpUrl", Url), ("headers", Headers)]),
        inherits: Inherited::Shell,
        reload: "/mcp reload; the folder that it runs in must be trusted",
        source: "google-gemini/gemini-cli, sources and documentation, 2026-08; its program 0.61.0 for trust",
        ..ROW
    },
    Host {
        id: "codex",
        label: "Codex",
        format: Some(Format::Toml),
        user: &["{home}/.codex/config.toml"],
        variable: Some(("CODEX_HOME", "{CODEX_HOME}/config.toml")),
        project: &[".codex/config.toml"],
        keys: &[&["mcp_servers"]],
        http: Some(&[("url", Url), ("http_headers", Headers)]),
        reload: "new sessions see it",
        source: "documentation of Codex, 2026-11",
        ..ROW
    },
    Host {
        id: "cline",
        label: "Cline",
        format: Some(Format::Json),
        user: &[
            "{home}/.cline/data/settings/cline_mcp_settings.json",
            "{config}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        ],
        variable: Some(("CLINE_DIR", "{CLINE_DIR}/data/settings/cline_mcp_settings.json")),
        http: Some(&[("type", Text("streamableHttp")), ("url", Url), ("headers", Headers)]),
        reload: "nothing, Cline watches the file",
        source: "cline/cline, sources, 2026-08",
        ..ROW
    },
    Host {
        id: "roo",
        label: "Roo Code",
        format: Some(Format::Json),
        user: &["{config}/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"],
        project: &[".roo/mcp.json"],
        http: Some(&[("type", Text("streamable-http")), ("url", Url), ("headers", Headers)]),
        reload: "nothing, Roo Code watches the file",
        source: "RooCodeInc/Roo-Code, sources, 2026-04",
        ..ROW
    },
    Host {
        id: "kilo",
        label: "Kilo",
        format: Some(Format::Jsonc),
        user: &["{xdg}/kilo/kilo.jsonc", "{xdg}/kilo/kilo.json"],
        project: &["kilo.jsonc", "kilo.json", ".kilo/kilo.jsonc", ".kilo/kilo.json"],
        keys: &[&["mcp"]],
        stdio: OPENCODE,
        http: Some(OPENCODE_URL),
        source: "documentation of Kilo, 2026-11",
        ..ROW
    },
    Host {
        id: "lmstudio",
        label: "LM Studio",
        format: Some(Format::Json),
        user: &["{home}/.lmstudio/mcp.json", "{home}/.cache/lm-studio/mcp.json"],
        source: "lmstudio-ai/docs, 2026-04",
        ..ROW
    },
    Host {
        id: "opencode",
        label: "opencode",
        format: Some(Format::Jsonc),
        user: &["{xdg}/opencode/opencode.json", "{xdg}/opencode/opencode.jsonc"],
        project: &["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"],
        // Version 2 has one more level.
        keys: &[&["mcp", "servers"], &["mcp"]],
        stdio: OPENCODE,
        http: Some(OPENCODE_URL),
        inherits: Inherited::Shell,
        source: "documentation of opencode, 2026-11; its program 1.18.33",
        ..ROW
    },
    Host {
        id: "junie",
        label: "Junie",
        format: Some(Format::Json),
        user: &["{home}/.junie/mcp/mcp.json"],
        project: &[".junie/mcp/mcp.json"],
        source: "documentation of Junie, 2026-11",
        ..ROW
    },
    Host {
        id: "kiro",
        label: "Kiro",
        format: Some(Format::Json),
        user: &["{home}/.kiro/settings/mcp.json"],
        project: &[".kiro/settings/mcp.json"],
        reload: "nothing in the editor; restart the command",
        source: "documentation of Kiro, 2026-11",
        ..ROW
    },
    Host {
        id: "amazonq",
        label: "Amazon Q CLI",
        format: Some(Format::Json),
        user: &["{home}/.aws/amazonq/mcp.json"],
        project: &[".amazonq/mcp.json"],
        inherits: Inherited::Shell,
        source: "aws/amazon-q-developer-cli, sources, 2026-04",
        ..ROW
    },
    Host {
        id: "warp",
        label: "Warp",
        format: Some(Format::Json),
        user: &["{home}/.warp/.mcp.json"],
        project: &[".warp/.mcp.json"],
        source: "documentation of Warp, 2026-11",
        ..ROW
    },
    Host {
        id: "antigravity",
        label: "Antigravity",
        format: Some(Format::Json),
        user: &["{home}/.gemini/antigravity/mcp_config.json"],
        http: Some(&[("serverUrl", Url), ("headers", Headers)]),
        source: "neondatabase/add-mcp and stacklok/toolhive, sources, 2026-08",
        ..ROW
    },
    Host {
        id: "amp",
        label: "Amp",
        format: Some(Format::Jsonc),
        user: &["{xdg}/amp/settings.json"],
        keys: &[&["amp.mcpServers"]],
        inherits: Inherited::Shell,
        source: "neondatabase/add-mcp and stacklok/toolhive, sources, 2026-08",
        ..ROW
    },
    Host {
        id: "continue",
        label: "Continue",
        format: Some(Format::Jsonc),
        project: &[".continue/mcpServers/pmcp.json"],
        reload: "nothing, Continue reads the folder; use its agent mode",
        source: "continuedev/continue, sources, 2026-06",
        ..ROW
    },
    Host {
        id: "goose",
        label: "Goose",
        keys: &[&["extensions"]],
        stdio: &[
            ("name", Name),
            ("type", Text("stdio")),
            ("cmd", Command),
            ("args", Args),
            ("envs", Env),
            ("enabled", Yes),
        ],
        http: Some(&[
            ("name", Name),
            ("type", Text("streamable_http")),
            ("uri", Url),
            ("headers", Headers),
            ("enabled", Yes),
        ]),
        reload: "put this into config.yaml of Goose, below extensions; JSON is also YAML",
        source: "documentation of Goose, 2026-11",
        ..ROW
    },
    Host {
        id: "jetbrains",
        label: "JetBrains AI Assistant",
        reload: "paste this into Settings, Tools, AI Assistant, Model Context Protocol, and press Apply",
        source: "documentation of JetBrains AI Assistant, 2026-11",
        ..ROW
    },
    Host {
        id: "raycast",
        label: "Raycast",
        reload: "paste this into the form of the command Install MCP Server",
        source: "manual of Raycast, 2026-11",
        ..ROW
    },
    Host {
        id: "chatgpt",
        label: "ChatGPT",
        stdio: &[],
        http: Some(&[("url", Url)]),
        reload: "paste the URL into the form for a new app, in developer mode; it must be public, with HTTPS",
        source: "public threads, such as homeassistant-ai/ha-mcp#1974, 2026-11",
        ..ROW
    },
];
