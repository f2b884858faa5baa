//! Lists that are kept between requests: each once, however many sessions have it, and within a budget of bytes.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The bytes of all lists together.
#[derive(Debug)]
pub(crate) struct InternerBudget {
    max: usize,
    used: AtomicUsize,
}

/// A value with a size.
pub(crate) trait Weigh {
    /// The bytes that it takes, roughly.
    fn bytes(&self) -> usize;
}

/// Values, each of which is there once.
#[derive(Debug)]
pub(crate) struct Interner<T> {
    budget: Arc<InternerBudget>,
    /// By hash.
    values: Mutex<HashMap<u64, Vec<Weak<Interned<T>>>>>,
}

/// A value, and the bytes that it takes until the last of its users drops it.
#[derive(Debug)]
pub(crate) struct Interned<T> {
    value: T,
    /// Its bytes; `None`: the budget has too few.
    reserved: Option<(Arc<InternerBudget>, usize)>,
}

impl InternerBudget {
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, used: AtomicUsize::new(0) })
    }

    fn take(&self, bytes: usize) -> bool {
        let more = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.max);
        self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }
}

impl<T: Weigh + Hash + Eq> Interner<T> {
    pub(crate) fn new(budget: &Arc<InternerBudget>) -> Self {
        Self { budget: Arc::clone(budget), values: Mutex::default() }
    }

    /// The value that is there if it is equal, or else this one, which may be kept if the budget has its bytes.
    pub(crate) fn share(&self, value: T) -> Arc<Interned<T>> {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        let hash = hasher.finish();
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        values.retain(|_, equal| {
            equal.retain(|one| one.strong_count() > 0);
            !equal.is_empty()
        });
        let known = values.get(&hash).into_iter().flatten().filter_map(Weak::upgrade);
        if let Some(known) = known.into_iter().find(|known| known.value == value) {
            return known;
        }
        let bytes = value.bytes();
        let reserved = self.budget.take(bytes).then(|| (Arc::clone(&self.budget), bytes));
        let is_kept = reserved.is_some();
        let interned = Arc::new(Interned { value, reserved });
        if is_kept {
            values.entry(hash).or_default().push(Arc::downgrade(&interned));
        }
        interned
    }
}

impl<T> Interned<T> {
    /// False if the budget has too few bytes for it.
    pub(crate) fn may_be_kept(&self) -> bool {
        self.reserved.is_some()
    }
}

impl<T> Deref for Interned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Drop for Interned<T> {
    fn drop(&mut self) {
        if let Some((budget, bytes)) = self.reserved.take() {
            budget.used.fetch_sub(bytes, Ordering::AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Weigh for String {
        fn bytes(&self) -> usize {
            self.len()
        }
    }

    #[test]
    fn equal_values_take_room_once() {
        let budget = InternerBudget::new(10);
        let (one, other) = (Interner::new(&budget), Interner::new(&budget));
        let used = || budget.used.load(Ordering::SeqCst);
        let all: Vec<_> = (0..100).map(|_| one.share("12345678".to_owned())).collect();
        assert!(all.iter().all(|value| value.may_be_kept() && Arc::ptr_eq(value, &all[0])));
        assert_eq!(used(), 8);
        let large = other.share("abc".to_owned());
        assert!(!large.may_be_kept() && large.as_str() == "abc");
        let small = other.share("ab".to_owned());
        assert!(small.may_be_kept() && used() == 10);
        drop(all);
        assert_eq!(used(), 2);
        assert!(other.share("abc".to_owned()).may_be_kept());
        assert_eq!((used(), one.values.lock().unwrap().len()), (2, 1));
        one.share("x".to_owned());
        assert_eq!(one.values.lock().unwrap().len(), 1, "those that nothing uses are gone");
    }
}
