//! Assigns slots to addresses fairly when all slots are taken.
//!
//! A slot is a connection or a TLS handshake. While one is free, every address may take it. When none is free, a slot is taken
//! away as [`FairTable`] has it: from an address that holds most, the slot that has been idle for longest, or without an idle
//! one the slot that became busy last. One address alone may take all slots, and other addresses still get one.

use std::cmp::Reverse;

use protomcp_fair::{FairTable, Largest, Network};

/// A limited number of slots. Each has a value through which its holder learns that the slot was taken away.
#[derive(Debug)]
pub(crate) struct FairLimit<T> {
    max: usize,
    /// Counts the changes of all slots, to order them.
    changes: u64,
    slots: FairTable<Network, Rank, T>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SlotId(u64);

/// The use of a slot: work is lost when a busy one is taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlotState {
    Idle,
    Busy,
}

/// The order in which slots of one address are taken away, by the number of their last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Idle(u64),
    Busy(Reverse<u64>),
}

/// A slot that was just acquired.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Acquired<T> {
    pub(crate) id: SlotId,
    /// The value of the slot that was taken away in exchange.
    pub(crate) evicted: Option<T>,
}

/// All slots are taken, and this address holds as many as another.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl<T> FairLimit<T> {
    /// A limit of `max` slots, at least one.
    pub(crate) fn new(max: usize) -> Self {
        Self { max: max.max(1), changes: 0, slots: FairTable::new() }
    }

    /// Acquires a slot for an address.
    pub(crate) fn acquire(&mut self, owner: Network, state: SlotState, value: T) -> Result<Acquired<T>, Full> {
        let evicted = if self.slots.len() < self.max {
            None
        } else {
            let victim = self.slots.yielding(&owner, |rank| matches!(rank, Rank::Idle(_))).ok_or(Full)?;
            self.slots.remove(victim)
        };
        let rank = self.rank(state);
        Ok(Acquired { id: SlotId(self.slots.insert(owner, rank, value)), evicted })
    }

    /// Marks a slot as idle or busy; no-op for a slot that was taken away.
    pub(crate) fn set_state(&mut self, id: SlotId, state: SlotState) {
        let rank = self.rank(state);
        self.slots.set_rank(id.0, rank);
    }

    /// Frees a slot; no-op for one that was taken away.
    pub(crate) fn release(&mut self, id: SlotId) -> Option<T> {
        self.slots.remove(id.0)
    }

    /// Evicts the longest idle slot of the address that holds most.
    pub(crate) fn evict_idle(&mut self) -> Option<T> {
        let Largest { rank: Rank::Idle(_), number, .. } = self.slots.largest()? else { return None };
        self.slots.remove(number)
    }

    /// The rank of a slot that has this state from now on.
    fn rank(&mut self, state: SlotState) -> Rank {
        self.changes += 1;
        match state {
            SlotState::Idle => Rank::Idle(self.changes),
            SlotState::Busy => Rank::Busy(Reverse(self.changes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SlotState::{Busy, Idle};
    use super::*;

    /// The address of a holder.
    fn owner(name: &str) -> Network {
        let names = ["ann", "bob", "cid", "flood"];
        let number = names.iter().position(|known| *known == name).expect("a known name");
        Network::of([192, 0, 2, u8::try_from(number).unwrap()].into())
    }

    /// Slots that are all taken, in this order; each value is the holder's name and a number.
    fn full(taken: &[(&'static str, SlotState)]) -> (FairLimit<String>, Vec<SlotId>) {
        let mut limit = FairLimit::new(taken.len());
        let ids = taken.iter().enumerate().map(|(number, (name, state))| {
            limit.acquire(owner(name), *state, format!("{name}{number}")).expect("there is room").id
        });
        let ids = ids.collect();
        (limit, ids)
    }

    #[test]
    fn an_address_with_few_takes_from_one_with_most() {
        const ANN: (&str, SlotState) = ("ann", Idle);
        const BUSY_ANN: (&str, SlotState) = ("ann", Busy);
        const BOB: (&str, SlotState) = ("bob", Idle);
        const BUSY_BOB: (&str, SlotState) = ("bob", Busy);
        for (taken, newcomer, evicted) in [
            // The longest idle, never a busy one instead.
            (&[ANN, ANN, ANN][..], "bob", Some("ann0")),
            (&[BUSY_ANN, ANN, ANN], "bob", Some("ann1")),
            (&[BOB, ANN, ANN, BUSY_ANN], "cid", Some("ann1")),
            // Without an idle one, the newest busy one.
            (&[BOB, BUSY_ANN, BUSY_ANN, BUSY_ANN], "cid", Some("ann3")),
            (&[BUSY_ANN, BUSY_ANN, BUSY_ANN], "bob", Some("ann2")),
            // But not if the newcomer would then hold more.
            (&[BUSY_ANN], "bob", None),
            (&[ANN], "bob", Some("ann0")),
            (&[BUSY_ANN, BUSY_ANN, BUSY_BOB], "bob", None),
            (&[BUSY_ANN, BUSY_ANN, BUSY_ANN, BUSY_BOB], "bob", Some("ann2")),
            // Of two that hold as much, the one with an idle slot gives it.
            (&[ANN, BUSY_BOB], "cid", Some("ann0")),
            (&[BUSY_ANN, BOB], "cid", Some("bob1")),
            // An address that holds as many as any gives its own.
            (&[BOB, ANN, ANN], "ann", Some("ann1")),
            (&[BOB, BUSY_ANN, BUSY_ANN], "ann", None),
            (&[ANN, BOB], "ann", Some("ann0")),
            (&[BUSY_ANN, BOB], "ann", None),
        ] {
            let (mut limit, _) = full(taken);
            let acquired = limit.acquire(owner(newcomer), Idle, String::new());
            let expected = evicted.map(|name| Some(name.to_owned())).ok_or(Full);
            assert_eq!(acquired.map(|acquired| acquired.evicted), expected, "{newcomer} after {taken:?}");
        }
    }

    #[test]
    fn the_slot_that_became_idle_last_is_evicted_last() {
        let (mut limit, ids) = full(&[("ann", Idle), ("ann", Idle), ("ann", Idle)]);
        limit.set_state(ids[0], Busy);
        limit.set_state(ids[1], Busy);
        limit.set_state(ids[0], Idle);
        let evicted = |limit: &mut FairLimit<String>| limit.evict_idle();
        assert_eq!(evicted(&mut limit).as_deref(), Some("ann2"));
        assert_eq!(evicted(&mut limit).as_deref(), Some("ann0"));
        assert_eq!(evicted(&mut limit), None);
    }

    #[test]
    fn a_released_slot_is_free() {
        let (mut limit, ids) = full(&[("ann", Busy)]);
        assert_eq!(limit.acquire(owner("bob"), Busy, String::new()), Err(Full));
        assert_eq!(limit.release(ids[0]).as_deref(), Some("ann0"));
        assert_eq!(limit.release(ids[0]), None);
        limit.set_state(ids[0], Idle);
        let acquired = limit.acquire(owner("bob"), Busy, String::new()).unwrap();
        assert_eq!(acquired.evicted, None);
        limit.release(acquired.id);
        assert!(limit.slots.is_empty());
    }

    #[test]
    fn the_flood_of_one_address_never_refuses_another() {
        let mut limit = FairLimit::new(100);
        for round in 0..1000 {
            let state = if round % 3 == 0 { Idle } else { Busy };
            let _full = limit.acquire(owner("flood"), state, "flood");
            if round % 10 == 0 && round < 490 {
                let acquired = limit.acquire(owner("ann"), Busy, "ann").expect("ann holds less");
                assert_ne!(acquired.evicted, Some("ann"));
            }
        }
        assert_eq!((limit.slots.len(), limit.slots.count(&owner("ann"))), (100, 49));
    }
}
