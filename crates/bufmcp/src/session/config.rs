//! The settings of the server's end of a conversation.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::limits::FrameLimits;
use crate::reference::Numbering;
use crate::session::token_verifier::TokenVerifier;
use crate::tokens::Tokens;
use crate::version::Versions;

/// The settings of a [`BinarySession`](crate::BinarySession).
#[derive(Clone)]
pub struct SessionConfig {
    /// The versions of the server.
    pub versions: Versions,
    /// `InitializeResponse.metadata`: `name` and `version` of the server.
    pub metadata: BTreeMap<String, String>,
    /// The features of the server.
    pub features: Features,
    /// The rule for requests before `Initialize`.
    pub initialization: Initialization,
    /// The field numbers that clients use.
    pub numbering: Numbering,
    /// The accepted tokens; `None` here and in `verifier`: a token is not required, and not looked at.
    pub tokens: Option<Arc<Tokens>>,
    /// Checks other tokens, on streams. Over gRPC and WebSocket this is up to the HTTP server; a request there that is left
    /// to a verifier is refused.
    pub verifier: Option<Arc<dyn TokenVerifier>>,
    /// Bounds and times.
    pub limits: SessionLimits,
    /// Bounds on frames. A request may have 1,024 entries, unlike the responses that [`FrameLimits::default`] is for.
    pub frames: FrameLimits,
}

impl SessionConfig {
    /// A server with this name and version, with tools.
    #[must_use]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let metadata = [("name".to_owned(), name.into()), ("version".to_owned(), version.into())].into();
        Self {
            versions: Versions::default(),
            metadata,
            features: Features::default(),
            initialization: Initialization::Required,
            numbering: Numbering::Standard,
            tokens: None,
            verifier: None,
            limits: SessionLimits::default(),
            frames: FrameLimits { max_entries: MAX_REQUEST_ENTRIES, ..FrameLimits::default() },
        }
    }
}

impl SessionConfig {
    /// True if each request needs a token, at the beginning of the conversation or with it.
    pub(crate) fn requires_token(&self) -> bool {
        self.tokens.is_some() || self.verifier.is_some()
    }
}

/// The most entries of one request: of its metadata, and of its references. An entry costs far more time and memory than
/// its bytes do.
const MAX_REQUEST_ENTRIES: usize = 1024;

impl fmt::Debug for SessionConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionConfig")
            .field("versions", &self.versions)
            .field("metadata", &self.metadata)
            .field("features", &self.features)
            .field("requires_token", &self.requires_token())
            .finish_non_exhaustive()
    }
}

/// The features of a server. A client sees those that it supports as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Features {
    /// Tools may have references to a schema registry.
    pub bsr_refs: bool,
    /// There are tools, and this is what the server says of changes.
    pub tools: Option<Changes>,
    /// There are resources, and this is what the server says of changes.
    pub resources: Option<Changes>,
    /// There are prompts, and this is what the server says of changes. Clients see them that have declared the extension.
    pub prompts: Option<Changes>,
    /// The server completes arguments of prompts and of templates.
    pub completion: bool,
    /// The server tells of changes of a resource. Clients may subscribe that have declared the extension.
    pub subscriptions: bool,
    /// The server reports on calls that run.
    pub streaming: Streaming,
}

/// Reports on calls that run, for clients that have set `supports_streaming`. Such clients may also cancel requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Streaming {
    /// There are none, and requests are not cancelled.
    #[default]
    Unsupported,
    /// Progress; tools do not log.
    Progress,
    /// Progress and log messages.
    ProgressAndLogs,
}

impl Streaming {
    /// True if tools log.
    pub(crate) fn has_logs(self) -> bool {
        self == Self::ProgressAndLogs
    }
}

/// Changes of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Changes {
    /// Clients are not told.
    Silent,
    /// Clients that have declared `notifications` are told.
    Announced,
}

/// The rule for requests before `Initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Initialization {
    /// They are refused with −32014.
    #[default]
    Required,
    /// They are answered, for clients that never initialize. Where a call stands for itself, as over gRPC, this is the
    /// only rule that works.
    Optional,
}

/// The bounds of a conversation, and its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// Requests without an answer. At this many a tool call is refused with −32015; other requests have room for
    /// [`Limits::CONTROL_ROOM`](protomcp_server::Limits::CONTROL_ROOM) more, and then the server stops reading.
    pub max_in_flight: usize,
    /// The time of a tool call that asks for none.
    pub call_timeout: Duration,
    /// The longest time that a call may ask for with `timeout_ms`.
    pub max_call_timeout: Duration,
    /// The time of any other request.
    pub request_timeout: Duration,
    /// The time for which calls may continue after the client has closed its end.
    pub drain_timeout: Duration,
    /// Frames in a row that are not messages. One more ends the conversation: the peer does not speak the protocol.
    pub max_garbage: u32,
}

impl SessionLimits {
    /// Longer times are cut: they have to be added to a moment. Ten years.
    pub(crate) const LONGEST: Duration = Duration::from_secs(10 * 366 * 24 * 3600);
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            max_in_flight: 1024,
            call_timeout: Duration::from_secs(30),
            max_call_timeout: Duration::from_secs(600),
            request_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(5),
            max_garbage: 2,
        }
    }
}
