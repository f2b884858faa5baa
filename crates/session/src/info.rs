//! The description that a server gives of itself, and its limits.

use std::time::Duration;

use protomcp_types::{CacheHint, Implementation, ServerCapabilities};

use crate::task_limits::TaskLimits;

/// The server's half of the handshake.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServerInfo {
    /// Its name and version.
    pub implementation: Implementation,
    /// Its capabilities. Methods of any other are answered with −32601.
    pub capabilities: ServerCapabilities,
    /// Instructions for the model.
    pub instructions: Option<String>,
    /// The times for which its answers may be cached; only answers of 2026-07-28 carry them.
    pub cache: CacheHints,
}

/// The times for which answers may be cached, and by whom (MCP 2026-07-28, server/utilities/caching). By default none
/// is cached. Clients drop a cached list when they are notified that it has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheHints {
    /// `server/discover`
    pub discover: CacheHint,
    /// `tools/list`, all pages
    pub tools: CacheHint,
    /// `prompts/list`, all pages
    pub prompts: CacheHint,
    /// `resources/list`, all pages
    pub resources: CacheHint,
    /// `resources/templates/list`, all pages
    pub resource_templates: CacheHint,
    /// `resources/read`. Answers to reads that have asked the client are never cached.
    pub reads: CacheHint,
}

impl CacheHints {
    /// The same for all of them.
    #[must_use]
    pub fn all(hint: CacheHint) -> Self {
        Self { discover: hint, tools: hint, prompts: hint, resources: hint, resource_templates: hint, reads: hint }
    }
}

impl ServerInfo {
    /// A server with changing tools and log messages.
    #[must_use]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            implementation: Implementation::new(name, version),
            capabilities: ServerCapabilities::default().with_tools().with_logging(),
            instructions: None,
            cache: CacheHints::default(),
        }
    }

    /// Sets the capabilities.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: ServerCapabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Sets the title, for people.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.implementation.title = Some(title.into());
        self
    }

    /// Sets the times for which answers may be cached.
    #[must_use]
    pub fn with_cache(mut self, cache: CacheHints) -> Self {
        self.cache = cache;
        self
    }

    /// Sets the instructions, for the model.
    #[must_use]
    pub fn with_instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }
}

/// The bounds of a session and of all sessions together, and their timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests that are running or whose answer is kept for the client. One more is answered with −32603 immediately.
    /// Lists, and requests about tasks, have room for [`Limits::CONTROL_ROOM`] more: calls do not keep them out.
    pub max_pending: usize,
    /// Messages that are kept for the client: not written yet, or held back until their batch is complete. At this many
    /// the session stops reading until some are written.
    pub max_unsent: usize,
    /// Progress and log messages of a session, or of one request without a session, that are queued or not written. One
    /// more is dropped, counted, and reported once there is room again.
    pub max_notices: usize,
    /// Bytes of their parameters. At this many, one more is dropped in the same way.
    pub max_notice_bytes: usize,
    /// Bytes of requests that clients have sent and that are not answered yet, of all sessions together, with
    /// [`Limits::REQUEST_OVERHEAD`] for each, and of what sessions keep of them: the introduction of the client and its
    /// subscriptions, with [`Limits::SUBSCRIPTION_OVERHEAD`] for each. Callers share them as [`Budget`](protomcp_fair::Budget)
    /// says; a request that finds no room is refused with −32603.
    pub max_inbound_bytes: usize,
    /// Bytes of messages that wait until clients read them, of all sessions together, with [`Limits::MESSAGE_OVERHEAD`]
    /// for each and shared in the same way. In place of an answer that finds no room the client gets a short error;
    /// progress and log messages that find none are dropped as beyond [`Limits::max_notices`], and questions fail.
    pub max_outbound_bytes: usize,
    /// Questions that a client has not answered. One more fails immediately.
    pub max_questions: usize,
    /// The time for which a client may take to answer a question, which may need a person; see `Context::ask`.
    pub ask_timeout: Duration,
    /// Parked calls of all clients together, each parked for `ask_timeout` at most. For one more the oldest of the
    /// caller with most of them is cancelled; a call of that caller cannot ask.
    pub max_parked: usize,
    /// The bounds of tasks.
    pub tasks: TaskLimits,
    /// The time for which calls may continue after the client has closed its end or the server shuts down; a year at
    /// most.
    pub drain_timeout: Duration,
    /// The time for which a cancelled call may clean up before it is dropped. At the end of a session a call may also
    /// answer within this time after `drain_timeout`, which is a year at most then.
    pub cancel_grace: Duration,
    /// The time without a message of its client after which a session sends a `ping`; `None`: never. Only with a
    /// session, and only while a request of the server can reach the client: over HTTP, while it has opened the GET
    /// stream.
    pub ping_interval: Option<Duration>,
    /// The time after a ping within which the client must send a message, or the session is closed.
    pub ping_timeout: Duration,
    /// The time between a change of a list, or the answer of a call that may have caused it, and the notification of
    /// the client. Changes in between are one notification.
    pub announce_delay: Duration,
}

impl Limits {
    /// The bytes that a request is taken to need in addition to its text while it runs: its context, its task, and the
    /// entries in the tables of its session. Memory of the handler does not count.
    pub const REQUEST_OVERHEAD: usize = 8 * 1024;

    /// The time after which a request that found no room may be sent again, where nothing better is known.
    pub const RETRY_AFTER: Duration = Duration::from_secs(1);

    /// The bytes that a subscription to a resource is taken to need in addition to its URI, and one to a task in
    /// addition to its id.
    pub const SUBSCRIPTION_OVERHEAD: usize = 512;

    /// The requests beyond [`Limits::max_pending`] that a session takes if they need no turn of a tool
    /// ([`ServerRequest::extra_room`](crate::ServerRequest::extra_room)).
    pub const CONTROL_ROOM: usize = 64;

    /// The bytes that a message is taken to need in addition to its text while it waits to be sent.
    pub const MESSAGE_OVERHEAD: usize = 256;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_pending: 1024,
            max_unsent: 4096,
            max_notices: 1024,
            max_notice_bytes: 16 << 20,
            max_inbound_bytes: 512 << 20,
            max_outbound_bytes: 512 << 20,
            max_questions: 64,
            ask_timeout: Duration::from_secs(300),
            max_parked: 1024,
            tasks: TaskLimits::default(),
            drain_timeout: Duration::from_secs(5),
            cancel_grace: Duration::from_secs(1),
            ping_interval: None,
            ping_timeout: Duration::from_secs(30),
            announce_delay: Duration::from_millis(10),
        }
    }
}
