//! The requests of a conversation that wait to be sent, and the number of those that are sent.
//!
//! Calls of tools may take minutes, and leave room for lists and reads, which do not. Within each of the two kinds the
//! owners of requests take turns.

use std::collections::HashMap;

use protomcp_fair::{FairQueue, Owner, Pushed, Ticket};
use protomcp_session::{CallerKey, Conversation};

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

/// The outcome for a request that has to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Added {
    Waiting,
    /// It waits instead of this one, which is the newest of the owner with most of them.
    InPlaceOf(u64),
    /// There is no room for it.
    Full,
}

/// The requests of both lanes.
#[derive(Debug)]
pub(super) struct Lanes {
    calls: Requests,
    others: Requests,
    /// The lane of the request that was sent last.
    last: Lane,
}

#[derive(Debug)]
struct Requests {
    waiting: FairQueue<Conversation, u64>,
    tickets: HashMap<u64, (Owner, Ticket)>,
    sent: usize,
}

impl Lanes {
    /// Lanes with room for this many requests each.
    pub(super) fn new(capacity: usize) -> Self {
        let requests = || Requests { waiting: FairQueue::new(capacity), tickets: HashMap::new(), sent: 0 };
        Self { calls: requests(), others: requests(), last: Lane::Others }
    }

    /// A request waits from now on. One in place of which it waits still has to be removed.
    pub(super) fn add(&mut self, id: u64, lane: Lane, caller: &CallerKey) -> Added {
        let Requests { waiting, tickets, .. } = self.requests(lane);
        let (ticket, added) = match waiting.push(&caller.owner, caller.conversation, id) {
            Pushed::Waiting(ticket) => (ticket, Added::Waiting),
            Pushed::InPlaceOf(ticket, other, _) => (ticket, Added::InPlaceOf(other)),
            Pushed::Full(_) => return Added::Full,
        };
        tickets.insert(id, (caller.owner.clone(), ticket));
        added
    }

    /// The next request to be sent, if there is room among `max`: it is one of those that are sent from now on.
    pub(super) fn next(&mut self, max: usize) -> Option<u64> {
        if self.calls.sent + self.others.sent >= max {
            return None;
        }
        let may_call = self.calls.sent < max - max / RESERVED;
        let (has_call, has_other) = (may_call && !self.calls.waiting.is_empty(), !self.others.waiting.is_empty());
        let lane = if has_call && (self.last != Lane::Calls || !has_other) {
            Lane::Calls
        } else if has_other {
            Lane::Others
        } else {
            return None;
        };
        self.last = lane;
        let requests = self.requests(lane);
        let id = requests.waiting.pop()?;
        requests.tickets.remove(&id);
        requests.sent += 1;
        Some(id)
    }

    /// A request is over.
    pub(super) fn remove(&mut self, id: u64, lane: Lane) {
        let Requests { waiting, tickets, sent } = self.requests(lane);
        match tickets.remove(&id) {
            // One that has given way is not in the queue.
            Some((owner, ticket)) => drop(waiting.remove(&owner, ticket)),
            None => *sent -= 1,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(name: &str) -> CallerKey {
        CallerKey { owner: Owner::Principal(name.into()), conversation: Conversation::Connection(1) }
    }

    /// `a5` is a call of the owner `a`, `a5.` another request of it.
    fn add(lanes: &mut Lanes, request: &str) -> Added {
        let (name, id) = request.split_at(1);
        let lane = if id.ends_with('.') { Lane::Others } else { Lane::Calls };
        lanes.add(id.trim_end_matches('.').parse().unwrap(), lane, &caller(name))
    }

    #[test]
    fn owners_and_kinds_of_requests_take_turns() {
        for (requests, order) in [
            ("a1 a2 a3 b4 b5", "1 4 2 5 3"),
            ("a1. a2. a3. b4.", "1 4 2 3"),
            // One of each kind, so that many lists of one owner hold up no call of another.
            ("a1. a2. a3. a4. b5 b6", "5 1 6 2 3 4"),
            ("a1 a2 a3 b4.", "1 4 2 3"),
            ("a1 b2 a3. b4.", "1 3 2 4"),
        ] {
            let mut lanes = Lanes::new(100);
            requests.split(' ').for_each(|request| assert_eq!(add(&mut lanes, request), Added::Waiting));
            let next = std::iter::from_fn(|| lanes.next(100)).map(|id| id.to_string());
            assert_eq!(next.collect::<Vec<_>>().join(" "), order, "{requests}");
        }
    }

    #[test]
    fn calls_leave_room_to_other_requests() {
        let mut lanes = Lanes::new(100);
        for id in 0..20 {
            lanes.add(id, Lane::Calls, &caller("a"));
        }
        let sent: Vec<_> = std::iter::from_fn(|| lanes.next(16)).collect();
        assert_eq!(sent.len(), 14);
        for id in 20..24 {
            lanes.add(id, Lane::Others, &caller("a"));
        }
        assert_eq!(std::iter::from_fn(|| lanes.next(16)).collect::<Vec<_>>(), [20, 21]);
        lanes.remove(20, Lane::Others);
        lanes.remove(22, Lane::Others);
        assert_eq!(lanes.next(16), Some(23), "one that is given up has no turn");
    }

    #[test]
    fn the_newest_of_the_largest_owner_gives_way() {
        let mut lanes = Lanes::new(3);
        ["a1", "a2", "a3"].iter().for_each(|request| assert_eq!(add(&mut lanes, request), Added::Waiting));
        assert_eq!(add(&mut lanes, "a4"), Added::Full);
        assert_eq!(add(&mut lanes, "b5"), Added::InPlaceOf(3));
        lanes.remove(3, Lane::Calls);
        assert_eq!(add(&mut lanes, "b6"), Added::Full, "each would have two");
        assert_eq!(add(&mut lanes, "a7."), Added::Waiting, "other requests have their own room");
        assert_eq!(std::iter::from_fn(|| lanes.next(9)).collect::<Vec<_>>(), [1, 7, 5, 2]);
    }
}
