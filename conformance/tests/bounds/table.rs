//! The rows of the two tables in SECURITY.md.

/// The bounded quantities with their bounds, and the option of `pmcp` that changes each. Rows that share a limit
/// between callers name the one that gives way when it is reached.
pub(crate) const BOUNDS: &[(&str, &str, &str)] = &[
    ("**Messages of clients**", "", ""),
    ("a line on stdio", "{crates/transport/src/lines.rs MAX_LINE bytes}", "`--max-line`"),
    (
        "the body of an HTTP request",
        "{crates/http/src/config/limits.rs max_body bytes}, sent within {crates/http/src/config/limits.rs body_timeout time}",
        "`--max-body`",
    ),
    (
        "the head of an HTTP request",
        "{crates/listener/src/connection.rs MAX_HEADERS bytes}; over HTTP/1.1 100 headers",
        "",
    ),
    ("nesting of a JSON message", "{crates/types/src/parse.rs MAX_DEPTH count}", ""),
    ("messages of a batch", "{crates/types/src/parse.rs MAX_BATCH count}", ""),
    ("members of an object that is read, such as `params`", "{crates/types/src/json_object.rs MAX_MEMBERS count}", ""),
    ("unanswered requests of a session", "{crates/session/src/info.rs max_pending count}", "`--max-pending`"),
    (
        "bytes of unanswered requests, arriving bodies included, and {crates/session/src/info.rs REQUEST_OVERHEAD bytes} for each",
        "{crates/session/src/info.rs max_inbound_bytes bytes} of all; one caller may take {crates/session/src/budget.rs SHARE count} times what stays free",
        "",
    ),
    (
        "requests of a connection that listen for changes",
        "{crates/session/src/server/listeners.rs MAX_LISTENERS count}",
        "",
    ),
    ("resources that a session subscribes to", "{crates/session/src/server.rs MAX_SUBSCRIPTIONS count}", ""),
    (
        "a URI template that stands for resources",
        "{crates/types/src/uri_template/parse.rs MAX_LENGTH bytes}, {crates/types/src/uri_template/parse.rs MAX_VARIABLES count} variables",
        "",
    ),
    ("a URI that is matched against templates", "{crates/types/src/uri_template.rs MAX_URI bytes}", ""),
    (
        "values in the arguments of a call that are checked against its schema",
        "{crates/bridge/src/catalog/schema.rs MAX_VALUES count}; a call with more does not fit",
        "`--validate-args`",
    ),
    ("**Messages to clients**", "", ""),
    (
        "bytes that wait until clients read them, and {crates/session/src/info.rs MESSAGE_OVERHEAD bytes} for each message",
        "{crates/session/src/info.rs max_outbound_bytes bytes} of all, shared as those of requests; a short error takes the place of an answer without room",
        "",
    ),
    (
        "progress, log messages and notices that wait to be sent",
        "{crates/session/src/info.rs max_notices count} or {crates/session/src/info.rs max_notice_bytes bytes} of a session; the client is told how many were dropped",
        "",
    ),
    (
        "messages that wait in one stream",
        "{crates/http/src/streams/queue.rs MAX_QUEUED count}, or {crates/http/src/streams/queue.rs MAX_QUEUED_BYTES bytes} of them that are neither answers nor requests; and answers",
        "",
    ),
    ("answers that wait for a client to come back", "{crates/http/src/streams.rs MAX_DETACHED count} of a session", ""),
    (
        "events kept for clients that come back",
        "{crates/http/src/store.rs EVENTS count} of a session, {crates/http/src/store.rs BYTES bytes} of all; the caller with most gives way",
        "",
    ),
    (
        "requests to a client that it has not answered",
        "{crates/session/src/info.rs max_questions count} of a session, 256 of a caller, {crates/bridge/src/from_tool/questions.rs OPEN_QUESTIONS count} in all",
        "",
    ),
    (
        "time for one such answer",
        "{crates/session/src/info.rs ask_timeout time}; {crates/http/src/config/streams.rs reconnect_window time} while the client's stream is broken; {crates/bridge/src/dispatcher/open_questions.rs GRACE time} while calls of other callers wait for the place of the call that asks",
        "",
    ),
    (
        "time for which a client may be silent after a ping",
        "{crates/session/src/info.rs ping_timeout time}, if pings are sent",
        "`--ping-interval`",
    ),
    ("**Sessions and connections**", "", ""),
    (
        "HTTP sessions",
        "{crates/http/src/config/limits.rs max_sessions count} of all; the caller with most gives way",
        "`--max-sessions`, `--trusted-proxy`",
    ),
    (
        "time that a session may be unused",
        "{crates/http/src/config/limits.rs session_idle time}, never zero",
        "`--session-idle`",
    ),
    ("responses of one session open at once", "{crates/http/src/config/limits.rs max_streams count}", ""),
    (
        "HTTP connections",
        "{crates/listener/src/config.rs max_connections count}, or {crates/listener/src/descriptors.rs RESERVED count} fewer than the limit of open files, which `pmcp` raises for itself as far as it may; the address with most gives way",
        "",
    ),
    ("HTTP connections to `--metrics-addr`", "64", ""),
    (
        "time until a connection has sent its first request head",
        "{crates/listener/src/config.rs first_request_timeout time}",
        "",
    ),
    ("time between two requests on a connection", "{crates/listener/src/config.rs idle_timeout time}", ""),
    (
        "TLS handshakes at once",
        "{crates/listener/src/config.rs max_handshakes count}, each for {crates/listener/src/config.rs handshake_timeout time}, from the first message of the client on, which may have {crates/listener/src/client_hello.rs MAX_HELLO bytes}; the address with most gives way",
        "",
    ),
    ("log lines about refused requests and connections", "one a second of each kind, with counts", ""),
    ("**Calls**", "", ""),
    (
        "calls that wait for the tool process",
        "{crates/bridge/src/builder.rs MAX_WAITING count} of all; the newest of the caller with most gives way",
        "",
    ),
    ("time that a call waits for its turn", "{crates/bridge/src/builder.rs QUEUE_TIMEOUT time}", "`--queue-timeout`"),
    ("time for one call, with middleware around it and the task it becomes", "5 min", "`--call-timeout`"),
    (
        "time that a handler of a call that was given up delays the next one, one handler at a time",
        "as for a call",
        "`--call-timeout`",
    ),
    (
        "calls that were given up and whose handlers are remembered",
        "{crates/bridge/src/dispatcher/attribution.rs MAX_GIVEN_UP count}; with more, log messages that name no call stay in the log",
        "",
    ),
    ("time for reading a resource, getting a prompt, completing an argument", "as for a call", "`--call-timeout`"),
    (
        "calls at once that a process may announce",
        "{crates/bridge/src/process/sdk.rs CALLS_MAX count}",
        "`--max-concurrent-calls`",
    ),
    (
        "stateless calls that wait for their client to come back",
        "{crates/session/src/info.rs max_parked count} of all, each for {crates/session/src/info.rs ask_timeout time}; the caller with most gives way",
        "",
    ),
    (
        "tasks of sessions, ended ones included",
        "{crates/session/src/task_limits.rs max_per_session count} of each, {crates/session/src/task_limits.rs max count} of all; the caller with most gives way",
        "",
    ),
    (
        "stateless calls that go on as tasks, ended ones included",
        "{crates/session/src/task_limits.rs max count} of all; the caller with most gives way",
        "",
    ),
    (
        "results of tasks",
        "{crates/session/src/task_limits.rs max_bytes bytes} of sessions and as many of stateless calls; the oldest of the caller with most are forgotten",
        "",
    ),
    (
        "time for which a task is kept",
        "1 h, or as the client or the tool asks, up to {crates/session/src/task_limits.rs max_ttl time}",
        "",
    ),
    ("the status message of a task", "{crates/session/src/task_state.rs MAX_MESSAGE bytes}", ""),
    ("**The tool process**", "", ""),
    ("an envelope to or from it", "{crates/codec/src/limits.rs max_frame bytes}", "`--max-frame`"),
    ("entries of one envelope: tools, resources, prompts, names", "{crates/codec/src/limits.rs max_entries count}", ""),
    ("a result after reassembly and decompression", "{crates/codec/src/limits.rs max_payload bytes}", "`--max-result`"),
    (
        "bytes that are skipped to get past a payload that is too large",
        "{crates/codec/src/limits.rs max_skip bytes}",
        "",
    ),
    ("results that are incomplete", "{crates/link/src/config.rs max_assembling bytes} together", ""),
    ("bytes that wait to be written to it", "{crates/link/src/config.rs max_unwritten bytes}", ""),
    (
        "its messages that are not handled yet",
        "{crates/link/src/driver/event_sender.rs EVENTS count}, or {crates/link/src/driver/event_sender.rs EVENT_BYTES bytes}",
        "",
    ),
    (
        "its middleware",
        "{crates/link/src/config.rs max_middleware count}, names of {crates/link/src/handshake.rs MIDDLEWARE_NAME_MAX bytes}",
        "",
    ),
    (
        "names of tools that it shows or hides",
        "{crates/toollist/src/selection.rs MAX_LISTED_NAMES count}, each up to {crates/bridge/src/from_tool/list_control.rs NAME_MAX bytes}",
        "",
    ),
    (
        "URL elicitations that it may report as done",
        "{crates/bridge/src/from_tool/url_elicitations.rs MAX_ELICITATIONS count}",
        "",
    ),
    (
        "its tasks that take no place among its calls",
        "{crates/bridge/src/dispatcher/scheduler.rs MAX_DETACHED count}",
        "",
    ),
    (
        "output that is not logged yet",
        "{crates/supervisor/src/backlog.rs MAX_BACKLOG bytes}; lines are cut at {crates/supervisor/src/lines.rs MAX_LINE bytes}",
        "",
    ),
    (
        "processes of earlier versions that finish their calls; the next reload waits while there are so many",
        "{crates/bridge/src/builder.rs MAX_RETIRING count}",
        "`--max-retiring`",
    ),
    (
        "reloads",
        "{crates/watch/src/pace.rs BURST count} at once, then one each {crates/watch/src/pace.rs REFILL time}",
        "",
    ),
    ("paths of one batch of file changes", "{crates/watch/src/debounce.rs MAX_PATHS count}", ""),
    (
        "folders and files that are watched",
        "{crates/watch/src/tree.rs MAX_DIRECTORIES count} and {crates/watch/src/tree.rs MAX_FILES count}",
        "",
    ),
    ("tools with metrics of their own", "{crates/bridge/src/metrics.rs MAX_TOOLS count}, the others together", ""),
    ("**Authorization**", "", ""),
    ("a token", "{crates/auth/src/bearer.rs MAX_TOKEN bytes}", ""),
    (
        "a stream that a token has opened",
        "until the token ends, and {crates/auth/src/claims.rs LEEWAY time} for clocks that differ; calls until their answer if the client cannot come back for it",
        "",
    ),
    ("good tokens that are remembered", "10,000, or 16 MiB of what their issuer says of them", ""),
    (
        "refused tokens that are remembered, of those that the issuer is asked about",
        "10,000, each for {crates/auth/src/introspection.rs REFUSED time}",
        "",
    ),
    (
        "a request to an authorization server",
        "{crates/auth/src/http_client.rs TIMEOUT time}, {crates/auth/src/http_client.rs MAX_BODY bytes}, no redirects",
        "",
    ),
    (
        "attempts to fetch its keys",
        "one at a time, with {crates/auth/src/freshness.rs PAUSE time} between two; each {crates/auth/src/key_source.rs MAX_ATTEMPT time}",
        "",
    ),
    ("time that a request waits for such an attempt", "{crates/auth/src/key_source.rs MAX_WAIT time}, then 503", ""),
    (
        "keys of an issuer",
        "{crates/auth/src/key_set.rs MAX_KEYS count}, of which {crates/auth/src/key_set.rs MAX_TRIES count} are tried for a token that does not name its key",
        "",
    ),
    (
        "introspection requests at once",
        "{crates/auth/src/introspection.rs MAX_QUESTIONS count}; one address alone gets 25",
        "",
    ),
    (
        "requests that wait for introspection",
        "{crates/auth/src/introspection.rs MAX_WAITING count}, of one address 204, each for {crates/auth/src/introspection.rs MAX_WAIT time}, then 503",
        "",
    ),
    ("**Authorization of a client**", "", ""),
    ("a document of an authorization server", "{crates/auth/src/exchange.rs MAX_DOCUMENT bytes}", ""),
    ("a URL or an id in it", "{crates/auth/src/oauth/metadata.rs MAX_TEXT bytes}", ""),
    (
        "redirects of a metadata document",
        "{crates/auth/src/oauth/discovery.rs MAX_REDIRECTS count}, within its origin; none of any other request",
        "",
    ),
    (
        "authorizations that an MCP server can cause",
        "{crates/auth/src/driver/round_limit.rs BURST count} at once, then one each {crates/auth/src/driver/round_limit.rs INTERVAL time}",
        "",
    ),
    ("challenges of one request", "{crates/auth/src/driver/session.rs MAX_ATTEMPTS count}", ""),
    (
        "time for an authorization",
        "{crates/auth/src/driver/flight.rs MAX_FLOW time}, of which the user has {crates/auth/src/driver/loopback.rs TIMEOUT time}",
        "",
    ),
    (
        "connections to the redirect listener",
        "{crates/auth/src/driver/redirect_listener.rs MAX_CONNECTIONS count} at a time, each {crates/auth/src/driver/redirect_listener.rs REQUEST_TIMEOUT time}",
        "",
    ),
    ("credentials in memory", "{crates/auth/src/driver/token_store.rs MAX_CREDENTIALS count}", ""),
    ("a file of credentials", "{crates/auth/src/driver/file_store.rs MAX_FILE bytes}", ""),
    ("time that a refresh waits for another program", "{crates/auth/src/driver/file_store.rs MAX_WAIT time}", ""),
];

/// Memory that peers can fill: of clients, then of the tool process and the versions of it that live side by side.
pub(crate) const MEMORY: &[(&str, &str)] = &[
    (
        "heads of HTTP requests that are arriving, on all connections",
        "{crates/listener/src/connection.rs MAX_HEADERS*20000 bytes}",
    ),
    ("requests that are not answered yet", "{crates/session/src/info.rs max_inbound_bytes bytes}"),
    ("messages that wait until clients read them", "{crates/session/src/info.rs max_outbound_bytes bytes}"),
    ("events kept for clients that come back", "{crates/http/src/store.rs BYTES bytes}"),
    ("results of tasks, of sessions and of stateless calls", "{crates/session/src/task_limits.rs max_bytes*2 bytes}"),
    (
        "one result of the process that serves while it is read and inflated",
        "{crates/codec/src/limits.rs max_payload*2 bytes}",
    ),
    (
        "one envelope of it while it is decoded, beside its bytes",
        "{crates/codec/src/limits.rs max_frame bytes}, and 1 KiB for each entry",
    ),
    ("its results that are incomplete", "{crates/link/src/config.rs max_assembling bytes}"),
    ("bytes that wait to be written to it", "{crates/link/src/config.rs max_unwritten bytes}"),
    ("its messages that are not handled yet", "{crates/link/src/driver/event_sender.rs EVENT_BYTES bytes}"),
];
