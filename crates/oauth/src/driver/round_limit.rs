//! Bounds the authorizations that an MCP server can cause: each may open a browser window.

use std::time::Duration;

use tokio::time::Instant;

/// The most authorizations without a pause.
const BURST: u32 = 3;

/// The time after which one more is allowed.
const INTERVAL: Duration = Duration::from_secs(60);

/// Three authorizations, and one more each minute.
#[derive(Debug, Default)]
pub(crate) struct RoundLimit {
    used: u32,
    /// The time from which the next one is counted back.
    since: Option<Instant>,
}

impl RoundLimit {
    /// True if one may begin now.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let since = *self.since.get_or_insert(now);
        let regained = u32::try_from(now.duration_since(since).as_secs() / INTERVAL.as_secs()).unwrap_or(u32::MAX);
        self.used = self.used.saturating_sub(regained);
        self.since = Some(if self.used == 0 { now } else { since + INTERVAL.saturating_mul(regained) });
        let is_allowed = self.used < BURST;
        self.used += u32::from(is_allowed);
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_immediately_and_one_a_minute() {
        let (mut limit, start) = (RoundLimit::default(), Instant::now());
        let mut at = |seconds: u64| limit.take(start + Duration::from_secs(seconds));
        assert_eq!([at(0), at(0), at(1), at(2), at(59)], [true, true, true, false, false]);
        assert_eq!([at(60), at(61), at(119), at(120), at(121)], [true, false, false, true, false]);
        assert_eq!([at(9000), at(9000), at(9000), at(9000)], [true, true, true, false]);
    }
}
