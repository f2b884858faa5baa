//! The time of one call, shared by the middleware around it, the call, and the task it becomes.

use std::time::Duration;

use tokio::time::Instant;

/// The time of a call, which begins with its turn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    total: Duration,
    /// `None`: beyond the range of the clock.
    until: Option<Instant>,
}

impl Deadline {
    pub(crate) fn new(total: Duration) -> Self {
        Self { total, until: Instant::now().checked_add(total) }
    }

    /// The total, for the text of a timeout.
    pub(crate) fn total(&self) -> Duration {
        self.total
    }

    /// The remaining time; zero after the end.
    pub(crate) fn remaining(&self) -> Duration {
        self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_ends_once_and_never_beyond_the_range_of_the_clock() {
        let (deadline, endless) = (Deadline::new(Duration::from_secs(10)), Deadline::new(Duration::MAX));
        for (seconds, left) in [(4, 6), (6, 0), (1, 0)] {
            tokio::time::advance(Duration::from_secs(seconds)).await;
            assert_eq!(deadline.remaining(), Duration::from_secs(left));
        }
        assert_eq!((deadline.total(), endless.remaining()), (Duration::from_secs(10), Duration::MAX));
    }
}
