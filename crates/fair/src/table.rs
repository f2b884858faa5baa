//! Entries of owners, and the order in which they yield when a table is full.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

/// Entries with their owners. The rank of an entry says how early it yields among the entries of its owner: the lowest
/// is first, and of two with one rank the earlier entry.
///
/// Between owners, an entry of the largest yields: even one in use if that owner has at least two entries more than the owner
/// of the new one, so that an owner with few is never refused because another has many. Between owners with about as many,
/// and within one owner, only an unused entry yields: one in use is never lost to an owner that would then have as many. An
/// owner with fewer entries never yields to one with more. The table does not know its limit: the caller asks for the entry
/// that yields, and removes it.
///
/// Each operation takes O(log n).
///
/// ```
/// use protomcp_fair::FairTable;
///
/// let mut table = FairTable::new();
/// let [first, second] = ["a", "b"].map(|value| table.insert("ann", 1, value));
/// table.set_rank(first, 2);
/// assert_eq!(table.yielding(&"bob", |_rank| false), Some(second));
/// assert_eq!(table.yielding(&"ann", |_rank| false), None);
/// assert_eq!(table.remove(second), Some("b"));
/// ```
#[derive(Debug)]
pub struct FairTable<K, R, V> {
    next: u64,
    entries: HashMap<u64, Entry<K, R, V>>,
    holders: HashMap<K, BTreeSet<(R, u64)>>,
    /// Holders by the number of their entries. Of those with as many, the last is the one whose entry yields first.
    by_size: BTreeSet<Holder<K, R>>,
}

type Holder<K, R> = (usize, Reverse<(R, u64)>, K);

#[derive(Debug)]
struct Entry<K, R, V> {
    owner: K,
    rank: R,
    value: V,
}

/// The owner with the most entries, and the one of them that yields first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Largest<K, R> {
    /// The owner.
    pub owner: K,
    /// The number of its entries.
    pub count: usize,
    /// The rank of the first.
    pub rank: R,
    /// The number of the first.
    pub number: u64,
}

impl<K: Clone + Ord + Hash, R: Copy + Ord, V> FairTable<K, R, V> {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self { next: 0, entries: HashMap::new(), holders: HashMap::new(), by_size: BTreeSet::new() }
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of an entry.
    #[must_use]
    pub fn get(&self, number: u64) -> Option<&V> {
        self.entries.get(&number).map(|entry| &entry.value)
    }

    /// The number of entries of an owner.
    #[must_use]
    pub fn count(&self, owner: &K) -> usize {
        self.holders.get(owner).map_or(0, BTreeSet::len)
    }

    /// Inserts an entry, and returns its number. Later entries have higher numbers.
    pub fn insert(&mut self, owner: K, rank: R, value: V) -> u64 {
        let number = self.next;
        self.next += 1;
        self.change(&owner, |held| held.insert((rank, number)));
        self.entries.insert(number, Entry { owner, rank, value });
        number
    }

    /// Removes an entry, if it is there.
    pub fn remove(&mut self, number: u64) -> Option<V> {
        let Entry { owner, rank, value } = self.entries.remove(&number)?;
        self.change(&owner, |held| held.remove(&(rank, number)));
        Some(value)
    }

    /// Changes the rank of an entry, if it is there.
    pub fn set_rank(&mut self, number: u64, rank: R) {
        let Some(entry) = self.entries.get_mut(&number) else { return };
        let (owner, before) = (entry.owner.clone(), std::mem::replace(&mut entry.rank, rank));
        self.change(&owner, |held| {
            held.remove(&(before, number));
            held.insert((rank, number))
        });
    }

    /// The entry of an owner that yields first, with its rank.
    #[must_use]
    pub fn first(&self, owner: &K) -> Option<(R, u64)> {
        self.holders.get(owner)?.first().copied()
    }

    /// The owner with the most entries. Of those with as many, the one whose entry yields first.
    #[must_use]
    pub fn largest(&self) -> Option<Largest<K, R>> {
        let (count, Reverse((rank, number)), owner) = self.by_size.last()?.clone();
        Some(Largest { owner, count, rank, number })
    }

    /// The entry that yields to a new one of this owner.
    pub fn yielding(&self, newcomer: &K, is_unused: impl Fn(R) -> bool) -> Option<u64> {
        let held = self.count(newcomer);
        let Largest { count, rank, number, .. } = self.largest()?;
        if count > held + 1 || count > held && is_unused(rank) {
            return Some(number);
        }
        let (rank, number) = self.first(newcomer)?;
        is_unused(rank).then_some(number)
    }

    /// Changes the entries of an owner, and restores the order of the holders.
    fn change(&mut self, owner: &K, change: impl FnOnce(&mut BTreeSet<(R, u64)>) -> bool) {
        let size = |held: &BTreeSet<_>| held.first().map(|first| (held.len(), Reverse(*first), owner.clone()));
        let held = self.holders.entry(owner.clone()).or_default();
        let before = size(held);
        change(held);
        let after = size(held);
        if let Some(before) = before {
            self.by_size.remove(&before);
        }
        match after {
            Some(after) => drop(self.by_size.insert(after)),
            None => drop(self.holders.remove(owner)),
        }
    }
}

impl<K: Clone + Ord + Hash, R: Copy + Ord, V> Default for FairTable<K, R, V> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of owners in this order, a capital letter for one in use: the number of the one that yields.
    fn yields(entries: &str, newcomer: char) -> Option<u64> {
        let mut table = FairTable::new();
        for owner in entries.chars() {
            table.insert(owner.to_ascii_lowercase(), owner.is_uppercase(), ());
        }
        table.yielding(&newcomer, |is_used| !is_used)
    }

    #[test]
    fn the_largest_holder_yields() {
        for (entries, newcomer, expected) in [
            ("aaa", 'b', Some(0)),
            ("Aaa", 'b', Some(1)),
            ("AAA", 'b', Some(0)),
            ("AA", 'b', Some(0)),
            ("A", 'b', None),
            ("a", 'b', Some(0)),
            ("AAB", 'b', None),
            ("AAb", 'b', Some(2)),
            ("AAAB", 'b', Some(0)),
            // Of two with as many, the one with an unused entry yields.
            ("aB", 'c', Some(0)),
            ("Ab", 'c', Some(1)),
            // Within one owner only an unused one yields, and never one of a smaller owner.
            ("baa", 'a', Some(1)),
            ("bAA", 'a', None),
            ("ab", 'a', Some(0)),
            ("", 'a', None),
        ] {
            assert_eq!(yields(entries, newcomer), expected, "{newcomer} after {entries}");
        }
    }

    #[test]
    fn entries_that_are_gone_leave_nothing() {
        let mut table = FairTable::new();
        let numbers = ["a", "a", "b"].map(|owner| table.insert(owner, 1, owner));
        table.set_rank(numbers[1], 0);
        assert_eq!((table.first(&"a"), table.count(&"a")), (Some((0, numbers[1])), 2));
        let largest = Largest { owner: "a", count: 2, rank: 0, number: numbers[1] };
        assert_eq!((table.largest(), table.get(numbers[2])), (Some(largest), Some(&"b")));
        for number in numbers {
            assert!(table.remove(number).is_some() && table.remove(number).is_none());
            table.set_rank(number, 5);
        }
        assert!(table.is_empty() && table.holders.is_empty() && table.by_size.is_empty());
    }
}
