//! The rows about servers that `pmcp` is a client of: sessions with them, and the gateway.

/// Bounds on what servers send, and on what clients share of them.
pub(crate) const SERVERS: &[(&str, &str, &str)] = &[
    ("**A client and its servers**", "", ""),
    ("requests of a session without an answer", "{crates/session/src/client/config.rs max_pending count}", ""),
    (
        "bytes that wait until a server reads them",
        "{crates/session/src/client/config.rs max_unwritten bytes} of a session; then its requests fail immediately",
        "",
    ),
    (
        "replies that wait until a server reads them; then it is not read either",
        "{crates/client/src/driver/replies.rs MAX_REPLIES count}, or {crates/client/src/driver/replies.rs MAX_AMOUNT bytes}",
        "",
    ),
    (
        "questions of a server that are being answered",
        "{crates/session/src/client/config.rs max_incoming count} of a session, {crates/session/src/client/config.rs max_incoming_bytes bytes}",
        "",
    ),
    ("rounds of questions in one request", "{crates/session/src/client/config.rs max_rounds count}", ""),
    (
        "time for the opening of a session, also in place of a lost one",
        "{crates/session/src/client/config.rs open_timeout time}",
        "",
    ),
    (
        "time for a request",
        "{crates/session/src/client/config.rs timeout time} without answer and progress, {crates/session/src/client/config.rs total_timeout time} in all, {crates/session/src/client/config.rs task_timeout time} as a task",
        "",
    ),
    (
        "log messages and notices that a handler has not taken",
        "{crates/client/src/notices.rs MAX_NOTICES count}, or {crates/client/src/notices.rs MAX_NOTICE_BYTES bytes}; further ones are dropped and counted",
        "",
    ),
    (
        "answers that are used again",
        "{crates/client/src/cache.rs MAX_ENTRIES count} of a session, {crates/client/src/cache.rs MAX_BYTES bytes}, each for {crates/client/src/cache.rs MAX_TTL time}",
        "",
    ),
    (
        "pages of a list",
        "{crates/session/src/cursors.rs MAX_PAGES count}, with cursors of {crates/session/src/cursors.rs MAX_CURSOR bytes}",
        "",
    ),
    (
        "arguments of a tool that are repeated in header fields",
        "{crates/client/src/mirror.rs MAX_FIELDS count}, with {crates/client/src/mirror.rs MAX_SIZE bytes} of names; a tool with more is left out of the list",
        "",
    ),
    (
        "tools of a session with such arguments",
        "{crates/client/src/tool_fields.rs MAX_TOOLS count}, or {crates/client/src/tool_fields.rs MAX_BYTES bytes}; calls of others have no such header fields",
        "",
    ),
    ("resources that a session watches", "{crates/client/src/driver/watching.rs MAX_WATCHED count}", ""),
    (
        "concurrent HTTP requests",
        "{crates/http-client/src/limits.rs max_concurrent_requests count} of a session, and {crates/http-client/src/conversation.rs UPKEEP_SLOTS count} pings, handshakes and cancellations",
        "",
    ),
    (
        "a message over HTTP",
        "{crates/http-client/src/limits.rs max_message bytes}, sent within {crates/http-client/src/limits.rs message_timeout time}",
        "",
    ),
    (
        "messages that have arrived over HTTP, wholly or in part",
        "{crates/http-client/src/limits.rs max_buffered bytes} of a session",
        "",
    ),
    ("the head of an HTTP response", "{crates/http-client/src/limits.rs max_head bytes}", ""),
    (
        "attempts in a row to resume a stream that bring no event",
        "{crates/http-client/src/limits.rs max_reconnects count}",
        "",
    ),
    (
        "pauses between attempts to resume a stream whose events have no data",
        "as the server asks, at least {crates/http-client/src/reconnect.rs MIN_RETRY time}; at least {crates/http-client/src/reconnect.rs SLOW time} after {crates/http-client/src/reconnect.rs QUICK count} such events in a row",
        "",
    ),
    (
        "a line of a server on standard output",
        "{crates/transport/src/lines.rs MAX_LINE bytes}; the request that a longer one answers fails immediately",
        "",
    ),
    (
        "log lines about text on the standard output of a server, where only messages belong",
        "{crates/client/src/command_transport/stderr.rs MAX_STRAY count} a second, and one a second about messages that cannot be read, with the number of the others",
        "",
    ),
    ("**The gateway**", "", ""),
    (
        "sessions with a server that belong to single clients",
        "{crates/gateway/src/limits.rs max_sessions count}; one owner may have {crates/fair/src/share.rs SHARE count} times what is free; an idle one of an owner with as many gives way, otherwise the call is refused as `OVERLOADED`",
        "",
    ),
    (
        "sessions with a server for single calls",
        "{crates/gateway/src/limits.rs max_sessions count}, shared so as well",
        "",
    ),
    ("time for which a session with a server is idle", "{crates/gateway/src/limits.rs idle_timeout time}", ""),
    (
        "time for a request to a server",
        "{crates/gateway/src/limits.rs timeout time} without answer and progress, {crates/gateway/src/limits.rs total_timeout time} in all",
        "`--call-timeout`",
    ),
    (
        "time for the opening of a session with a server",
        "{cli/src/args/upstream.rs OPEN_TIMEOUT time}; the start waits for others {crates/gateway/src/gateway.rs GRACE time} longer than for the first",
        "`--connect-timeout`",
    ),
    (
        "time for the list of a server",
        "{crates/gateway/src/limits.rs list_timeout time}; then it is left out and asked for in the background",
        "",
    ),
    (
        "a list of a server",
        "{crates/gateway/src/limits.rs MAX_LIST_BYTES bytes}, {crates/session/src/cursors.rs MAX_PAGES count} pages",
        "",
    ),
    (
        "lists that are kept between requests, each once",
        "{crates/gateway/src/limits.rs MAX_KEPT_BYTES bytes} of all sessions; without room they are asked for again",
        "",
    ),
    (
        "references that are written out in a list of tools with `--for`",
        "{crates/check/src/adapt/schemas.rs GROWTH count} times the bytes of the list and {crates/check/src/adapt/schemas.rs MIN_BYTES bytes}; {crates/check/src/adapt/schemas.rs MAX_VALUES count} values of a schema, {crates/check/src/adapt/schemas.rs MAX_DEPTH count} deep; others allow any object",
        "",
    ),
    (
        "web pages that users of a session were sent to",
        "{crates/gateway/src/web_pages.rs MAX_PAGES count}, with ids of {crates/gateway/src/web_pages.rs MAX_ID bytes}; the oldest is forgotten",
        "",
    ),
    ("times that a call sends its user to web pages", "{crates/gateway/src/relay/visiting.rs MAX_ROUNDS count}", ""),
    (
        "requests, and questions, in one session with a server without an answer",
        "{crates/gateway/src/identity.rs MAX_PENDING count}, of which one owner may have {crates/fair/src/share.rs SHARE count} times what is free, and {crates/gateway/src/identity.rs MAX_QUESTIONS count}",
        "",
    ),
    (
        "callers whose ended calls are remembered, so that a late question reaches no other",
        "{crates/gateway/src/running/ended.rs MAX_ENDED count} of a shared session; with more, its questions are refused",
        "",
    ),
    (
        "time after an answer for one user for which late messages reach no other, in a shared session with a server",
        "{crates/gateway/src/running.rs LATE time}",
        "`--upstream-sessions client`",
    ),
    ("longest pause between attempts to reach a server", "{crates/gateway/src/health.rs LONGEST_PAUSE time}", ""),
    (
        "earlier versions of a server that finish their calls",
        "{crates/gateway/src/limits.rs max_retiring count}; then a reload waits",
        "`--max-retiring`",
    ),
];
