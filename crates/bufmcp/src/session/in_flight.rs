//! Requests without an answer, by id and by deadline.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use protomcp_session::Extensions;

use crate::session::request_kind::RequestKind;

/// The requests without an answer.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    entries: HashMap<u64, Entry>,
    deadlines: BTreeSet<(Instant, u64)>,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) kind: RequestKind,
    pub(super) started: Instant,
    pub(super) deadline: Instant,
    /// The time that it has in all.
    pub(super) timeout: Duration,
    /// The facts about the bearer of its token, or of the token of the conversation.
    pub(super) known: Option<Extensions>,
    /// The last progress that was reported.
    pub(super) reached: Option<f64>,
}

impl InFlight {
    pub(super) fn insert(&mut self, id: u64, entry: Entry) {
        self.deadlines.insert((entry.deadline, id));
        self.entries.insert(id, entry);
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<Entry> {
        let entry = self.entries.remove(&id)?;
        self.deadlines.remove(&(entry.deadline, id));
        Some(entry)
    }

    pub(super) fn get(&self, id: u64) -> Option<&Entry> {
        self.entries.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: u64) -> Option<&mut Entry> {
        self.entries.get_mut(&id)
    }

    pub(super) fn contains(&self, id: u64) -> bool {
        self.entries.contains_key(&id)
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Those whose time is over.
    pub(super) fn late(&self, now: Instant) -> Vec<u64> {
        self.deadlines.iter().take_while(|(deadline, _)| *deadline <= now).map(|(_, id)| *id).collect()
    }

    /// All of them, in the order of their deadlines.
    pub(super) fn ids(&self) -> Vec<u64> {
        self.deadlines.iter().map(|(_, id)| *id).collect()
    }
}
