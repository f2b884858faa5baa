//! How long things take.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of the buckets, in seconds: from what a fast tool takes to what a deadline allows.
pub(crate) const BOUNDS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 15.0, 60.0, 300.0];

/// Times, counted by how long they are.
#[derive(Debug, Default)]
pub struct Histogram {
    /// The last one is for what is longer than all bounds.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    /// Microseconds: 584,000 years of them fit.
    sum: AtomicU64,
}

impl Histogram {
    /// Counts one.
    pub fn observe(&self, time: Duration) {
        let seconds = time.as_secs_f64();
        let bucket = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// How many are not longer than each bound, and how many there are in all.
    pub(crate) fn cumulated(&self) -> [u64; BOUNDS.len() + 1] {
        let mut total = 0;
        std::array::from_fn(|at| {
            total += self.buckets[at].load(Ordering::Relaxed);
            total
        })
    }

    /// All of them together, in seconds.
    pub(crate) fn sum(&self) -> f64 {
        Duration::from_micros(self.sum.load(Ordering::Relaxed)).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_bucket_that_it_just_fits_and_in_all_above() {
        let histogram = Histogram::default();
        for micros in [0, 500, 501, 1_000_000, 300_000_000, 300_000_001] {
            histogram.observe(Duration::from_micros(micros));
        }
        let counts = histogram.cumulated();
        assert_eq!((counts[0], counts[1], counts[8], counts[9], counts[13], counts[14]), (2, 3, 3, 4, 5, 6));
        assert!((histogram.sum() - 601.001_002).abs() < 1e-9);
    }
}
