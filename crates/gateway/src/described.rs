//! A server as it has described itself: once in each era of MCP that it was spoken to in.

use std::sync::Arc;

use protomcp_client::ServerView;

use crate::era::Era;
use crate::upstream::Upstream;

/// A server as it has described itself.
#[derive(Debug, Clone)]
pub(crate) struct Described {
    name: Arc<str>,
    /// Its next version may have any capability.
    changes: bool,
    /// It may have the era that no session was opened in yet.
    may_have_both: bool,
    stateful: Option<Arc<ServerView>>,
    stateless: Option<Arc<ServerView>>,
}

impl Described {
    /// A server that no session was opened with.
    pub(crate) fn new(upstream: &Upstream) -> Self {
        let eras = upstream.eras();
        Self {
            name: upstream.shared_name(),
            changes: !upstream.watches().is_empty(),
            may_have_both: Era::Stateful.first(eras) != Era::Stateless.first(eras),
            stateful: None,
            stateless: None,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Takes the description from a session for which the era `wanted` was tried first. True if that is news: a server
    /// keeps its first description in each era.
    pub(crate) fn learn(&mut self, wanted: Era, view: &Arc<ServerView>) -> bool {
        let found = Era::of_server(view);
        let lacks_wanted = found != wanted && self.has_one_era();
        let known = match found {
            Era::Stateful => &mut self.stateful,
            Era::Stateless => &mut self.stateless,
        };
        let is_first = known.is_none();
        if is_first {
            *known = Some(Arc::clone(view));
        }
        is_first || lacks_wanted
    }

    /// The server is spoken to in one era alone. True if that is news.
    pub(crate) fn has_one_era(&mut self) -> bool {
        std::mem::replace(&mut self.may_have_both, false)
    }

    /// The description for clients of an era, which is the description of the other era if there is only one.
    pub(crate) fn view(&self, era: Era) -> Option<&ServerView> {
        let (own, other) = match era {
            Era::Stateful => (&self.stateful, &self.stateless),
            Era::Stateless => (&self.stateless, &self.stateful),
        };
        own.as_deref().or(other.as_deref())
    }

    /// True if the server may have any capability for clients of an era.
    pub(crate) fn may_have_any(&self, era: Era) -> bool {
        self.changes || self.view(era).is_none_or(|view| view.capabilities.is_none())
    }

    /// True if its description for clients of an era is the same as for the other one, and it may have another in this
    /// one.
    pub(crate) fn may_differ(&self, era: Era) -> bool {
        self.may_have_both && self.view(era).is_some_and(|view| Era::of_server(view) != era)
    }

    /// The same server with files that are watched.
    #[cfg(test)]
    pub(crate) fn that_changes(self) -> Self {
        Self { changes: true, ..self }
    }
}
