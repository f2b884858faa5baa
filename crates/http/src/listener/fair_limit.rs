//! Decides which address gets a place when all places are taken.
//!
//! A place is a connection, or a TLS handshake. While one is free, every address may have it. When none is, an address
//! that holds fewer than another takes one from an address that holds most: the place that has been idle for longest, or
//! without an idle one the place that became busy last, if the other then still holds no less. An address that holds most
//! itself takes its own idle place. So one address alone may have all places, and keeps no other address out.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use protomcp_server::Owner;

/// Places, each with a value that its holder is told through when the place is taken away.
#[derive(Debug)]
pub(super) struct FairLimit<T> {
    max: usize,
    /// Numbers the changes of all places, so that they have an order.
    changes: u64,
    places: HashMap<PlaceId, Place<T>>,
    holders: HashMap<Owner, Holder>,
    /// How many places each holder has and whether one is idle; the holder that gives one up is last.
    ranking: BTreeSet<(usize, bool, Owner)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PlaceId(u64);

/// Whether work would be lost with a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Idle,
    Busy,
}

/// A place was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Admitted<T> {
    pub(super) id: PlaceId,
    /// The value of the place that was taken away for it.
    pub(super) evicted: Option<T>,
}

/// All places are taken, and none by an address that holds more.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full;

#[derive(Debug)]
struct Place<T> {
    owner: Owner,
    state: State,
    /// The number of its last change.
    since: u64,
    value: T,
}

/// The places of one address by their last change.
#[derive(Debug, Default)]
struct Holder {
    idle: BTreeMap<u64, PlaceId>,
    busy: BTreeMap<u64, PlaceId>,
}

impl<T> FairLimit<T> {
    /// At least one place.
    pub(super) fn new(max: usize) -> Self {
        Self { max: max.max(1), changes: 0, places: HashMap::new(), holders: HashMap::new(), ranking: BTreeSet::new() }
    }

    /// Gives an address a place.
    pub(super) fn admit(&mut self, owner: &Owner, state: State, value: T) -> Result<Admitted<T>, Full> {
        let evicted = if self.places.len() < self.max {
            None
        } else {
            let victim = self.victim(owner).ok_or(Full)?;
            self.leave(victim)
        };
        self.changes += 1;
        let (id, since) = (PlaceId(self.changes), self.changes);
        self.places.insert(id, Place { owner: owner.clone(), state, since, value });
        self.change(owner, |holder| {
            holder.places(state).insert(since, id);
        });
        Ok(Admitted { id, evicted })
    }

    /// Says whether work is done in a place. A place that was taken away does not matter.
    pub(super) fn set_state(&mut self, id: PlaceId, state: State) {
        let Some(place) = self.places.get_mut(&id) else { return };
        self.changes += 1;
        let before = (place.state, place.since);
        (place.state, place.since) = (state, self.changes);
        let (owner, since) = (place.owner.clone(), place.since);
        self.change(&owner, |holder| {
            holder.places(before.0).remove(&before.1);
            holder.places(state).insert(since, id);
        });
    }

    /// Frees a place, if it has not been taken away.
    pub(super) fn leave(&mut self, id: PlaceId) -> Option<T> {
        let Place { owner, state, since, value } = self.places.remove(&id)?;
        self.change(&owner, |holder| {
            holder.places(state).remove(&since);
        });
        Some(value)
    }

    /// Takes away the longest idle place of an address that holds most.
    pub(super) fn evict_idle(&mut self) -> Option<T> {
        let (_, _, largest) = self.ranking.last()?;
        let (_, id) = self.holders.get(largest)?.idle.first_key_value()?;
        self.leave(*id)
    }

    fn victim(&self, newcomer: &Owner) -> Option<PlaceId> {
        let own = self.holders.get(newcomer).map_or(0, Holder::count);
        let (most, _, largest) = self.ranking.last()?;
        let giver = if *most > own { largest } else { newcomer };
        let holder = self.holders.get(giver)?;
        let idle = holder.idle.first_key_value();
        let busy = || holder.busy.last_key_value().filter(|_| *most > own + 1);
        idle.or_else(busy).map(|(_, id)| *id)
    }

    /// Changes a holder, and its rank with it.
    fn change(&mut self, owner: &Owner, act: impl FnOnce(&mut Holder)) {
        let holder = self.holders.entry(owner.clone()).or_default();
        let before = holder.rank();
        act(holder);
        let after = holder.rank();
        if after.0 == 0 {
            self.holders.remove(owner);
        }
        if before != after {
            self.ranking.remove(&(before.0, before.1, owner.clone()));
            if after.0 > 0 {
                self.ranking.insert((after.0, after.1, owner.clone()));
            }
        }
    }
}

impl Holder {
    fn places(&mut self, state: State) -> &mut BTreeMap<u64, PlaceId> {
        match state {
            State::Idle => &mut self.idle,
            State::Busy => &mut self.busy,
        }
    }

    fn count(&self) -> usize {
        self.idle.len() + self.busy.len()
    }

    fn rank(&self) -> (usize, bool) {
        (self.count(), !self.idle.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::State::{Busy, Idle};
    use super::*;

    fn owner(name: &str) -> Owner {
        Owner::Principal(name.into())
    }

    /// Places that are all taken, in this order; each is called like its holder and a number.
    fn full(taken: &[(&'static str, State)]) -> (FairLimit<String>, Vec<PlaceId>) {
        let mut limit = FairLimit::new(taken.len());
        let ids = taken.iter().enumerate().map(|(number, (name, state))| {
            limit.admit(&owner(name), *state, format!("{name}{number}")).expect("there is room").id
        });
        let ids = ids.collect();
        (limit, ids)
    }

    #[test]
    fn an_address_with_few_takes_from_one_with_most() {
        const ANN: (&str, State) = ("ann", Idle);
        const BUSY_ANN: (&str, State) = ("ann", Busy);
        const BOB: (&str, State) = ("bob", Idle);
        const BUSY_BOB: (&str, State) = ("bob", Busy);
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
            // Of two that hold as much, the one with an idle place gives it.
            (&[ANN, BUSY_BOB], "cid", Some("ann0")),
            (&[BUSY_ANN, BOB], "cid", Some("bob1")),
            // An address that holds most gives its own.
            (&[BOB, ANN, ANN], "ann", Some("ann1")),
            (&[BOB, BUSY_ANN, BUSY_ANN], "ann", None),
            (&[ANN, BOB], "ann", Some("ann0")),
            (&[BUSY_ANN, BOB], "ann", None),
        ] {
            let (mut limit, _) = full(taken);
            let admitted = limit.admit(&owner(newcomer), Idle, String::new());
            let expected = evicted.map(|name| Some(name.to_owned())).ok_or(Full);
            assert_eq!(admitted.map(|admitted| admitted.evicted), expected, "{newcomer} after {taken:?}");
        }
    }

    #[test]
    fn what_became_idle_last_goes_last() {
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
    fn a_place_that_was_left_is_free() {
        let (mut limit, ids) = full(&[("ann", Busy)]);
        assert_eq!(limit.admit(&owner("bob"), Busy, String::new()), Err(Full));
        assert_eq!(limit.leave(ids[0]).as_deref(), Some("ann0"));
        assert_eq!(limit.leave(ids[0]), None);
        limit.set_state(ids[0], Idle);
        let admitted = limit.admit(&owner("bob"), Busy, String::new()).unwrap();
        assert_eq!(admitted.evicted, None);
        limit.leave(admitted.id);
        assert!(limit.places.is_empty() && limit.holders.is_empty() && limit.ranking.is_empty());
    }

    #[test]
    fn the_flood_of_one_address_never_refuses_another() {
        let mut limit = FairLimit::new(100);
        for round in 0..1000 {
            let state = if round % 3 == 0 { Idle } else { Busy };
            let _full = limit.admit(&owner("flood"), state, "flood");
            if round % 10 == 0 && round < 490 {
                let admitted = limit.admit(&owner("ann"), Busy, "ann").expect("ann holds less");
                assert_ne!(admitted.evicted, Some("ann"));
            }
        }
        assert_eq!((limit.places.len(), limit.holders[&owner("ann")].count()), (100, 49));
    }
}
