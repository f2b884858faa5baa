//! The requests of a conversation that wait to be sent, and the number of those that are sent.
//!
//! Calls of tools may take minutes, and leave room for lists and reads, which do not.

use std::collections::BTreeSet;

/// The part of the room that calls leave to other requests.
const RESERVED: usize = 8;

/// The kinds of requests that wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    Calls,
    Others,
}

impl Lane {
    /// The lane of a request, by the number of its answer.
    pub(super) fn of(answer: u32) -> Self {
        if answer == CALL_TOOL_RESPONSE { Self::Calls } else { Self::Others }
    }
}

/// The requests of both lanes.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    calls: Requests,
    others: Requests,
}

#[derive(Debug, Default)]
struct Requests {
    /// Ids grow, so the first is the oldest.
    waiting: BTreeSet<u64>,
    sent: usize,
}

impl Lanes {
    /// A request waits from now on.
    pub(super) fn add(&mut self, id: u64, lane: Lane) {
        self.requests(lane).waiting.insert(id);
    }

    /// The requests that wait.
    pub(super) fn waiting(&self) -> usize {
        self.calls.waiting.len() + self.others.waiting.len()
    }

    /// The next request to be sent, if there is room among `max`: it is one of those that are sent from now on.
    pub(super) fn next(&mut self, max: usize) -> Option<u64> {
        if self.calls.sent + self.others.sent >= max {
            return None;
        }
        let may_call = self.calls.sent < max - max / RESERVED;
        let call = self.calls.waiting.first().filter(|_| may_call).copied();
        let (id, lane) = match (call, self.others.waiting.first().copied()) {
            (Some(call), Some(other)) if call > other => (other, Lane::Others),
            (Some(call), _) => (call, Lane::Calls),
            (None, other) => (other?, Lane::Others),
        };
        let requests = self.requests(lane);
        requests.waiting.remove(&id);
        requests.sent += 1;
        Some(id)
    }

    /// A request is over.
    pub(super) fn remove(&mut self, id: u64, lane: Lane) {
        let requests = self.requests(lane);
        if !requests.waiting.remove(&id) {
            requests.sent -= 1;
        }
    }

    fn requests(&mut self, lane: Lane) -> &mut Requests {
        match lane {
            Lane::Calls => &mut self.calls,
            Lane::Others => &mut self.others,
        }
    }
}

/// The number of `call_tool_response` in `MCPMessage`.
const CALL_TOOL_RESPONSE: u32 = 7;
