//! A budget of bytes that callers share.
//!
//! A [`Budget`] counts the bytes that are kept for all callers together, and for each of them. A holder may take its share of
//! what stays free ([`is_within_share`]). Bytes are taken as a [`Reservation`], which gives them back when it is dropped.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::owner::Owner;
use crate::share::is_within_share;

/// Bytes that are shared by all callers. Cloning is cheap, and clones share.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    capacity: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    holders: HashMap<Owner, usize>,
}

/// A holder asks for more than its share of what is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no room for {bytes} more bytes")]
pub struct OverBudget {
    /// The bytes that were asked for.
    pub bytes: usize,
}

/// Bytes that a holder has taken out of a [`Budget`]; given back on drop.
#[derive(Debug)]
pub struct Reservation {
    budget: Budget,
    owner: Owner,
    bytes: usize,
}

impl Budget {
    /// A budget of this many bytes.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self(Arc::new(Inner { capacity, taken: Mutex::default() }))
    }

    /// Takes bytes for a holder.
    ///
    /// # Errors
    /// When the holder would have more than four times what stays free.
    pub fn reserve(&self, owner: &Owner, bytes: usize) -> Result<Reservation, OverBudget> {
        self.take(owner, bytes)?;
        Ok(Reservation { budget: self.clone(), owner: owner.clone(), bytes })
    }

    /// A reservation of no bytes, which can grow.
    #[must_use]
    pub fn empty(&self, owner: &Owner) -> Reservation {
        Reservation { budget: self.clone(), owner: owner.clone(), bytes: 0 }
    }

    /// The bytes that all holders have taken.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.lock().all
    }

    /// The bytes that one holder has taken.
    #[must_use]
    pub fn taken_by(&self, owner: &Owner) -> usize {
        self.lock().holders.get(owner).copied().unwrap_or_default()
    }

    fn take(&self, owner: &Owner, bytes: usize) -> Result<(), OverBudget> {
        let mut taken = self.lock();
        let held = taken.holders.get(owner).copied().unwrap_or_default();
        let fits = taken.all.checked_add(bytes).and_then(|all| self.0.capacity.checked_sub(all));
        if !fits.is_some_and(|free| is_within_share(held + bytes, free)) {
            return Err(OverBudget { bytes });
        }
        if bytes > 0 {
            taken.all += bytes;
            *taken.holders.entry(owner.clone()).or_default() += bytes;
        }
        Ok(())
    }

    fn give_back(&self, owner: &Owner, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let mut taken = self.lock();
        taken.all -= bytes;
        if let Entry::Occupied(mut held) = taken.holders.entry(owner.clone()) {
            *held.get_mut() -= bytes;
            if *held.get() == 0 {
                held.remove();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation {
    /// Takes more bytes for the same holder.
    ///
    /// # Errors
    /// See [`Budget::reserve`]; then the reservation stays as it was.
    pub fn grow(&mut self, bytes: usize) -> Result<(), OverBudget> {
        self.budget.take(&self.owner, bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// A reservation of no bytes for the same holder, out of the same budget.
    #[must_use]
    pub fn sibling(&self) -> Self {
        self.budget.empty(&self.owner)
    }

    /// Gives bytes back, at most as many as are reserved.
    pub fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.budget.give_back(&self.owner, bytes);
        self.bytes -= bytes;
    }

    /// Grows or shrinks to this many bytes.
    ///
    /// # Errors
    /// See [`Budget::reserve`]; then the reservation stays as it was.
    pub fn resize(&mut self, bytes: usize) -> Result<(), OverBudget> {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.grow(more),
            None => {
                self.shrink(self.bytes - bytes);
                Ok(())
            }
        }
    }

    /// The bytes that are reserved.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.give_back(&self.owner, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Owner {
        Owner::Principal(name.into())
    }

    /// The reservations of one byte that a holder gets.
    fn fill(budget: &Budget, owner: &Owner) -> Vec<Reservation> {
        std::iter::from_fn(|| budget.reserve(owner, 1).ok()).collect()
    }

    #[test]
    fn a_lone_holder_gets_four_fifths() {
        let budget = Budget::new(100);
        assert_eq!(fill(&budget, &owner("ann")).len(), 80);
    }

    #[test]
    fn a_second_holder_always_finds_room() {
        let budget = Budget::new(900);
        let first = fill(&budget, &owner("ann"));
        let second = fill(&budget, &owner("bob"));
        assert_eq!((first.len(), second.len()), (720, 144));
        assert!(budget.reserve(&owner("cid"), 10).is_ok());
        assert!(budget.reserve(&owner("ann"), 1).is_err());
    }

    #[test]
    fn a_dropped_reservation_is_given_back() {
        let (budget, ann) = (Budget::new(100), owner("ann"));
        let mut reservation = budget.reserve(&ann, 50).unwrap();
        assert_eq!(reservation.grow(31), Err(OverBudget { bytes: 31 }));
        reservation.grow(30).unwrap();
        assert_eq!((budget.taken(), budget.taken_by(&ann), reservation.bytes()), (80, 80, 80));
        drop(reservation);
        assert_eq!((budget.taken(), budget.taken_by(&ann)), (0, 0));
        assert!(budget.lock().holders.is_empty());
    }

    #[test]
    fn a_reservation_shrinks_to_nothing() {
        let (budget, ann) = (Budget::new(100), owner("ann"));
        let most = budget.reserve(&ann, 80).unwrap();
        let mut reservation = budget.empty(&ann);
        assert!(reservation.grow(1).is_err());
        drop(most);
        reservation.grow(30).unwrap();
        reservation.shrink(10);
        assert_eq!((budget.taken(), reservation.bytes()), (20, 20));
        reservation.shrink(30);
        assert_eq!((budget.taken(), reservation.bytes()), (0, 0));
        for (bytes, fits) in [(80, true), (81, false), (0, true)] {
            let before = reservation.bytes();
            assert_eq!(reservation.resize(bytes).is_ok(), fits);
            assert_eq!(budget.taken(), if fits { bytes } else { before });
        }
    }

    #[test]
    fn absurd_sizes_are_refused() {
        let budget = Budget::new(100);
        let _held = budget.reserve(&owner("ann"), 1).unwrap();
        assert!(budget.reserve(&owner("bob"), usize::MAX).is_err());
    }
}
