//! Requests that are owed an outcome.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use crate::id::CallId;

/// The properties of a request that its answer needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    /// The kind of request, for answers without an id.
    pub(crate) name: &'static str,
    /// True if the caller asked for progress.
    pub(crate) reports: bool,
    /// True if [`interrupt`](crate::Connection::interrupt) ends it.
    pub(crate) is_interruptible: bool,
    /// It is a call of [`NO_TOOL`](protomcp_envelope::NO_TOOL).
    pub(crate) is_probe: bool,
    pub(crate) timeout: Duration,
}

/// One request in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) request: Request,
    /// `None` if it is beyond the range of the clock.
    deadline: Option<Instant>,
}

/// The requests in flight, with their deadlines in order.
#[derive(Debug, Default)]
pub(crate) struct PendingCalls {
    calls: HashMap<CallId, Pending>,
    deadlines: BTreeSet<(Instant, CallId)>,
}

impl PendingCalls {
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    /// The number without probes, which are sent because the process may never answer.
    pub(crate) fn without_probes(&self) -> usize {
        self.calls.values().filter(|pending| !pending.request.is_probe).count()
    }

    /// The request that the peer names by `id`.
    pub(crate) fn find(&self, id: &str) -> Option<CallId> {
        CallId::from_wire(id).filter(|call| self.calls.contains_key(call))
    }

    /// The same, if it is of this kind.
    pub(crate) fn find_named(&self, id: &str, name: &str) -> Option<CallId> {
        self.find(id).filter(|call| self.calls[call].request.name == name)
    }

    /// True if the request is in flight and its caller asked for progress.
    pub(crate) fn reports(&self, call: CallId) -> bool {
        self.calls.get(&call).is_some_and(|pending| pending.request.reports)
    }

    /// Starts the clock of a request.
    pub(crate) fn insert(&mut self, call: CallId, request: Request, now: Instant) {
        let deadline = now.checked_add(request.timeout);
        self.calls.insert(call, Pending { request, deadline });
        self.deadlines.extend(deadline.map(|deadline| (deadline, call)));
    }

    /// Removes a request that was answered or cancelled.
    pub(crate) fn remove(&mut self, call: CallId) -> Option<Pending> {
        let pending = self.calls.remove(&call)?;
        if let Some(deadline) = pending.deadline {
            self.deadlines.remove(&(deadline, call));
        }
        Some(pending)
    }

    /// The oldest request of a kind, for the two answers that carry no id.
    pub(crate) fn oldest(&self, is_kind: impl Fn(&'static str) -> bool) -> Option<CallId> {
        self.calls.iter().filter(|(_, pending)| is_kind(pending.request.name)).map(|(call, _)| *call).min()
    }

    /// True if there is a request of this kind.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.calls.values().any(|pending| pending.request.name == name)
    }

    /// The requests that can be interrupted, oldest first.
    pub(crate) fn interruptible(&self) -> Vec<CallId> {
        let found = self.calls.iter().filter(|(_, pending)| pending.request.is_interruptible);
        let mut calls: Vec<_> = found.map(|(call, _)| *call).collect();
        calls.sort_unstable();
        calls
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Removes one request whose deadline has passed.
    pub(crate) fn pop_expired(&mut self, now: Instant) -> Option<(CallId, Pending)> {
        let &(deadline, call) = self.deadlines.first()?;
        if deadline > now {
            return None;
        }
        self.remove(call).map(|pending| (call, pending))
    }

    /// Removes all requests, oldest first.
    pub(crate) fn drain(&mut self) -> Vec<CallId> {
        self.deadlines.clear();
        let mut calls: Vec<_> = self.calls.drain().map(|(call, _)| call).collect();
        calls.sort_unstable();
        calls
    }
}
