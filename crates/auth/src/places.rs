//! Shares a bounded number of places fairly between holders.
//!
//! A holder may take at most four times what stays free after it (the dynamic threshold rule of shared switch buffers):
//! one alone gets four fifths of all places, and a part always stays free for a holder that has few. The same rule bounds
//! who may wait. A place that becomes free goes to the waiting holder that has the fewest; within one holder, those who
//! came first go first.
//!
//! [`Places`] is a value that decides; [`Gate`] keeps requests waiting.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::peer::PeerKey;

/// How many times what stays free one holder may take.
const SHARE: usize = 4;

#[derive(Debug)]
struct Places {
    capacity: usize,
    max_waiting: usize,
    holders: HashMap<PeerKey, Held>,
    taken: usize,
    waiting: usize,
    /// Tickets that were given out.
    tickets: u64,
}

#[derive(Debug, Default)]
struct Held {
    taken: usize,
    /// In the order in which they came.
    waiting: VecDeque<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Taken,
    /// Until the ticket is called.
    Waiting(u64),
    /// More would wait for this holder than may.
    Refused,
}

impl Places {
    fn new(capacity: usize, max_waiting: usize) -> Self {
        Self { capacity, max_waiting, holders: HashMap::new(), taken: 0, waiting: 0, tickets: 0 }
    }

    fn enter(&mut self, holder: PeerKey) -> Entry {
        let held = self.holders.entry(holder).or_default();
        if held.waiting.is_empty() && fits(held.taken, self.taken, self.capacity) {
            (held.taken, self.taken) = (held.taken + 1, self.taken + 1);
            return Entry::Taken;
        }
        if fits(held.waiting.len(), self.waiting, self.max_waiting) {
            (self.waiting, self.tickets) = (self.waiting + 1, self.tickets + 1);
            held.waiting.push_back(self.tickets);
            return Entry::Waiting(self.tickets);
        }
        self.tidy(holder);
        Entry::Refused
    }

    /// A place is given back. Returns the tickets that are called.
    fn leave(&mut self, holder: PeerKey) -> Vec<(PeerKey, u64)> {
        if let Some(held) = self.holders.get_mut(&holder) {
            held.taken -= 1;
            self.taken -= 1;
        }
        self.tidy(holder);
        std::iter::from_fn(|| self.call()).collect()
    }

    /// A ticket that was not called is given back.
    fn give_up(&mut self, holder: PeerKey, ticket: u64) {
        if let Some(held) = self.holders.get_mut(&holder) {
            let before = held.waiting.len();
            held.waiting.retain(|waiting| *waiting != ticket);
            self.waiting -= before - held.waiting.len();
        }
        self.tidy(holder);
    }

    fn call(&mut self) -> Option<(PeerKey, u64)> {
        let waiting = self.holders.iter().filter_map(|(holder, held)| {
            let first = held.waiting.front()?;
            fits(held.taken, self.taken, self.capacity).then_some((held.taken, *first, *holder))
        });
        let (_, ticket, holder) = waiting.min_by_key(|(taken, first, _)| (*taken, *first))?;
        let held = self.holders.get_mut(&holder)?;
        held.waiting.pop_front();
        held.taken += 1;
        (self.waiting, self.taken) = (self.waiting - 1, self.taken + 1);
        Some((holder, ticket))
    }

    /// Forgets a holder that has nothing.
    fn tidy(&mut self, holder: PeerKey) {
        if self.holders.get(&holder).is_some_and(|held| held.taken == 0 && held.waiting.is_empty()) {
            self.holders.remove(&holder);
        }
    }
}

/// Whether a holder that has `held` of `all` that are taken may have one more. One that has none gets the last, too.
fn fits(held: usize, all: usize, capacity: usize) -> bool {
    capacity.checked_sub(all + 1).is_some_and(|free| held == 0 || held < free.saturating_mul(SHARE))
}

/// Lets requests in as far as there are places.
#[derive(Debug)]
pub(crate) struct Gate(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    max_wait: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    places: Places,
    waiting: HashMap<u64, oneshot::Sender<Place>>,
}

/// A place, given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    gate: Arc<Inner>,
    holder: PeerKey,
}

/// A request that waits. It leaves the queue when this is dropped.
struct Waiting<'a> {
    gate: &'a Inner,
    holder: PeerKey,
    ticket: u64,
}

impl Gate {
    pub(crate) fn new(capacity: usize, max_waiting: usize, max_wait: Duration) -> Self {
        let state = State { places: Places::new(capacity, max_waiting), waiting: HashMap::new() };
        Self(Arc::new(Inner { max_wait, state: Mutex::new(state) }))
    }

    /// Waits for a place. `None`: there was none in time, or too many wait.
    pub(crate) async fn enter(&self, holder: PeerKey) -> Option<Place> {
        let (waiting, called) = {
            let mut state = self.0.state();
            match state.places.enter(holder) {
                Entry::Taken => return Some(Place { gate: Arc::clone(&self.0), holder }),
                Entry::Refused => return None,
                Entry::Waiting(ticket) => {
                    let (call, called) = oneshot::channel();
                    state.waiting.insert(ticket, call);
                    (Waiting { gate: &self.0, holder, ticket }, called)
                }
            }
        };
        let place = tokio::time::timeout(self.0.max_wait, called).await.ok().and_then(Result::ok);
        drop(waiting);
        place
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let called: Vec<_> = {
            let mut state = self.gate.state();
            let called = state.places.leave(self.holder);
            called.into_iter().map(|(holder, ticket)| (holder, state.waiting.remove(&ticket))).collect()
        };
        for (holder, call) in called {
            let place = Self { gate: Arc::clone(&self.gate), holder };
            // A request that has gone in this instant gives the place back.
            match call {
                Some(call) => drop(call.send(place)),
                None => drop(place),
            }
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.state();
        if state.waiting.remove(&self.ticket).is_some() {
            state.places.give_up(self.holder, self.ticket);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn peer(name: char) -> PeerKey {
        PeerKey::of_address(Ipv4Addr::from(u32::from(name)).into())
    }

    /// Lets holders enter in turn: `t` a place is taken, `w` the request waits, `-` it is refused.
    fn enter(places: &mut Places, holders: &str) -> String {
        let entries = holders.chars().map(|holder| match places.enter(peer(holder)) {
            Entry::Taken => 't',
            Entry::Waiting(_) => 'w',
            Entry::Refused => '-',
        });
        entries.collect()
    }

    /// Who is called when this holder gives a place back.
    fn leave(places: &mut Places, holder: char) -> String {
        let name = |peer_key| ('a'..='z').find(|name| peer(*name) == peer_key);
        places.leave(peer(holder)).into_iter().filter_map(|(holder, _)| name(holder)).collect()
    }

    #[test]
    fn one_holder_alone_gets_four_fifths_and_others_find_the_rest() {
        let mut places = Places::new(32, 0);
        assert_eq!(enter(&mut places, &"a".repeat(30)), format!("{}{}", "t".repeat(25), "-".repeat(5)));
        assert_eq!(enter(&mut places, "bcdefgh"), "ttttttt");
        assert_eq!(enter(&mut places, "i"), "-");
    }

    #[test]
    fn no_holder_fills_the_queue() {
        let mut places = Places::new(1, 10);
        assert_eq!(enter(&mut places, "taaaaaaaaaa"), "twwwwwwww--");
        assert_eq!(enter(&mut places, "bc"), "ww");
        assert_eq!(enter(&mut places, "d"), "-");
    }

    #[test]
    fn a_free_place_goes_to_the_holder_that_has_the_fewest() {
        let mut places = Places::new(5, 100);
        assert_eq!(enter(&mut places, "aaaaaa"), "ttttww");
        assert_eq!(enter(&mut places, "bcccb"), "twwww");
        assert_eq!(leave(&mut places, 'a'), "c", "`c` has none");
        assert_eq!(leave(&mut places, 'b'), "b", "`b` has none now");
        assert_eq!(leave(&mut places, 'a'), "", "the last place is kept for a holder that has none");
        assert_eq!(leave(&mut places, 'c'), "c");
        assert_eq!(leave(&mut places, 'a'), "a", "all have one, and `a` has waited for longest");
    }

    #[test]
    fn those_of_one_holder_go_in_the_order_in_which_they_came() {
        let mut places = Places::new(1, 100);
        assert_eq!(enter(&mut places, "aaaa"), "twww");
        assert_eq!(places.leave(peer('a')), [(peer('a'), 1)]);
        places.give_up(peer('a'), 2);
        assert_eq!(places.leave(peer('a')), [(peer('a'), 3)]);
        assert_eq!(places.leave(peer('a')), []);
    }

    #[test]
    fn what_is_given_back_is_free_again_and_leaves_nothing() {
        let mut places = Places::new(1, 1);
        assert_eq!(enter(&mut places, "abc"), "tw-");
        places.give_up(peer('b'), 1);
        assert_eq!(enter(&mut places, "c"), "w");
        assert_eq!((leave(&mut places, 'a'), leave(&mut places, 'c')), ("c".to_owned(), String::new()));
        assert_eq!((places.taken, places.waiting, places.holders.len()), (0, 0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_for_its_place_and_not_for_ever() {
        let gate = Gate::new(1, 8, Duration::from_secs(2));
        let place = gate.enter(peer('a')).await.unwrap();
        assert!(gate.enter(peer('a')).await.is_none());
        let (next, ()) = tokio::join!(gate.enter(peer('a')), async { drop(place) });
        let next = next.unwrap();
        // One that goes away while it waits, and one that goes away when its turn has come.
        assert!(tokio::time::timeout(Duration::from_secs(1), gate.enter(peer('b'))).await.is_err());
        {
            let mut waiting = Box::pin(gate.enter(peer('b')));
            assert!(futures_util::FutureExt::now_or_never(waiting.as_mut()).is_none());
            drop(next);
        }
        drop(gate.enter(peer('c')).await.unwrap());
        let state = gate.0.state();
        assert_eq!((state.places.taken, state.places.holders.len(), state.waiting.len()), (0, 0, 0));
    }
}
