//! The elements of a server's lists, as far as requests depend on them, and the requests of clients that outlast a session.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use protomcp_types::{Level, RawJson, TaskSupport, UriTemplate};

use crate::holders::Holders;

/// The facts about a session that another one may take over.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    pub(crate) known: Arc<Mutex<Known>>,
    /// The sessions of clients that watch resources.
    pub(crate) holders: Arc<Mutex<Holders>>,
    /// The level of the log messages that clients want.
    pub(crate) level: Arc<Mutex<Option<Level>>>,
}

use crate::list::ListKind;

/// The elements that a server has listed last, under its own names.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The tools whose calls can be tasks. `None`: the tools were not listed yet.
    pub(crate) tasks: Option<HashMap<String, TaskSupport>>,
    /// The definitions of tools; only for clients without a session, because those of others differ.
    pub(crate) tools: HashMap<String, RawJson>,
    pub(crate) uris: HashSet<String>,
    pub(crate) templates: Vec<UriTemplate>,
    /// The lists that had no answer, and are asked for in the background.
    pub(crate) owed: HashSet<ListKind>,
}

impl Known {
    /// True if the server has listed the resource, or a template of it.
    pub(crate) fn has(&self, uri: &str) -> bool {
        self.uris.contains(uri)
            || self.templates.iter().any(|template| template.as_str() == uri || template.matches(uri))
    }
}
