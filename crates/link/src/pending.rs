//! Requests that are owed an outcome.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use crate::id::CallId;

/// One request in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pending {
    /// The kind of request, for logs and for answers that carry no id.
    pub(crate) name: &'static str,
    deadline: Instant,
    /// How long it was given.
    pub(crate) patience: Duration,
}

/// The table of requests in flight, with their deadlines in order.
#[derive(Debug, Default)]
pub(crate) struct PendingCalls {
    calls: HashMap<CallId, Pending>,
    deadlines: BTreeSet<(Instant, CallId)>,
}

impl PendingCalls {
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    pub(crate) fn contains(&self, call: CallId) -> bool {
        self.calls.contains_key(&call)
    }

    /// Starts the clock of a request.
    pub(crate) fn insert(&mut self, call: CallId, name: &'static str, now: Instant, patience: Duration) {
        let deadline = now + patience;
        self.calls.insert(call, Pending { name, deadline, patience });
        self.deadlines.insert((deadline, call));
    }

    /// Ends a request: its outcome is known, or nobody waits any more.
    pub(crate) fn remove(&mut self, call: CallId) -> Option<Pending> {
        let pending = self.calls.remove(&call)?;
        self.deadlines.remove(&(pending.deadline, call));
        Some(pending)
    }

    /// The oldest request of a kind, for the two answers whose senders leave the id empty.
    pub(crate) fn oldest(&self, is_kind: impl Fn(&'static str) -> bool) -> Option<CallId> {
        self.calls.iter().filter(|(_, pending)| is_kind(pending.name)).map(|(call, _)| *call).min()
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Takes one request whose time is over.
    pub(crate) fn pop_expired(&mut self, now: Instant) -> Option<(CallId, Pending)> {
        let &(deadline, call) = self.deadlines.first()?;
        if deadline > now {
            return None;
        }
        self.remove(call).map(|pending| (call, pending))
    }

    /// Takes every request, oldest first.
    pub(crate) fn drain(&mut self) -> Vec<CallId> {
        self.deadlines.clear();
        let mut calls: Vec<_> = self.calls.drain().map(|(call, _)| call).collect();
        calls.sort_unstable();
        calls
    }
}
