//! A limited number of sessions, shared by owners, as a value without I/O.
//!
//! In a full table, a new session replaces another as [`FairTable`] has it. One that was not established in time yields
//! first, then the one that is unused for longest. The age of a session is checked only when it is about to yield, and not
//! again for [`REPLACEABLE`]: a session costs O(log n) on insertion, on removal, and once in that time.

use std::collections::VecDeque;
use std::time::Duration;

use protomcp_fair::{FairTable, Largest, Owner};
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
pub(crate) struct LimitedTable<V> {
    limit: usize,
    entries: FairTable<Owner, Rank, V>,
    /// Entries that are young, oldest first, with the times at which they began; some are gone.
    young: VecDeque<(Instant, u64)>,
}

impl<V> LimitedTable<V> {
    /// At most `limit` entries.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, entries: FairTable::new(), young: VecDeque::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn get(&self, number: u64) -> Option<&V> {
        self.entries.get(number)
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
        let number = self.entries.insert(owner.clone(), Rank::Young(now), value);
        self.forget_young();
        self.young.push_back((now, number));
        (admission, Some(number))
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<V> {
        self.entries.remove(number)
    }

    /// The entry that yields to one of this owner.
    fn yielding(&mut self, newcomer: &Owner, now: Instant, look: &impl Fn(&V) -> Use) -> Option<u64> {
        self.grow_up(now, look);
        // After the update of one holder another of the same size may be the largest.
        loop {
            let Largest { owner, rank, number, .. } = self.entries.largest()?;
            if self.update_first(&owner, now, look)? == (rank, number) {
                break;
            }
        }
        self.update_first(newcomer, now, look);
        self.entries.yielding(newcomer, |rank| rank.is_unused(now))
    }

    /// Updates the ranks of an owner's entries until the one that yields first is known, and returns it.
    fn update_first(&mut self, owner: &Owner, now: Instant, look: &impl Fn(&V) -> Use) -> Option<(Rank, u64)> {
        loop {
            let (rank, number) = self.entries.first(owner)?;
            let current = match rank {
                Rank::Used(last) if now.saturating_duration_since(last) < REPLACEABLE => rank,
                Rank::Stuck(_) | Rank::Used(_) => match look(self.entries.get(number)?) {
                    Use { is_established: true, last } => Rank::Used(last),
                    Use { is_established: false, .. } => rank,
                },
                Rank::Young(_) => rank,
            };
            if current <= rank {
                return Some((rank, number));
            }
            self.entries.set_rank(number, current);
        }
    }

    /// Ranks entries that are no longer young.
    fn grow_up(&mut self, now: Instant, look: &impl Fn(&V) -> Use) {
        while let Some(&(begun, number)) = self.young.front()
            && now.saturating_duration_since(begun) >= ESTABLISHED_WITHIN
        {
            self.young.pop_front();
            let Some(value) = self.entries.get(number) else { continue };
            let Use { is_established, last } = look(value);
            self.entries.set_rank(number, if is_established { Rank::Used(last) } else { Rank::Stuck(begun) });
        }
    }

    /// Forgets young entries that are gone, so that there are never more than twice as many as places.
    fn forget_young(&mut self) {
        if self.young.len() >= 2 * self.limit {
            let entries = &self.entries;
            self.young.retain(|(_, number)| entries.get(*number).is_some());
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
