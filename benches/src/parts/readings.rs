//! Readings of the memory of a server in a run of minutes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::bench::{Outcome, note};
use crate::measurement::{Measurement, Metric, Row, number};
use crate::process::{memory, peak};
use crate::subject::PMCP;
use crate::web::WebServer;

/// Readings of a run, and rows of its table.
const READINGS: u32 = 12;

/// A run of this many minutes, in which clients count their calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run<'a> {
    pub(super) part: &'static str,
    pub(super) minutes: usize,
    pub(super) calls: &'a AtomicU64,
}

impl Run<'_> {
    /// Reads the memory of the server twelve times, evenly over the run; ends earlier once `is_over`.
    ///
    /// # Errors
    ///
    /// If numbers do not fit.
    pub(super) fn read(
        self,
        server: &WebServer,
        is_over: impl Fn() -> bool,
        out: &mut Measurement,
    ) -> Outcome<Vec<f64>> {
        let whole = Duration::from_secs(60 * u64::try_from(self.minutes)?);
        let (start, mut seen) = (Instant::now(), Vec::new());
        for reading in 1..=READINGS {
            thread::sleep((start + whole / READINGS * reading).saturating_duration_since(Instant::now()));
            if is_over() {
                break;
            }
            let now = memory(server.pid());
            seen.push(now);
            let calls = usize::try_from(self.calls.load(Ordering::Relaxed))?;
            let case = format!("after {:.1} min", start.elapsed().as_secs_f64() / 60.0);
            note(&format!("{}: {case}, {calls} calls, {now:.1} MB", self.part));
            let rate = number(calls) / start.elapsed().as_secs_f64();
            let row = Row::new(self.part, case, PMCP).with(Metric::PerSecond, rate);
            out.add(row.with(Metric::MemoryMb, now).with(Metric::PeakMb, peak(server.pid())));
        }
        Ok(seen)
    }
}

/// An error if the second half of the readings exceeds the first by more than 5 %.
///
/// # Errors
///
/// The readings.
pub(super) fn settled(seen: &[f64]) -> Outcome<()> {
    let (early, late) = seen.split_at(seen.len() / 2);
    let [early, late] = [early, late].map(|part| part.iter().copied().fold(0.0, f64::max));
    if late > early * 1.05 {
        return Err(format!("memory grew from {early:.1} MB in the first half of the run to {late:.1} MB").into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_an_error() {
        assert!(settled(&[70.0, 80.0, 81.0, 80.0]).is_ok());
        let error = settled(&[70.0, 80.0, 85.0, 80.0]).unwrap_err().to_string();
        assert_eq!(error, "memory grew from 80.0 MB in the first half of the run to 85.0 MB");
    }
}
