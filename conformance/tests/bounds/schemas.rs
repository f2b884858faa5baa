//! The rows about proto-mcp alone: conversations, and the messages of tools.

/// Bounds on conversations and on the messages of tools.
pub(crate) const SCHEMAS: &[(&str, &str, &str)] = &[
    ("**Conversations and schemas of proto-mcp**", "", ""),
    (
        "conversations over WebSocket",
        "{crates/websocket/src/protocol.rs MAX_CONVERSATIONS count}; one owner may have 4 times what is free",
        "`--max-sessions`, `--trusted-proxy`",
    ),
    (
        "bytes of a conversation over WebSocket that are ready to be written, pongs included",
        "{crates/websocket/src/messages.rs MAX_UNWRITTEN bytes}, which count as bytes that wait until clients read them, in a server; the newest pong takes the place of those without room",
        "",
    ),
    (
        "time in which its peer sends a message, a pong, or {crates/websocket/src/messages.rs PIECE bytes} of a message",
        "{crates/websocket/src/options.rs ping_interval*3 time}",
        "",
    ),
    (
        "requests in flight of a connection of proto-mcp",
        "{crates/bufmcp/src/session/config.rs max_in_flight count}, and {crates/session/src/info.rs CONTROL_ROOM count} more that are not calls",
        "",
    ),
    (
        "calls that wait for a server of proto-mcp, and other requests",
        "{crates/bufmcp/src/client/config.rs max_waiting count} each; owners take turns, and the newest one of the owner with most gives way",
        "",
    ),
    ("words that a client of proto-mcp searches tools for", "{crates/bufmcp/src/selection.rs MAX_QUERY bytes}", ""),
    (
        "clients that listen to changes over gRPC",
        "{crates/bufmcp/src/serve/endpoint.rs MAX_LISTENERS count}, each with the resources of a session; one owner may have 4 times what is free",
        "`--trusted-proxy`",
    ),
    (
        "progress and log messages of calls that wait in a conversation of proto-mcp, for its task and for its client, or in a call over gRPC",
        "{crates/bufmcp/src/session/reports.rs MAX_LOGS count} log messages and {crates/bufmcp/src/session/reports.rs MAX_BYTES bytes} for each, which count as bytes that wait until clients read them; with {crates/bufmcp/src/session/reports.rs MAX_EACH_PROGRESS count} the newest progress of a call replaces the last one, and other reports without room are dropped and counted",
        "",
    ),
    (
        "definitions of tools that are kept as messages of proto-mcp",
        "{crates/bufmcp/src/descriptors/cache.rs MAX_DEFINITIONS count} of each server; those that are loaded take about {crates/bufmcp/src/descriptors/loaded.rs MAX_LOADED bytes} together",
        "",
    ),
    (
        "time for loading a schema of proto-mcp, or for evaluating its rules",
        "{crates/bufmcp/src/descriptors/budget.rs TIME time}; a rule that does not end keeps one of {crates/bufmcp/src/descriptors/budget.rs THREADS count} threads, of which one tool gets a quarter, and so does one of several servers",
        "",
    ),
    (
        "threads that convert values above {crates/bufmcp/src/serve/large_values.rs SMALL bytes} in proto-mcp",
        "one for each processor, at least two; half of them for one owner",
        "",
    ),
];
