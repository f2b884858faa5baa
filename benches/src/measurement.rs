//! Measurements: rows of figures, each with one value for each round.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::process::{cpu, peak};

/// The kind of a figure, and its unit. The order is the order of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// The median duration of an operation, in microseconds.
    MedianUs,
    /// The 99th percentile of the durations, in microseconds; the longest of fewer than 100.
    P99Us,
    /// Operations in a second.
    PerSecond,
    /// Processor time of the measured process for an operation, in microseconds.
    CpuUs,
    /// The duration of all operations together, in milliseconds.
    TotalMs,
    /// Processor time of all operations together, in milliseconds.
    TotalCpuMs,
    /// Resident memory at the end, in megabytes.
    MemoryMb,
    /// The largest resident memory so far, in megabytes.
    PeakMb,
    /// Resident memory that the operations have added, in megabytes.
    GrowthMb,
    /// Resident memory that each operation has added, in kilobytes.
    EachKb,
    /// Bytes of an operation on the wire, in both directions.
    Bytes,
}

impl Metric {
    /// The head of its column.
    pub fn title(self) -> &'static str {
        match self {
            Self::MedianUs => "median, µs",
            Self::P99Us => "p99, µs",
            Self::PerSecond => "per second",
            Self::CpuUs => "CPU each, µs",
            Self::TotalMs => "all, ms",
            Self::TotalCpuMs => "CPU of all, ms",
            Self::MemoryMb => "memory, MB",
            Self::PeakMb => "peak memory, MB",
            Self::GrowthMb => "growth, MB",
            Self::EachKb => "each, kB",
            Self::Bytes => "bytes",
        }
    }

    /// A value of it as text.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::PerSecond | Self::Bytes => format!("{value:.0}"),
            _ => format!("{value:.1}"),
        }
    }
}

/// The figures of one subject doing one thing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The name of the part of the bench.
    pub part: String,
    /// The operation and its circumstances.
    pub case: String,
    /// The name of the subject.
    pub subject: String,
    /// The size that a curve varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The values of each figure, one for each round.
    pub figures: BTreeMap<Metric, Vec<f64>>,
}

impl Row {
    /// A row without figures.
    pub fn new(part: &str, case: impl Into<String>, subject: &str) -> Self {
        let (case, subject) = (case.into(), subject.to_owned());
        Self { part: part.to_owned(), case, subject, size: None, figures: BTreeMap::new() }
    }

    /// The same as a point of a curve.
    #[must_use]
    pub fn sized(mut self, size: usize) -> Self {
        self.size = Some(size as u64);
        self
    }

    /// With the value of a figure in this round.
    #[must_use]
    pub fn with(mut self, metric: Metric, value: f64) -> Self {
        // Three decimals: a nanosecond, and a byte of a kilobyte.
        self.figures.entry(metric).or_default().push((value * 1e3).round() / 1e3);
        self
    }

    /// With the median and the 99th percentile of these durations.
    #[must_use]
    pub fn timed(self, mut samples: Vec<Duration>) -> Self {
        samples.sort_unstable();
        let Some(last) = samples.len().checked_sub(1) else { return self };
        let [median, p99] = [50, 99].map(|percent| samples[(last * percent).div_ceil(100)]);
        self.with(Metric::MedianUs, micros(median)).with(Metric::P99Us, micros(p99))
    }

    /// With the rate, the processor time of each of `count` operations, and the peak memory.
    #[must_use]
    pub fn spent(self, spent: &Spent, count: usize) -> Self {
        let count = number(count.max(1));
        self.with(Metric::PerSecond, count / spent.time.as_secs_f64().max(1e-9))
            .with(Metric::CpuUs, micros(spent.cpu) / count)
            .with(Metric::PeakMb, spent.peak)
    }

    /// With the time and processor time of all operations together.
    #[must_use]
    pub fn total(self, spent: &Spent) -> Self {
        self.with(Metric::TotalMs, micros(spent.time) / 1e3).with(Metric::TotalCpuMs, micros(spent.cpu) / 1e3)
    }

    /// The median of a figure over the rounds.
    pub fn median(&self, metric: Metric) -> Option<f64> {
        let mut values = self.figures.get(&metric)?.clone();
        values.sort_unstable_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    }

    fn is_at(&self, other: &Self) -> bool {
        (&self.part, &self.case, &self.subject, self.size) == (&other.part, &other.case, &other.subject, other.size)
    }
}

/// The rows of a run, in the order in which they were measured first.
#[derive(Debug, Default)]
pub struct Measurement {
    rows: Vec<Row>,
}

impl Measurement {
    /// Adds the figures of a round to the row with the same part, case, subject and size.
    pub fn add(&mut self, row: Row) {
        match self.rows.iter_mut().find(|known| known.is_at(&row)) {
            Some(known) => {
                for (metric, values) in row.figures {
                    known.figures.entry(metric).or_default().extend(values);
                }
            }
            None => self.rows.push(row),
        }
    }

    /// All rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
}

/// Measures the time and the processor time of a process from now on.
#[derive(Debug)]
pub struct Meter {
    pid: u32,
    start: Instant,
    cpu: Duration,
}

impl Meter {
    /// Starts to measure the process with this id.
    pub fn new(pid: u32) -> Self {
        Self { pid, start: Instant::now(), cpu: cpu(pid) }
    }

    /// Measures a process from its start, which took place at `start`.
    pub fn from_start(pid: u32, start: Instant) -> Self {
        Self { pid, start, cpu: Duration::ZERO }
    }

    /// The time and processor time so far.
    pub fn read(&self) -> Spent {
        let (time, cpu) = (self.start.elapsed(), cpu(self.pid).saturating_sub(self.cpu));
        Spent { time, cpu, peak: peak(self.pid) }
    }
}

/// The resources that operations took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// The duration of all operations.
    pub time: Duration,
    /// The processor time of the measured process.
    pub cpu: Duration,
    /// Its largest resident memory so far, in megabytes.
    pub peak: f64,
}

impl Spent {
    /// The resources of both, of processes that ran one after the other.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        let peak = self.peak.max(other.peak);
        Self { time: self.time + other.time, cpu: self.cpu + other.cpu, peak }
    }
}

/// A duration in microseconds.
pub fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// A count as a number to divide by.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub fn number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_of_a_row_are_joined() {
        let mut measurement = Measurement::default();
        for value in [3.0, 1.0, 2.0] {
            measurement.add(Row::new("stdio", "one at a time", "pmcp").with(Metric::CpuUs, value));
            measurement.add(Row::new("stdio", "one at a time", "relay").with(Metric::CpuUs, 10.0 * value));
        }
        let rows = measurement.rows();
        let medians: Vec<_> = rows.iter().map(|row| (row.subject.as_str(), row.median(Metric::CpuUs))).collect();
        assert_eq!(medians, [("pmcp", Some(2.0)), ("relay", Some(20.0))]);
        assert_eq!(rows[0].median(Metric::P99Us), None);
    }

    #[test]
    fn percentiles_are_samples() {
        let samples = (1..=200).rev().map(Duration::from_micros).collect();
        let row = Row::new("stdio", "one at a time", "pmcp").timed(samples);
        assert_eq!(row.median(Metric::MedianUs), Some(101.0));
        assert_eq!(row.median(Metric::P99Us), Some(199.0));
        let single = Row::new("start", "native", "pmcp").timed(vec![Duration::from_micros(7)]);
        assert_eq!((single.median(Metric::MedianUs), single.median(Metric::P99Us)), (Some(7.0), Some(7.0)));
        assert!(Row::new("start", "native", "pmcp").timed(Vec::new()).figures.is_empty());
    }

    #[test]
    fn a_row_survives_json() {
        let row = Row::new("curve-tools", "start", "pmcp").sized(10).with(Metric::MedianUs, 1.5);
        let text = serde_json::to_string(&row).expect("a row is JSON");
        let figures = r#""size":10,"figures":{"median_us":[1.5]}}"#;
        assert!(text.ends_with(figures), "{text}");
        assert_eq!(serde_json::from_str::<Row>(&text).expect("it is a row"), row);
    }
}
