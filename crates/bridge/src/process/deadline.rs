//! The time of one call: what runs before it, the call, the task it becomes and what runs after it share it.

use std::time::Duration;

use tokio::time::Instant;

/// Time that begins when the turn of a call has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    total: Duration,
    /// `None`: no clock reaches it.
    until: Option<Instant>,
}

impl Deadline {
    pub(crate) fn new(total: Duration) -> Self {
        Self { total, until: Instant::now().checked_add(total) }
    }

    /// All of it, for the text that says that it is over.
    pub(crate) fn total(&self) -> Duration {
        self.total
    }

    /// The remaining time; zero when it is over.
    pub(crate) fn remaining(&self) -> Duration {
        self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_runs_out_once_and_has_no_end_that_a_clock_cannot_say() {
        let (deadline, endless) = (Deadline::new(Duration::from_secs(10)), Deadline::new(Duration::MAX));
        for (seconds, left) in [(4, 6), (6, 0), (1, 0)] {
            tokio::time::advance(Duration::from_secs(seconds)).await;
            assert_eq!(deadline.remaining(), Duration::from_secs(left));
        }
        assert_eq!((deadline.total(), endless.remaining()), (Duration::from_secs(10), Duration::MAX));
    }
}
