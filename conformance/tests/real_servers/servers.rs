//! The servers: how each of them starts, and the facts about it.

use std::fs;
use std::process::Command;

use protomcp_conformance::{Sandbox, peers};
use protomcp_types::{ProtocolVersion, Reference};
use serde_json::json;

use crate::real_servers::facts::{Ask, Facts, Prompts, Questions, Resources, ask};
use crate::real_servers::hearing::{ANSWER, NAME, ROOT};
use crate::real_servers::place::{Program, Way};

/// A server that is visited.
pub(crate) struct Server {
    pub(crate) name: &'static str,
    /// The file in conformance/peers with the version, and the text before it.
    pub(crate) pin: Option<(&'static str, &'static str)>,
    pub(crate) ways: &'static [Way],
    pub(crate) program: fn(&Sandbox, Way) -> Program,
    pub(crate) facts: fn(&Sandbox, Way) -> Facts,
    /// It shows what an SDK can do.
    pub(crate) is_of_an_sdk: bool,
    /// The visits in the short tier; the long one has all of them.
    pub(crate) short: Short,
}

/// The part of a server's visits that the short tier has, by the time that the server takes to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Short {
    /// All visits: it starts in milliseconds.
    Whole,
    /// All but those through `pmcp dev` and `--config`.
    BothEras,
    /// The same, without those that set the era to the older one: another server here is on the same SDK.
    OneEra,
}

const STDIO: &[Way] = &[Way::Stdio];

/// The reference servers on the official TypeScript SDK.
pub(crate) const NODE: &[Server] = &[
    Server {
        name: "`@modelcontextprotocol/server-everything`",
        pin: Some(("servers/package.json", "/server-everything\": \"")),
        ways: &[Way::Stdio, Way::Http, Way::Sse],
        program: everything,
        facts: everything_facts,
        is_of_an_sdk: true,
        short: Short::BothEras,
    },
    Server {
        name: "`@modelcontextprotocol/server-filesystem`",
        pin: Some(("servers/package.json", "/server-filesystem\": \"")),
        ways: STDIO,
        program: filesystem,
        facts: filesystem_facts,
        is_of_an_sdk: false,
        short: Short::OneEra,
    },
    Server {
        name: "`@modelcontextprotocol/server-memory`",
        pin: Some(("servers/package.json", "/server-memory\": \"")),
        ways: STDIO,
        program: |sandbox, _| Program::new([node("memory")]).env("MEMORY_FILE_PATH", sandbox.path("memory.jsonl")),
        facts: |_, _| memory_facts(),
        is_of_an_sdk: false,
        short: Short::OneEra,
    },
];

/// Servers on the official Python SDK, two of them reference servers, and one on fastmcp.
pub(crate) const PYTHON: &[Server] = &[
    Server {
        name: "`mcp-server-git`",
        pin: Some(("requirements-mcp.txt", "\nmcp-server-git==")),
        ways: STDIO,
        program: git,
        facts: |sandbox, _| git_facts(sandbox),
        is_of_an_sdk: false,
        short: Short::OneEra,
    },
    Server {
        name: "`mcp-server-time`",
        pin: Some(("requirements-mcp.txt", "\nmcp-server-time==")),
        ways: STDIO,
        program: |_, _| {
            let program = peers().join("mcp/bin/mcp-server-time");
            Program::new([program.into_os_string(), "--local-timezone".into(), "UTC".into()])
        },
        facts: |_, _| time_facts(),
        is_of_an_sdk: false,
        short: Short::OneEra,
    },
    Server {
        name: "A server on `mcp`",
        pin: Some(("requirements-mcp.txt", "\nmcp==")),
        ways: &[Way::Stdio, Way::Http],
        program: |_, way| python(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/mcp_server.py"), way),
        facts: |_, _| python_facts("mcp-server"),
        is_of_an_sdk: true,
        short: Short::BothEras,
    },
    Server {
        name: "A server on `fastmcp`",
        pin: Some(("requirements-mcp.txt", "\nfastmcp==")),
        ways: &[Way::Stdio, Way::Http],
        program: |_, way| python(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/fastmcp_server.py"), way),
        facts: |_, _| python_facts("fastmcp-server"),
        is_of_an_sdk: true,
        short: Short::OneEra,
    },
];

fn node(server: &str) -> std::ffi::OsString {
    peers().join("servers/node_modules/.bin").join(format!("mcp-server-{server}")).into_os_string()
}

fn everything(_: &Sandbox, way: Way) -> Program {
    let preload = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/loopback.cjs");
    let over = |transport: &str, path: &str| {
        Program::new(["node".into(), "--require".into(), preload.into(), node("everything"), transport.into()])
            .env("LOOPBACK_PATH", path)
    };
    match way {
        Way::Stdio => Program::new([node("everything")]),
        Way::Http => over("streamableHttp", "/mcp"),
        Way::Sse => over("sse", "/sse"),
    }
}

fn everything_facts(_: &Sandbox, _: Way) -> Facts {
    let nothing = || json!({});
    let wrong = ask("get-sum", json!({"a": 1, "b": "two"}), "expected number");
    Facts {
        calls: vec![
            ask("echo", json!({"message": "Grüße 🦀"}), "Echo: Grüße 🦀"),
            ask("get-sum", json!({"a": 2, "b": 40}), "42"),
        ],
        structured: Some(ask("get-structured-content", json!({"location": "Chicago"}), "Light rain")),
        progress: Some((ask(LONG, json!({"duration": 0.2, "steps": 4}), "completed"), 4)),
        long: Some(ask(LONG, json!({"duration": 600, "steps": 6000}), "")),
        task: Some(ask("simulate-research-query", json!({"topic": "tides"}), "tides")),
        logging: Some((ask("toggle-simulated-logging", nothing(), "Started"), "message")),
        resources: Resources {
            uris: DOCUMENTS.to_vec(),
            reading: Some((DOCUMENTS[0], "Everything Server")),
            templates: vec!["demo://resource/dynamic/text/{resourceId}", "demo://resource/dynamic/blob/{resourceId}"],
            subscription: Some((DOCUMENTS[1], ask("toggle-subscriber-updates", nothing(), "Started"))),
        },
        prompts: Prompts {
            names: vec!["simple-prompt", "args-prompt", "completable-prompt", "resource-prompt"],
            reading: Some(ask("args-prompt", json!({"city": "Paris"}), "weather in Paris")),
            completion: Some((
                Reference::Prompt { name: "completable-prompt".into() },
                ["department", "S"],
                vec!["Sales", "Support"],
            )),
        },
        questions: Questions {
            sampling: Some(ask("trigger-sampling-request", json!({"prompt": "hello"}), ANSWER)),
            elicitation: Some(ask("trigger-elicitation-request", nothing(), NAME)),
            roots: Some(ask("get-roots-list", nothing(), ROOT)),
        },
        ..Facts::new("mcp-servers/everything", ProtocolVersion::V2025_11_25, EVERYTHING_TOOLS, wrong)
    }
}

const LONG: &str = "trigger-long-running-operation";

const EVERYTHING_TOOLS: &[&str] = &[
    "echo",
    "get-annotated-message",
    "get-env",
    "get-resource-links",
    "get-resource-reference",
    "get-structured-content",
    "get-sum",
    "get-tiny-image",
    "gzip-file-as-resource",
    "toggle-simulated-logging",
    "toggle-subscriber-updates",
    LONG,
    // The others depend on the capabilities of the client.
    "simulate-research-query",
    "get-roots-list",
    "trigger-elicitation-request",
    "trigger-sampling-request",
    "trigger-url-elicitation",
];

const DOCUMENTS: &[&str] = &[
    "demo://resource/static/document/architecture.md",
    "demo://resource/static/document/extension.md",
    "demo://resource/static/document/features.md",
    "demo://resource/static/document/how-it-works.md",
    "demo://resource/static/document/instructions.md",
    "demo://resource/static/document/startup.md",
    "demo://resource/static/document/structure.md",
];

/// It may use the folder `open` next to the file `secret`.
fn filesystem(sandbox: &Sandbox, _: Way) -> Program {
    fs::create_dir_all(sandbox.path("open/folder")).expect("the sandbox can be written");
    fs::write(sandbox.path("open/file"), "the text of the file").expect("the sandbox can be written");
    sandbox.write("secret", "hidden");
    Program::new([node("filesystem"), sandbox.path("open").into_os_string()])
}

fn filesystem_facts(sandbox: &Sandbox, _: Way) -> Facts {
    let at = |path: &str| json!({"path": sandbox.path(path)});
    let refused = ask("read_text_file", at("secret"), "Access denied");
    Facts {
        calls: vec![
            ask("read_text_file", at("open/file"), "the text of the file"),
            ask("list_directory", at("open"), "[FILE] file\n[DIR] folder"),
        ],
        structured: Some(ask("read_text_file", at("open/file"), "the text of the file")),
        ..Facts::new("secure-filesystem-server", ProtocolVersion::V2025_11_25, FILESYSTEM_TOOLS, refused)
    }
}

const FILESYSTEM_TOOLS: &[&str] = &[
    "read_file",
    "read_text_file",
    "read_media_file",
    "read_multiple_files",
    "write_file",
    "edit_file",
    "create_directory",
    "list_directory",
    "list_directory_with_sizes",
    "directory_tree",
    "move_file",
    "search_files",
    "get_file_info",
    "list_allowed_directories",
];

fn memory_facts() -> Facts {
    let observation = json!({"observations": [{"entityName": "Charles", "contents": ["an engine"]}]});
    let failure = ask("add_observations", observation, "Entity with name Charles not found");
    Facts {
        calls: vec![entity("Ada"), ask("search_nodes", json!({"query": "ada"}), "wrote a program")],
        structured: Some(ask("open_nodes", json!({"names": ["Ada"]}), "wrote a program")),
        resources: Resources {
            uris: vec![GRAPH],
            reading: Some((GRAPH, "wrote a program")),
            subscription: Some((GRAPH, entity("Grace"))),
            ..Resources::default()
        },
        ..Facts::new("memory-server", ProtocolVersion::V2025_11_25, MEMORY_TOOLS, failure)
    }
}

const GRAPH: &str = "memory://knowledge-graph";

/// Creates an entity, or does nothing if it is there.
fn entity(name: &'static str) -> Ask {
    let entity = json!({"name": name, "entityType": "person", "observations": ["wrote a program"]});
    ask("create_entities", json!({"entities": [entity]}), "")
}

const MEMORY_TOOLS: &[&str] = &[
    "create_entities",
    "create_relations",
    "add_observations",
    "delete_entities",
    "delete_observations",
    "delete_relations",
    "read_graph",
    "search_nodes",
    "open_nodes",
];

/// The repository has one file that was not added.
fn git(sandbox: &Sandbox, _: Way) -> Program {
    let repository = sandbox.path("repository");
    let made = Command::new("git").args(["init", "--quiet", "--initial-branch", "trunk"]).arg(&repository).status();
    assert!(made.expect("git starts").success(), "no repository");
    fs::write(repository.join("new-file"), "text").expect("the repository can be written");
    let program = peers().join("mcp/bin/mcp-server-git").into_os_string();
    Program::new([program, "--repository".into(), repository.into_os_string()])
}

fn git_facts(sandbox: &Sandbox) -> Facts {
    let at = |path: &str| json!({"repo_path": sandbox.path(path)});
    let refused = ask("git_status", at(""), "outside the allowed repository");
    Facts {
        calls: vec![
            ask("git_status", at("repository"), "On branch trunk"),
            ask("git_status", at("repository"), "new-file"),
        ],
        ..Facts::new("mcp-git", ProtocolVersion::V2026_07_28, GIT_TOOLS, refused)
    }
}

const GIT_TOOLS: &[&str] = &[
    "git_status",
    "git_diff_unstaged",
    "git_diff_staged",
    "git_diff",
    "git_commit",
    "git_add",
    "git_reset",
    "git_log",
    "git_create_branch",
    "git_checkout",
    "git_show",
    "git_branch",
];

fn time_facts() -> Facts {
    let conversion = |from: &str, to: &str| json!({"source_timezone": from, "time": "12:30", "target_timezone": to});
    let failure = ask("convert_time", conversion("Nowhere/Land", "UTC"), "Invalid timezone");
    Facts {
        calls: vec![ask("convert_time", conversion("UTC", "Asia/Tokyo"), "T21:30:00+09:00")],
        structured: Some(ask("convert_time", conversion("UTC", "Asia/Kathmandu"), "+5.75h")),
        ..Facts::new("mcp-time", ProtocolVersion::V2026_07_28, &["get_current_time", "convert_time"], failure)
    }
}

fn python(script: &str, way: Way) -> Program {
    let mut words = vec![peers().join("mcp/bin/python").into_os_string(), script.into()];
    words.extend((way == Way::Http).then(|| "--http".into()));
    Program::new(words)
}

/// Both servers in Python have the same features. They ask in sessions only.
fn python_facts(name: &'static str) -> Facts {
    let tools = &["add", "fail", "count", "wait", "note", "ask", "sample", "roots"];
    let failure = ask("fail", json!({}), "it failed on purpose");
    Facts {
        calls: vec![ask("add", json!({"a": 2, "b": 40}), "42")],
        structured: Some(ask("add", json!({"a": 2, "b": 40}), "42")),
        progress: Some((ask("count", json!({"to": 3}), "counted to 3"), 3)),
        long: Some(ask("wait", json!({}), "")),
        logging: Some((ask("note", json!({"text": "a line of the log"}), "noted"), "a line of the log")),
        resources: Resources {
            uris: vec!["demo://greeting"],
            reading: Some(("demo://greeting", "Good day")),
            templates: vec!["demo://square/{number}"],
            ..Resources::default()
        },
        prompts: Prompts {
            names: vec!["weather"],
            reading: Some(ask("weather", json!({"city": "Paris"}), "the weather in Paris")),
            completion: Some((Reference::Prompt { name: "weather".into() }, ["city", "Par"], vec!["Paris", "Parma"])),
        },
        questions: Questions {
            sampling: Some(ask("sample", json!({}), ANSWER)),
            elicitation: Some(ask("ask", json!({}), NAME)),
            roots: Some(ask("roots", json!({}), ROOT)),
        },
        asks_in_sessions_only: true,
        ..Facts::new(name, ProtocolVersion::V2026_07_28, tools, failure)
    }
}
