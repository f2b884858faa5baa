//! The reports that a client has missed, in the log: a line a second, and one at the end.

use std::mem;
use std::time::Instant;

use protomcp_fair::LogRate;

/// The reports of a conversation that were dropped and are not in the log yet.
#[derive(Debug, Default)]
pub(super) struct DroppedReports {
    count: usize,
    rate: LogRate,
}

impl DroppedReports {
    /// Counts reports that were dropped since the last time.
    pub(super) fn add(&mut self, now: impl FnOnce() -> Instant, dropped: usize) {
        if let Some(dropped) = self.due(now, dropped) {
            log(dropped);
        }
    }

    /// The number for a line of the log; `None`: it has to wait, or there is nothing to say.
    fn due(&mut self, now: impl FnOnce() -> Instant, dropped: usize) -> Option<usize> {
        self.count += dropped;
        (self.count > 0 && self.rate.permit(now()).is_some()).then(|| mem::take(&mut self.count))
    }
}

impl Drop for DroppedReports {
    fn drop(&mut self) {
        if self.count > 0 {
            log(self.count);
        }
    }
}

fn log(dropped: usize) {
    tracing::warn!(dropped, "the client reads too slowly: reports of calls were dropped");
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_flood_of_dropped_reports_is_a_line_a_second() {
        let (mut dropped, begin) = (DroppedReports::default(), Instant::now());
        for (millis, count, line) in [
            (0, 0, None),
            (1, 3, Some(3)),
            (2, 1, None),
            (900, 1_000, None),
            (1_001, 0, Some(1_001)),
            (1_002, 0, None),
            (9_000, 2, Some(2)),
        ] {
            assert_eq!(dropped.due(|| begin + Duration::from_millis(millis), count), line, "{millis}");
        }
        assert_eq!(dropped.count, 0);
    }
}
