//! Keeps what strangers cause from filling the log: one line a second, which counts those that were left out.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two lines.
const INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct LogLimit(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last: Option<Instant>,
    left_out: u64,
}

impl LogLimit {
    /// Whether a line may be written now, and how many were left out since the one before.
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
    fn one_line_a_second_counts_the_others() {
        let (limit, start) = (LogLimit::default(), Instant::now());
        let at = |millis| limit.take(start + Duration::from_millis(millis));
        assert_eq!(
            [at(0), at(1), at(999), at(1000), at(1999), at(9000)],
            [Some(0), None, None, Some(2), None, Some(1)]
        );
    }
}
