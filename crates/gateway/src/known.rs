//! The lists of a server, as far as requests depend on them, and the requests of clients that outlast a session.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use protomcp_types::Level;

use crate::holders::Holders;
use crate::interner::Interned;
use crate::list::{ListKind, ServerList};
use crate::web_pages::WebPages;

/// The time for which a list that took long is used again, unless the server announces a change.
const FRESH: Duration = Duration::from_secs(60);

/// The facts about a session that another one may take over.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    pub(crate) known: Arc<Mutex<Known>>,
    /// The sessions of clients that watch resources.
    pub(crate) holders: Arc<Mutex<Holders>>,
    /// The level of the log messages that clients want.
    pub(crate) level: Arc<Mutex<Option<Level>>>,
    /// The requests that use the session, or the one whose place it has taken.
    pub(crate) users: Arc<AtomicUsize>,
    /// A request has used it.
    pub(crate) was_used: Arc<AtomicBool>,
    /// The web pages that users of clients were sent to.
    pub(crate) pages: Arc<WebPages>,
}

/// The lists that a server has answered with last, as far as there is room for them.
#[derive(Debug, Default)]
pub(crate) struct Known {
    lists: HashMap<ListKind, Arc<Interned<ServerList>>>,
    /// The ends of the times for which lists that took long are used again.
    fresh: HashMap<ListKind, Instant>,
    /// The number of changes of each list.
    changes: HashMap<ListKind, u64>,
    /// The lists that had no answer, and are asked for in the background.
    pub(crate) owed: HashSet<ListKind>,
}

impl Known {
    /// The server has answered.
    pub(crate) fn learn(&mut self, kind: ListKind, list: &Arc<Interned<ServerList>>) {
        self.fresh.remove(&kind);
        if list.may_be_kept() {
            drop(self.lists.insert(kind, Arc::clone(list)));
        } else {
            drop(self.lists.remove(&kind));
        }
    }

    /// The list has taken long, and is used again for a while.
    pub(crate) fn keep_fresh(&mut self, kind: ListKind, now: Instant) {
        self.fresh.insert(kind, now + FRESH);
    }

    /// Lists have changed at the server.
    pub(crate) fn changed(&mut self, kinds: &[ListKind]) {
        self.fresh.retain(|kind, _| !kinds.contains(kind));
        for kind in kinds {
            *self.changes.entry(*kind).or_default() += 1;
        }
    }

    /// The number of changes of a list.
    pub(crate) fn changes(&self, kind: ListKind) -> u64 {
        self.changes.get(&kind).copied().unwrap_or_default()
    }

    /// The list, if it took long and is used again.
    pub(crate) fn fresh(&self, kind: ListKind, now: Instant) -> Option<Arc<Interned<ServerList>>> {
        self.fresh.get(&kind).filter(|until| **until > now)?;
        self.lists.get(&kind).cloned()
    }

    /// The list as the server has answered last.
    pub(crate) fn list(&self, kind: ListKind) -> Option<&ServerList> {
        self.lists.get(&kind).map(|list| &***list)
    }

    /// True if the server has listed the resource, or a template of it.
    pub(crate) fn has(&self, uri: &str) -> bool {
        self.list(ListKind::Resources).is_some_and(|list| list.element(uri).is_some())
            || self.list(ListKind::Templates).is_some_and(|list| list.element(uri).is_some() || list.matches(uri))
    }
}
