//! The requests that the server has not answered.

use protomcp_server::ServerRequest;
use protomcp_session::Cursors;
use protomcp_types::{ListPrompts, ListResourceTemplates, ListResources, ListTools, Method, RawJson};
use tokio_util::sync::CancellationToken;

/// A request that the server has not answered.
#[derive(Debug)]
pub(crate) enum Pending {
    /// A request of this machine whose answer does not matter.
    Own,
    /// A page of a list.
    List(Listing),
    /// A call of a tool.
    Call {
        /// The factor of its progress: the envelope has integers only.
        scale: i64,
        /// Cancels it.
        stop: CancellationToken,
    },
    /// A read of a resource.
    Read,
    /// A prompt with its arguments.
    Prompt,
    /// The values of an argument.
    Complete,
}

/// A list that the bridge waits for.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) list: List,
    pub(crate) reply: Reply,
    /// The entries of the pages so far.
    pub(crate) items: Vec<RawJson>,
    pub(crate) cursors: Cursors,
}

impl Listing {
    pub(crate) fn new(list: List, reply: Reply) -> Self {
        Self { list, reply, items: Vec::new(), cursors: Cursors::default() }
    }
}

/// The lists of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Tools,
    Resources,
    Templates,
    Prompts,
}

/// The reason for which a list is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    /// It answers the request with this id.
    To(String),
    /// It belongs to the answer to the reload with this id.
    Reload(String),
    /// It has changed.
    Changed,
}

impl List {
    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Tools => ListTools::NAME,
            Self::Resources => ListResources::NAME,
            Self::Templates => ListResourceTemplates::NAME,
            Self::Prompts => ListPrompts::NAME,
        }
    }

    /// The request for the page at this cursor, or for the first one.
    pub(crate) fn page(self, cursor: Option<String>) -> ServerRequest {
        match self {
            Self::Tools => ServerRequest::ListTools(ListTools { cursor, meta: None }),
            Self::Resources => ServerRequest::ListResources(ListResources { cursor, meta: None }),
            Self::Templates => ServerRequest::ListResourceTemplates(ListResourceTemplates { cursor, meta: None }),
            Self::Prompts => ServerRequest::ListPrompts(ListPrompts { cursor, meta: None }),
        }
    }
}
