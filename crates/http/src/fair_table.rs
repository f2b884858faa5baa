//! A limited number of places, shared by owners, as a value without I/O.
//!
//! In a full table, a new entry replaces an entry of the owner with the most entries. If that owner has at least two
//! more than the owner of the new entry, one of its entries is replaced even if it is in use, so that an owner with few
//! entries is never refused because another has many. Between owners with about as many, and within one owner, only an
//! unused entry is replaced: an entry in use is never lost to an owner that would then have as many. An owner with
//! fewer entries never yields to one with more.
//!
//! [`Rank`] decides which entry of an owner yields. The age of an entry is checked only when it is about to yield, and
//! not again for [`REPLACEABLE`]: an entry costs O(log n) on insertion, on removal, and once in that time.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use protomcp_server::Owner;
use tokio::time::Instant;

/// The time without use after which an entry yields to one of an owner with as many.
pub(crate) const REPLACEABLE: Duration = Duration::from_secs(60);

/// The time for an entry to be established. After it the entry yields to any other.
pub(crate) const ESTABLISHED_WITHIN: Duration = Duration::from_secs(10);

/// The state of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Use {
    /// True if its handshake is complete.
    pub(crate) is_established: bool,
    /// The time of the last use; now, if it is in use.
    pub(crate) last: Instant,
}

/// The order in which entries yield.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Began at this time and was not established in time.
    Stuck(Instant),
    /// Was not used before this time; it may have been since.
    Used(Instant),
    /// Began at this time, a moment ago.
    Young(Instant),
}

/// The outcome for a new entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Admission<V> {
    /// It takes a free place.
    Free,
    /// It replaces this one.
    InsteadOf(V),
    /// It is rejected.
    Refused,
}

/// Entries with their owners.
#[derive(Debug)]
pub(crate) struct FairTable<V> {
    limit: usize,
    next: u64,
    entries: HashMap<u64, Entry<V>>,
    holders: HashMap<Owner, BTreeSet<(Rank, u64)>>,
    /// Holders by the number of their entries. Of those with as many, the last is the one whose entry yields first.
    by_size: BTreeSet<Holder>,
    /// Entries that are young, oldest first, with the times at which they began; some are gone.
    young: VecDeque<(Instant, u64)>,
}

type Holder = (usize, Reverse<(Rank, u64)>, Owner);

#[derive(Debug)]
struct Entry<V> {
    value: V,
    owner: Owner,
    rank: Rank,
}

impl<V> FairTable<V> {
    /// At most `limit` entries.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            next: 0,
            entries: HashMap::new(),
            holders: HashMap::new(),
            by_size: BTreeSet::new(),
            young: VecDeque::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn get(&self, number: u64) -> Option<&V> {
        self.entries.get(&number).map(|entry| &entry.value)
    }

    /// Inserts an entry if there is a place for it, and returns its number. `look` returns the state of an entry.
    pub(crate) fn insert(
        &mut self,
        value: V,
        owner: &Owner,
        now: Instant,
        look: impl Fn(&V) -> Use,
    ) -> (Admission<V>, Option<u64>) {
        let admission = if self.entries.len() < self.limit {
            Admission::Free
        } else {
            match self.yielding(owner, now, &look).and_then(|number| self.remove(number)) {
                Some(value) => Admission::InsteadOf(value),
                None => return (Admission::Refused, None),
            }
        };
        let number = self.next;
        self.next += 1;
        self.entries.insert(number, Entry { value, owner: owner.clone(), rank: Rank::Young(now) });
        self.change(owner, |held| held.insert((Rank::Young(now), number)));
        self.forget_young();
        self.young.push_back((now, number));
        (admission, Some(number))
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<V> {
        let Entry { value, owner, rank } = self.entries.remove(&number)?;
        self.change(&owner, |held| held.remove(&(rank, number)));
        Some(value)
    }

    /// The entry that yields to one of this owner.
    fn yielding(&mut self, newcomer: &Owner, now: Instant, look: &impl Fn(&V) -> Use) -> Option<u64> {
        self.grow_up(now, look);
        let held = self.holders.get(newcomer).map_or(0, BTreeSet::len);
        let (most, (rank, number)) = self.largest(now, look)?;
        if most > held + 1 || most > held && rank.is_unused(now) {
            return Some(number);
        }
        let (rank, number) = self.first(newcomer, now, look)?;
        rank.is_unused(now).then_some(number)
    }

    /// The number of entries of the largest holder, and the entry of it that yields.
    fn largest(&mut self, now: Instant, look: &impl Fn(&V) -> Use) -> Option<(usize, (Rank, u64))> {
        loop {
            let (count, Reverse(known), owner) = self.by_size.last()?.clone();
            // After the update another holder of the same size may be first.
            if self.first(&owner, now, look)? == known {
                return Some((count, known));
            }
        }
    }

    /// The entry of an owner that yields first.
    fn first(&mut self, owner: &Owner, now: Instant, look: &impl Fn(&V) -> Use) -> Option<(Rank, u64)> {
        loop {
            let (rank, number) = *self.holders.get(owner)?.first()?;
            let current = match rank {
                Rank::Used(last) if now.saturating_duration_since(last) < REPLACEABLE => rank,
                Rank::Stuck(_) | Rank::Used(_) => match look(&self.entries.get(&number)?.value) {
                    Use { is_established: true, last } => Rank::Used(last),
                    Use { is_established: false, .. } => rank,
                },
                Rank::Young(_) => rank,
            };
            if current <= rank {
                return Some((rank, number));
            }
            self.set_rank(number, current);
        }
    }

    /// Ranks entries that are no longer young.
    fn grow_up(&mut self, now: Instant, look: &impl Fn(&V) -> Use) {
        while let Some(&(begun, number)) = self.young.front()
            && now.saturating_duration_since(begun) >= ESTABLISHED_WITHIN
        {
            self.young.pop_front();
            let Some(entry) = self.entries.get(&number) else { continue };
            let Use { is_established, last } = look(&entry.value);
            self.set_rank(number, if is_established { Rank::Used(last) } else { Rank::Stuck(begun) });
        }
    }

    /// Forgets young entries that are gone, so that there are never more than twice as many as places.
    fn forget_young(&mut self) {
        if self.young.len() >= 2 * self.limit {
            let entries = &self.entries;
            self.young.retain(|(_, number)| entries.contains_key(number));
        }
    }

    fn set_rank(&mut self, number: u64, rank: Rank) {
        let Some(entry) = self.entries.get_mut(&number) else { return };
        let (owner, before) = (entry.owner.clone(), std::mem::replace(&mut entry.rank, rank));
        self.change(&owner, |held| {
            held.remove(&(before, number));
            held.insert((rank, number))
        });
    }

    /// Changes the entries of an owner, and restores the order of the holders.
    fn change(&mut self, owner: &Owner, change: impl FnOnce(&mut BTreeSet<(Rank, u64)>) -> bool) {
        let size = |held: &BTreeSet<_>| held.first().map(|first| (held.len(), Reverse(*first), owner.clone()));
        let held = self.holders.entry(owner.clone()).or_default();
        if let Some(before) = size(held) {
            self.by_size.remove(&before);
        }
        change(held);
        match size(held) {
            Some(after) => drop(self.by_size.insert(after)),
            None => drop(self.holders.remove(owner)),
        }
    }
}

impl Rank {
    fn is_unused(self, now: Instant) -> bool {
        match self {
            Self::Stuck(_) => true,
            Self::Used(last) => now.saturating_duration_since(last) >= REPLACEABLE,
            Self::Young(_) => false,
        }
    }
}

#[cfg(test)]
mod tests;
