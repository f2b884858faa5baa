//! A queue of waiting calls, whose owners take turns.
//!
//! Calls are kept in the order of their tickets, and turns in the order of their numbers, so that any call can be
//! removed at the cost of a search.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use crate::owner::Owner;

/// The name of a call that waits in a [`FairQueue`]. Later calls have later tickets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// The outcome for a call that needs to wait in a [`FairQueue`].
#[derive(Debug, PartialEq, Eq)]
pub enum Pushed<W> {
    /// It waits.
    Waiting(Ticket),
    /// It waits instead of a call whose owner had this many waiting.
    InPlaceOf(Ticket, W, usize),
    /// It is rejected: no owner has more calls waiting than this one would have.
    Full(W),
}

/// Calls that wait for their turn. `C` names a conversation of an owner, and `W` stands for a call: the sender that wakes it,
/// or its number.
///
/// Owners take turns, and within one owner its conversations do, so that a principal with a thousand sessions gets one
/// turn for each turn of another. The capacity is shared as well: one owner alone may use all of it; when it is full,
/// the newest call of the owner with the most makes room for an owner with fewer.
///
/// ```
/// use protomcp_fair::{FairQueue, Owner};
///
/// let mut queue = FairQueue::new(100);
/// for (name, call) in [("ann", 1), ("ann", 2), ("bob", 3)] {
///     queue.push(&Owner::Principal(name.into()), "a conversation", call);
/// }
/// assert_eq!([queue.pop(), queue.pop(), queue.pop()], [Some(1), Some(3), Some(2)]);
/// ```
#[derive(Debug)]
pub struct FairQueue<C, W> {
    owners: HashMap<Owner, OfOwner<C, W>>,
    turns: Turns<Owner>,
    count: usize,
    capacity: usize,
    last: u64,
}

/// The calls of one owner; there is at least one.
#[derive(Debug)]
struct OfOwner<C, W> {
    turn: u64,
    conversations: HashMap<C, OfConversation<W>>,
    turns: Turns<C>,
    /// The conversation of each call.
    tickets: BTreeMap<Ticket, C>,
}

/// The calls of one conversation; there is at least one.
#[derive(Debug)]
struct OfConversation<W> {
    turn: u64,
    calls: BTreeMap<Ticket, W>,
}

/// The order of turns.
#[derive(Debug)]
struct Turns<K> {
    order: BTreeMap<u64, K>,
    last: u64,
}

impl<K> Turns<K> {
    fn new() -> Self {
        Self { order: BTreeMap::new(), last: 0 }
    }

    /// Appends a turn for this key and returns its number.
    fn add(&mut self, key: K) -> u64 {
        self.last += 1;
        self.order.insert(self.last, key);
        self.last
    }

    fn first(&self) -> Option<&K> {
        self.order.first_key_value().map(|(_, key)| key)
    }

    /// Moves this turn to the end.
    fn again(&mut self, turn: &mut u64) {
        if let Some(key) = self.order.remove(turn) {
            *turn = self.add(key);
        }
    }
}

impl<C: Clone + Eq + Hash, W> FairQueue<C, W> {
    /// An empty queue with room for `capacity` calls.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { owners: HashMap::new(), turns: Turns::new(), count: 0, capacity, last: 0 }
    }

    /// The number of waiting calls.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// True if no call waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The number of owners with waiting calls.
    #[must_use]
    pub fn owners(&self) -> usize {
        self.owners.len()
    }

    /// True if a call of another owner waits.
    #[must_use]
    pub fn others_wait(&self, owner: &Owner) -> bool {
        self.owners.len() > usize::from(self.owners.contains_key(owner))
    }

    /// Adds a call.
    pub fn push(&mut self, owner: &Owner, conversation: C, waiter: W) -> Pushed<W> {
        if self.count < self.capacity {
            return Pushed::Waiting(self.insert(owner, conversation, waiter));
        }
        let held = self.owners.get(owner).map_or(0, OfOwner::len);
        let largest = self.owners.iter().max_by_key(|(_, calls)| calls.len());
        match largest.map(|(owner, calls)| (owner.clone(), calls.len(), calls.newest())) {
            // This owner has more than the new one is about to have.
            Some((largest, most, Some(newest))) if most > held + 1 => {
                let displaced = self.remove(&largest, newest).expect("a ticket of a waiting call");
                Pushed::InPlaceOf(self.insert(owner, conversation, waiter), displaced, most)
            }
            Some(_) | None => Pushed::Full(waiter),
        }
    }

    /// Removes a call, if it still waits.
    pub fn remove(&mut self, owner: &Owner, ticket: Ticket) -> Option<W> {
        let calls = self.owners.get_mut(owner)?;
        let conversation = calls.tickets.remove(&ticket)?;
        let line = calls.conversations.get_mut(&conversation)?;
        let waiter = line.calls.remove(&ticket)?;
        self.count -= 1;
        if line.calls.is_empty() {
            calls.turns.order.remove(&line.turn);
            calls.conversations.remove(&conversation);
        }
        if calls.tickets.is_empty() {
            self.turns.order.remove(&calls.turn);
            self.owners.remove(owner);
        }
        Some(waiter)
    }

    /// Removes the call whose turn it is.
    pub fn pop(&mut self) -> Option<W> {
        let owner = self.turns.first()?.clone();
        let calls = self.owners.get_mut(&owner).expect("an owner with a turn has calls");
        let conversation = calls.turns.first().expect("an owner with a turn has a conversation with one").clone();
        let line = calls.conversations.get_mut(&conversation).expect("a conversation with a turn has calls");
        let ticket = *line.calls.first_key_value().expect("a conversation with a turn has a call").0;
        calls.turns.again(&mut line.turn);
        self.turns.again(&mut calls.turn);
        self.remove(&owner, ticket)
    }

    /// Removes all calls.
    pub fn drain(&mut self) -> Vec<W> {
        let waiting = std::mem::replace(self, Self::new(self.capacity));
        self.last = waiting.last;
        let lines = waiting.owners.into_values().flat_map(|calls| calls.conversations.into_values());
        lines.flat_map(|line| line.calls.into_values()).collect()
    }

    fn insert(&mut self, owner: &Owner, conversation: C, waiter: W) -> Ticket {
        self.last += 1;
        let ticket = Ticket(self.last);
        let turns = &mut self.turns;
        let calls = self.owners.entry(owner.clone()).or_insert_with(|| OfOwner {
            turn: turns.add(owner.clone()),
            conversations: HashMap::new(),
            turns: Turns::new(),
            tickets: BTreeMap::new(),
        });
        let turns = &mut calls.turns;
        let line = calls
            .conversations
            .entry(conversation.clone())
            .or_insert_with(|| OfConversation { turn: turns.add(conversation.clone()), calls: BTreeMap::new() });
        line.calls.insert(ticket, waiter);
        calls.tickets.insert(ticket, conversation);
        self.count += 1;
        ticket
    }
}

impl<C, W> OfOwner<C, W> {
    fn len(&self) -> usize {
        self.tickets.len()
    }

    fn newest(&self) -> Option<Ticket> {
        self.tickets.last_key_value().map(|(ticket, _)| *ticket)
    }
}

#[cfg(test)]
mod tests;
