//! Bounds the lines that peers can cause in a log.

use std::num::NonZeroU64;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time in which lines are counted.
const INTERVAL: Duration = Duration::from_secs(1);

/// The number of lines that were left out since the last one: `None` if there are none, so that a field of a log is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut(pub Option<NonZeroU64>);

impl LeftOut {
    /// The number, with zero for none.
    #[must_use]
    pub fn count(self) -> u64 {
        self.0.map_or(0, u64::from)
    }
}

/// Permits a number of lines a second, and counts the others. The default is one line.
#[derive(Debug)]
pub struct LogRate {
    most: u32,
    window: Mutex<Window>,
}

#[derive(Debug, Default)]
struct Window {
    began: Option<Instant>,
    written: u32,
    left_out: u64,
}

impl LogRate {
    /// At most this many lines a second.
    #[must_use]
    pub fn new(most: u32) -> Self {
        Self { most, window: Mutex::default() }
    }

    /// `Some` if a line may be written now.
    pub fn permit(&self, now: Instant) -> Option<LeftOut> {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        if window.began.is_none_or(|began| now.saturating_duration_since(began) >= INTERVAL) {
            (window.began, window.written) = (Some(now), 0);
        }
        if window.written >= self.most {
            window.left_out += 1;
            return None;
        }
        window.written += 1;
        Some(LeftOut(NonZeroU64::new(std::mem::take(&mut window.left_out))))
    }
}

impl Default for LogRate {
    fn default() -> Self {
        Self::new(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines at these milliseconds.
    fn lines(rate: &LogRate, times: &[u64]) -> Vec<Option<u64>> {
        let start = Instant::now();
        let at = |millis: &u64| rate.permit(start + Duration::from_millis(*millis)).map(LeftOut::count);
        times.iter().map(at).collect()
    }

    #[test]
    fn each_second_has_its_lines_and_the_others_are_counted() {
        let of_one = lines(&LogRate::default(), &[0, 1, 999, 1000, 1999, 9000]);
        assert_eq!(of_one, [Some(0), None, None, Some(2), None, Some(1)]);
        let of_two = lines(&LogRate::new(2), &[0, 1, 2, 999, 1000, 1001, 1002, 5000]);
        assert_eq!(of_two, [Some(0), Some(0), None, None, Some(2), Some(0), None, Some(1)]);
    }
}
