//! Bounds what a server can write to the log of a client.

use std::time::Duration;

use tokio::time::Instant;

/// The time in which the lines are counted.
const INTERVAL: Duration = Duration::from_secs(1);

/// Permits so many lines a second, and counts the others.
#[derive(Debug)]
pub(crate) struct LogRate {
    most: u32,
    began: Option<Instant>,
    written: u32,
    left_out: u64,
}

impl LogRate {
    /// At most this many lines a second.
    pub(crate) fn new(most: u32) -> Self {
        Self { most, began: None, written: 0, left_out: 0 }
    }

    /// `Some` if a line may be written now, with the number of lines that were left out since the last one.
    pub(crate) fn permit(&mut self, now: Instant) -> Option<u64> {
        if self.began.is_none_or(|began| now.saturating_duration_since(began) >= INTERVAL) {
            (self.began, self.written) = (Some(now), 0);
        }
        if self.written >= self.most {
            self.left_out += 1;
            return None;
        }
        self.written += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_has_its_lines_and_the_others_are_counted() {
        let (mut rate, start) = (LogRate::new(2), Instant::now());
        let outcomes: Vec<_> = [0, 1, 2, 999, 1000, 1001, 1002, 5000]
            .map(|millis| rate.permit(start + Duration::from_millis(millis)))
            .into();
        assert_eq!(outcomes, [Some(0), Some(0), None, None, Some(2), Some(0), None, Some(1)]);
    }
}
