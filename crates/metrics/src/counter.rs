//! What only grows, and what comes and goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// One more.
    pub fn increment(&self) {
        self.add(1);
    }

    /// So many more.
    pub fn add(&self, more: u64) {
        // Figures are read by themselves: nothing else is concluded from them.
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// How many so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How many of something there are. Cloning gives another handle to the same number.
#[derive(Debug, Clone, Default)]
pub struct Gauge(Arc<AtomicU64>);

/// One of those that a [`Gauge`] counts, until it is dropped.
#[derive(Debug)]
pub struct Held(Gauge);

impl Gauge {
    /// One more, for as long as the returned value lives.
    #[must_use]
    pub fn hold(&self) -> Held {
        self.0.fetch_add(1, Ordering::Relaxed);
        Held(self.clone())
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_counts_what_is_held() {
        let gauge = Gauge::default();
        let (first, second) = (gauge.hold(), gauge.clone().hold());
        assert_eq!(gauge.count(), 2);
        drop(first);
        assert_eq!(gauge.count(), 1);
        drop(second);
        assert_eq!(gauge.count(), 0);
    }
}
