//! Figures collected over rounds, and their medians.

use std::time::Duration;

/// All figures of one subject.
#[derive(Debug, Default)]
pub struct Figures {
    /// One call at a time: the median of each round.
    pub p50: Measured,
    /// One call at a time: the 99th percentile of each round.
    pub p99: Measured,
    /// Processor time of each call, one at a time.
    pub cpu_single: Measured,
    /// Processor time of each call, many in flight.
    pub cpu_many: Measured,
    /// The time per call, many in flight.
    pub burst: Measured,
    /// From the start of the program to the answer to `tools/list`.
    pub cold: Measured,
}

/// One figure, measured repeatedly.
#[derive(Debug, Default)]
pub struct Measured(Vec<Duration>);

impl Measured {
    /// Adds a measurement.
    pub fn push(&mut self, value: Duration) {
        self.0.push(value);
    }

    /// Adds the sample at this quantile of a sorted round, 0.5 for the median.
    pub fn push_share(&mut self, sorted: &[Duration], share: f64) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index into the samples")]
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer samples than 2^52")]
        let index = ((sorted.len() - 1) as f64 * share).round() as usize;
        self.push(sorted[index]);
    }

    /// The median of all measurements.
    pub fn median(&self) -> Duration {
        let mut values = self.0.clone();
        values.sort_unstable();
        values.get(values.len() / 2).copied().unwrap_or_default()
    }
}

/// A duration in microseconds, with one decimal.
pub fn micros(value: Duration) -> String {
    format!("{:.1}", value.as_secs_f64() * 1e6)
}

/// A duration in milliseconds, with one decimal.
pub fn millis(value: Duration) -> String {
    format!("{:.1}", value.as_secs_f64() * 1e3)
}
