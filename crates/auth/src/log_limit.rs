//! Keeps clients from filling the log: one line a second, which counts the suppressed ones.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The interval between two lines.
const INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct LogLimit(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: Option<Instant>,
    left_out: u64,
}

impl LogLimit {
    /// The number of lines suppressed since the last one, if a line may be written now.
    pub(crate) fn take(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last.is_some_and(|last| now < last + INTERVAL) {
            state.left_out += 1;
            return None;
        }
        state.last = Some(now);
        Some(std::mem::take(&mut state.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_second_counts_the_suppressed_ones() {
        let (limit, start) = (LogLimit::default(), Instant::now());
        let at = |millis| limit.take(start + Duration::from_millis(millis));
        assert_eq!(
            [at(0), at(1), at(999), at(1000), at(1999), at(9000)],
            [Some(0), None, None, Some(2), None, Some(1)]
        );
    }
}
