//! A histogram of durations without locks; the one of `prometheus-client` has a mutex.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{MetricEncoder, NoLabelSet};

/// The upper bounds of the buckets, in seconds: from the time of a fast tool to a long deadline.
const BOUNDS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 15.0, 60.0, 300.0];

/// Durations, counted in buckets. An observation costs two atomic additions.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    /// The last one counts durations beyond all bounds.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    /// Microseconds: 584,000 years of them fit.
    sum: AtomicU64,
}

impl Histogram {
    /// Counts a duration.
    pub(crate) fn observe(&self, time: Duration) {
        let seconds = time.as_secs_f64();
        let bucket = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Encodes sum, count and buckets.
    pub(crate) fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let buckets = self.buckets();
        let count = buckets.iter().map(|(_, count)| count).sum();
        encoder.encode_histogram::<NoLabelSet>(self.sum(), count, &buckets, None)
    }

    /// The upper bound of each bucket, and the durations in it.
    fn buckets(&self) -> [(f64, u64); BOUNDS.len() + 1] {
        std::array::from_fn(|at| {
            let bound = BOUNDS.get(at).copied().unwrap_or(f64::INFINITY);
            (bound, self.buckets[at].load(Ordering::Relaxed))
        })
    }

    /// The sum of all durations, in seconds.
    fn sum(&self) -> f64 {
        Duration::from_micros(self.sum.load(Ordering::Relaxed)).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_the_first_bucket_that_holds_it() {
        let histogram = Histogram::default();
        for micros in [0, 500, 501, 1_000_000, 300_000_000, 300_000_001] {
            histogram.observe(Duration::from_micros(micros));
        }
        let counts = histogram.buckets().map(|(_, count)| count);
        assert_eq!(counts, [2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1]);
        assert!((histogram.sum() - 601.001_002).abs() < 1e-9);
    }
}
