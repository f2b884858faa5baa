//! Shares a bounded number of slots fairly between holders.
//!
//! A holder may take its share of the free slots ([`may_take_slot`]), and the same rule bounds the waiting requests. A released
//! slot goes to the waiting holder that has the fewest; the requests of one holder are served in order.
//!
//! [`FairSlots`] is a value that decides; [`SlotQueue`] keeps requests waiting.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::share::may_take_slot;

#[derive(Debug)]
struct FairSlots<K> {
    capacity: usize,
    max_waiting: usize,
    holders: HashMap<K, HolderSlots>,
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

impl<K: Copy + Eq + Hash> FairSlots<K> {
    fn new(capacity: usize, max_waiting: usize) -> Self {
        Self { capacity, max_waiting, holders: HashMap::new(), taken: 0, waiting: 0, tickets: 0 }
    }

    fn acquire(&mut self, holder: K) -> Entry {
        let held = self.holders.entry(holder).or_default();
        if held.waiting.is_empty() && may_take_slot(held.taken, self.taken, self.capacity) {
            (held.taken, self.taken) = (held.taken + 1, self.taken + 1);
            return Entry::Taken;
        }
        if may_take_slot(held.waiting.len(), self.waiting, self.max_waiting) {
            (self.waiting, self.tickets) = (self.waiting + 1, self.tickets + 1);
            held.waiting.push_back(self.tickets);
            return Entry::Waiting(self.tickets);
        }
        self.tidy(holder);
        Entry::Refused
    }

    /// Releases a slot. Returns the tickets that are called.
    fn release(&mut self, holder: K) -> Vec<(K, u64)> {
        if let Some(held) = self.holders.get_mut(&holder) {
            held.taken -= 1;
            self.taken -= 1;
        }
        self.tidy(holder);
        std::iter::from_fn(|| self.call()).collect()
    }

    /// Withdraws a ticket that was not called.
    fn give_up(&mut self, holder: K, ticket: u64) {
        if let Some(held) = self.holders.get_mut(&holder) {
            let before = held.waiting.len();
            held.waiting.retain(|waiting| *waiting != ticket);
            self.waiting -= before - held.waiting.len();
        }
        self.tidy(holder);
    }

    fn call(&mut self) -> Option<(K, u64)> {
        let waiting = self.holders.iter().filter_map(|(holder, held)| {
            let first = held.waiting.front()?;
            may_take_slot(held.taken, self.taken, self.capacity).then_some((held.taken, *first, *holder))
        });
        let (_, ticket, holder) = waiting.min_by_key(|(taken, first, _)| (*taken, *first))?;
        let held = self.holders.get_mut(&holder)?;
        held.waiting.pop_front();
        held.taken += 1;
        (self.waiting, self.taken) = (self.waiting - 1, self.taken + 1);
        Some((holder, ticket))
    }

    /// Removes a holder without slots and tickets.
    fn tidy(&mut self, holder: K) {
        if self.holders.get(&holder).is_some_and(|held| held.taken == 0 && held.waiting.is_empty()) {
            self.holders.remove(&holder);
        }
    }
}

/// Admits requests of holders up to the number of slots. Needs the feature `slots`.
#[derive(Debug)]
pub struct SlotQueue<K: Copy + Eq + Hash>(Arc<Inner<K>>);

#[derive(Debug)]
struct Inner<K: Copy + Eq + Hash> {
    max_wait: Duration,
    state: Mutex<State<K>>,
}

#[derive(Debug)]
struct State<K: Copy + Eq + Hash> {
    slots: FairSlots<K>,
    waiting: HashMap<u64, oneshot::Sender<Slot<K>>>,
}

/// A slot of a [`SlotQueue`], released when this is dropped.
#[derive(Debug)]
pub struct Slot<K: Copy + Eq + Hash> {
    queue: Arc<Inner<K>>,
    holder: K,
}

/// A waiting request. It leaves the queue when this is dropped.
struct Waiting<'a, K: Copy + Eq + Hash> {
    queue: &'a Inner<K>,
    holder: K,
    ticket: u64,
}

impl<K: Copy + Eq + Hash> SlotQueue<K> {
    /// This many slots, and at most this many requests that wait for one, each for this long.
    #[must_use]
    pub fn new(capacity: usize, max_waiting: usize, max_wait: Duration) -> Self {
        let state = State { slots: FairSlots::new(capacity, max_waiting), waiting: HashMap::new() };
        Self(Arc::new(Inner { max_wait, state: Mutex::new(state) }))
    }

    /// Waits for a slot. `None` if none becomes free in time, or too many requests wait.
    ///
    /// # Panics
    /// If it has to wait outside of a tokio runtime with time enabled.
    pub async fn acquire(&self, holder: K) -> Option<Slot<K>> {
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

impl<K: Copy + Eq + Hash> Inner<K> {
    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Copy + Eq + Hash> Drop for Slot<K> {
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

impl<K: Copy + Eq + Hash> Drop for Waiting<'_, K> {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        if state.waiting.remove(&self.ticket).is_some() {
            state.slots.give_up(self.holder, self.ticket);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets holders acquire in turn: `t` a slot is taken, `w` the request waits, `-` it is refused.
    fn acquire(slots: &mut FairSlots<char>, holders: &str) -> String {
        let entries = holders.chars().map(|holder| match slots.acquire(holder) {
            Entry::Taken => 't',
            Entry::Waiting(_) => 'w',
            Entry::Refused => '-',
        });
        entries.collect()
    }

    /// The requests that are called when this holder releases a slot.
    fn release(slots: &mut FairSlots<char>, holder: char) -> String {
        slots.release(holder).into_iter().map(|(holder, _)| holder).collect()
    }

    #[test]
    fn one_holder_gets_four_fifths_and_others_the_rest() {
        let mut slots = FairSlots::new(32, 0);
        assert_eq!(acquire(&mut slots, &"a".repeat(30)), format!("{}{}", "t".repeat(26), "-".repeat(4)));
        assert_eq!(acquire(&mut slots, "bcdefg"), "tttttt");
        assert_eq!(acquire(&mut slots, "h"), "-");
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
        assert_eq!(release(&mut slots, 'a'), "c", "`c` has one, and `a` two");
        assert_eq!(release(&mut slots, 'b'), "a", "`c` and `a` have two, and `a` has waited for longest");
        assert_eq!((release(&mut slots, 'c'), release(&mut slots, 'a')), ("c".to_owned(), "a".to_owned()));
    }

    #[test]
    fn requests_of_one_holder_are_served_in_order() {
        let mut slots = FairSlots::new(1, 100);
        assert_eq!(acquire(&mut slots, "aaaa"), "twww");
        assert_eq!(slots.release('a'), [('a', 1)]);
        slots.give_up('a', 2);
        assert_eq!(slots.release('a'), [('a', 3)]);
        assert_eq!(slots.release('a'), []);
    }

    #[test]
    fn a_released_slot_is_free_again_and_leaves_nothing() {
        let mut slots = FairSlots::new(1, 1);
        assert_eq!(acquire(&mut slots, "abc"), "tw-");
        slots.give_up('b', 1);
        assert_eq!(acquire(&mut slots, "c"), "w");
        assert_eq!((release(&mut slots, 'a'), release(&mut slots, 'c')), ("c".to_owned(), String::new()));
        assert_eq!((slots.taken, slots.waiting, slots.holders.len()), (0, 0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_for_its_slot_for_a_bounded_time() {
        let queue = SlotQueue::new(1, 8, Duration::from_secs(2));
        let slot = queue.acquire('a').await.unwrap();
        assert!(queue.acquire('a').await.is_none());
        let (next, ()) = tokio::join!(queue.acquire('a'), async { drop(slot) });
        let next = next.unwrap();
        // One request is dropped while it waits, and one when its turn has come.
        assert!(tokio::time::timeout(Duration::from_secs(1), queue.acquire('b')).await.is_err());
        {
            let mut waiting = Box::pin(queue.acquire('b'));
            assert!(futures_util::FutureExt::now_or_never(waiting.as_mut()).is_none());
            drop(next);
        }
        drop(queue.acquire('c').await.unwrap());
        let state = queue.0.state();
        assert_eq!((state.slots.taken, state.slots.holders.len(), state.waiting.len()), (0, 0, 0));
    }
}
