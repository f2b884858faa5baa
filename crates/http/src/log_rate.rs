//! Bounds what callers can write to the log.

use std::num::NonZeroU64;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The time between two lines of one kind.
const INTERVAL: Duration = Duration::from_secs(1);

/// The number of lines that were left out since the last one, as a field of the log: it is absent if there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeftOut(pub(crate) Option<NonZeroU64>);

/// Writes at most one line a second to the log, and counts the others.
#[derive(Debug, Default)]
pub(crate) struct LogRate(Mutex<Window>);

#[derive(Debug, Default)]
struct Window {
    last: Option<Instant>,
    left_out: u64,
}

impl LogRate {
    /// `Some` if a line may be written now.
    pub(crate) fn permit(&self, now: Instant) -> Option<LeftOut> {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if window.last.is_some_and(|last| now.saturating_duration_since(last) < INTERVAL) {
            window.left_out += 1;
            return None;
        }
        window.last = Some(now);
        Some(LeftOut(NonZeroU64::new(std::mem::take(&mut window.left_out))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_second_says_how_many_were_left_out() {
        let (rate, start) = (LogRate::default(), Instant::now());
        let at = |millis| {
            rate.permit(start + Duration::from_millis(millis)).map(|LeftOut(count)| count.map_or(0, u64::from))
        };
        assert_eq!(
            [at(0), at(1), at(999), at(1000), at(1001), at(2500), at(2600)],
            [Some(0), None, None, Some(2), None, Some(1), None]
        );
    }
}
