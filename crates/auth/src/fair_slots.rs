//! Shares a bounded number of slots fairly between holders.
//!
//! A holder may have at most four times as many slots as stay free (the dynamic threshold rule of shared switch
//! buffers): one holder alone gets four fifths of all slots, and some stay free for a holder that has few. The same
//! rule bounds the waiting requests. A released slot goes to the waiting holder that has the fewest; the requests of
//! one holder are served in order.
//!
//! [`FairSlots`] is a value that decides; [`SlotQueue`] keeps requests waiting.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::peer::PeerKey;

/// The most slots of one holder, as a multiple of the free ones.
const SHARE: usize = 4;

#[derive(Debug)]
struct FairSlots {
    capacity: usize,
    max_waiting: usize,
    holders: HashMap<PeerKey, HolderSlots>,
    taken: usize,
    waiting: usize,
    /// The number of tickets issued.
    tickets: u64,
}

#[derive(Debug, Default)]
struct HolderSlots {
    taken: usize,
    /// In the order of arrival.
    waiting: VecDeque<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Taken,
    /// Until the ticket is called.
    Waiting(u64),
    /// Too many requests of this holder wait.
    Refused,
}

impl FairSlots {
    fn new(capacity: usize, max_waiting: usize) -> Self {
        Self { capacity, max_waiting, holders: HashMap::new(), taken: 0, waiting: 0, tickets: 0 }
    }

    fn acquire(&mut self, holder: PeerKey) -> Entry {
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

    /// Releases a slot. Returns the tickets that are called.
    fn release(&mut self, holder: PeerKey) -> Vec<(PeerKey, u64)> {
        if let Some(held) = self.holders.get_mut(&holder) {
            held.taken -= 1;
            self.taken -= 1;
        }
        self.tidy(holder);
        std::iter::from_fn(|| self.call()).collect()
    }

    /// Withdraws a ticket that was not called.
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

    /// Removes a holder without slots and tickets.
    fn tidy(&mut self, holder: PeerKey) {
        if self.holders.get(&holder).is_some_and(|held| held.taken == 0 && held.waiting.is_empty()) {
            self.holders.remove(&holder);
        }
    }
}

/// True if a holder that has `held` of `all` used slots may have one more. A holder without any may have the last one.
fn fits(held: usize, all: usize, capacity: usize) -> bool {
    capacity.checked_sub(all + 1).is_some_and(|free| held == 0 || held < free.saturating_mul(SHARE))
}

/// Admits requests up to the number of slots.
#[derive(Debug)]
pub(crate) struct SlotQueue(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    max_wait: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    slots: FairSlots,
    waiting: HashMap<u64, oneshot::Sender<Slot>>,
}

/// A slot, released when this is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    queue: Arc<Inner>,
    holder: PeerKey,
}

/// A waiting request. It leaves the queue when this is dropped.
struct Waiting<'a> {
    queue: &'a Inner,
    holder: PeerKey,
    ticket: u64,
}

impl SlotQueue {
    pub(crate) fn new(capacity: usize, max_waiting: usize, max_wait: Duration) -> Self {
        let state = State { slots: FairSlots::new(capacity, max_waiting), waiting: HashMap::new() };
        Self(Arc::new(Inner { max_wait, state: Mutex::new(state) }))
    }

    /// Waits for a slot. `None` if none becomes free in time, or too many requests wait.
    pub(crate) async fn acquire(&self, holder: PeerKey) -> Option<Slot> {
        let (waiting, called) = {
            let mut state = self.0.state();
            match state.slots.acquire(holder) {
                Entry::Taken => return Some(Slot { queue: Arc::clone(&self.0), holder }),
                Entry::Refused => return None,
                Entry::Waiting(ticket) => {
                    let (call, called) = oneshot::channel();
                    state.waiting.insert(ticket, call);
                    (Waiting { queue: &self.0, holder, ticket }, called)
                }
            }
        };
        let slot = tokio::time::timeout(self.0.max_wait, called).await.ok().and_then(Result::ok);
        drop(waiting);
        slot
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let called: Vec<_> = {
            let mut state = self.queue.state();
            let called = state.slots.release(self.holder);
            called.into_iter().map(|(holder, ticket)| (holder, state.waiting.remove(&ticket))).collect()
        };
        for (holder, call) in called {
            let slot = Self { queue: Arc::clone(&self.queue), holder };
            // A request that was dropped in this instant releases the slot again.
            match call {
                Some(call) => drop(call.send(slot)),
                None => drop(slot),
            }
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        if state.waiting.remove(&self.ticket).is_some() {
            state.slots.give_up(self.holder, self.ticket);
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

    /// Lets holders acquire in turn: `t` a slot is taken, `w` the request waits, `-` it is refused.
    fn acquire(slots: &mut FairSlots, holders: &str) -> String {
        let entries = holders.chars().map(|holder| match slots.acquire(peer(holder)) {
            Entry::Taken => 't',
            Entry::Waiting(_) => 'w',
            Entry::Refused => '-',
        });
        entries.collect()
    }

    /// The requests that are called when this holder releases a slot.
    fn release(slots: &mut FairSlots, holder: char) -> String {
        let name = |peer_key| ('a'..='z').find(|name| peer(*name) == peer_key);
        slots.release(peer(holder)).into_iter().filter_map(|(holder, _)| name(holder)).collect()
    }

    #[test]
    fn one_holder_gets_four_fifths_and_others_the_rest() {
        let mut slots = FairSlots::new(32, 0);
        assert_eq!(acquire(&mut slots, &"a".repeat(30)), format!("{}{}", "t".repeat(25), "-".repeat(5)));
        assert_eq!(acquire(&mut slots, "bcdefgh"), "ttttttt");
        assert_eq!(acquire(&mut slots, "i"), "-");
    }

    #[test]
    fn no_holder_fills_the_queue() {
        let mut slots = FairSlots::new(1, 10);
        assert_eq!(acquire(&mut slots, "taaaaaaaaaa"), "twwwwwwww--");
        assert_eq!(acquire(&mut slots, "bc"), "ww");
        assert_eq!(acquire(&mut slots, "d"), "-");
    }

    #[test]
    fn a_free_slot_goes_to_the_holder_that_has_the_fewest() {
        let mut slots = FairSlots::new(5, 100);
        assert_eq!(acquire(&mut slots, "aaaaaa"), "ttttww");
        assert_eq!(acquire(&mut slots, "bcccb"), "twwww");
        assert_eq!(release(&mut slots, 'a'), "c", "`c` has none");
        assert_eq!(release(&mut slots, 'b'), "b", "`b` has no slot now");
        assert_eq!(release(&mut slots, 'a'), "", "the last slot is kept for a holder that has none");
        assert_eq!(release(&mut slots, 'c'), "c");
        assert_eq!(release(&mut slots, 'a'), "a", "all have one slot, and `a` has waited for longest");
    }

    #[test]
    fn requests_of_one_holder_are_served_in_order() {
        let mut slots = FairSlots::new(1, 100);
        assert_eq!(acquire(&mut slots, "aaaa"), "twww");
        assert_eq!(slots.release(peer('a')), [(peer('a'), 1)]);
        slots.give_up(peer('a'), 2);
        assert_eq!(slots.release(peer('a')), [(peer('a'), 3)]);
        assert_eq!(slots.release(peer('a')), []);
    }

    #[test]
    fn a_released_slot_is_free_again_and_leaves_nothing() {
        let mut slots = FairSlots::new(1, 1);
        assert_eq!(acquire(&mut slots, "abc"), "tw-");
        slots.give_up(peer('b'), 1);
        assert_eq!(acquire(&mut slots, "c"), "w");
        assert_eq!((release(&mut slots, 'a'), release(&mut slots, 'c')), ("c".to_owned(), String::new()));
        assert_eq!((slots.taken, slots.waiting, slots.holders.len()), (0, 0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_for_its_slot_for_a_bounded_time() {
        let queue = SlotQueue::new(1, 8, Duration::from_secs(2));
        let slot = queue.acquire(peer('a')).await.unwrap();
        assert!(queue.acquire(peer('a')).await.is_none());
        let (next, ()) = tokio::join!(queue.acquire(peer('a')), async { drop(slot) });
        let next = next.unwrap();
        // One request is dropped while it waits, and one when its turn has come.
        assert!(tokio::time::timeout(Duration::from_secs(1), queue.acquire(peer('b'))).await.is_err());
        {
            let mut waiting = Box::pin(queue.acquire(peer('b')));
            assert!(futures_util::FutureExt::now_or_never(waiting.as_mut()).is_none());
            drop(next);
        }
        drop(queue.acquire(peer('c')).await.unwrap());
        let state = queue.0.state();
        assert_eq!((state.slots.taken, state.slots.holders.len(), state.waiting.len()), (0, 0, 0));
    }
}
