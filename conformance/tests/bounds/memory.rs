//! The rows of the second table in SECURITY.md.

/// Memory that peers can fill: of clients, then of the tool process and the versions of it that live side by side.
pub(crate) const MEMORY: &[(&str, &str)] = &[
    (
        "heads of HTTP requests that are arriving, on all connections",
        "{crates/listener/src/http_connection.rs MAX_HEADERS*20000 bytes}",
    ),
    ("requests that are not answered yet", "{crates/session/src/info.rs max_inbound_bytes bytes}"),
    ("messages that wait until clients read them", "{crates/session/src/info.rs max_outbound_bytes bytes}"),
    (
        "schemas of proto-mcp that are loaded, as it is estimated",
        "{crates/bufmcp/src/descriptors/loaded.rs MAX_LOADED bytes}",
    ),
    ("files of skills", "{crates/skills/src/limits.rs MAX_TREE_BYTES bytes}"),
    ("events kept for clients that come back", "{crates/http/src/store/memory.rs BYTES bytes}"),
    ("results of tasks, of sessions and of stateless calls", "{crates/session/src/task_limits.rs max_bytes*2 bytes}"),
    (
        "one result of the process that serves while it is read and inflated",
        "{crates/codec/src/limits.rs max_payload*2 bytes}",
    ),
    (
        "one envelope of it while it is decoded, in addition to its bytes",
        "{crates/codec/src/limits.rs max_frame bytes}, and 1 KiB for each entry",
    ),
    ("its results that are incomplete", "{crates/link/src/config.rs max_assembling bytes}"),
    ("bytes that wait to be written to it", "{crates/link/src/config.rs max_unwritten bytes}"),
    ("its messages that are not handled yet", "{crates/link/src/driver/event_sender.rs EVENT_BYTES bytes}"),
];
