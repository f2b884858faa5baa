//! The elements of a server's lists, as far as requests depend on them.

use std::collections::{HashMap, HashSet};

use protomcp_types::{RawJson, TaskSupport, UriTemplate};

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
