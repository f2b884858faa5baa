//! Decides when a stream that has ended is opened again. A value: durations and random numbers are arguments.
//!
//! ```text
//!             closed                     opened, and an event came
//!   (open) ─────────────▶ (waiting) ─────────────────────────────────▶ (open, all attempts again)
//!                            │ closed or failed, without an event
//!                            ├──▶ (waiting, twice as long)
//!                            └──▶ (given up) after the last attempt, or the longest delay each time
//! ```

use std::time::Duration;

/// The longest delay that a server can ask for.
const MAX_RETRY: Duration = Duration::from_secs(300);

/// The shortest delay, whatever the server asks for.
const MIN_RETRY: Duration = Duration::from_millis(100);

/// The time for which a stream must stay open to count as working although no event came.
const WORKING: Duration = Duration::from_secs(60);

/// The times in a row that an event without data renews the attempts at the pace of the server, and the shortest delay after
/// that.
const QUICK: u32 = 10;
const SLOW: Duration = Duration::from_secs(1);

/// The pace of attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    /// The most attempts in a row without an event.
    pub(crate) attempts: u32,
    /// The delay before the first attempt, if the server asks for none.
    pub(crate) first: Duration,
    /// The longest delay.
    pub(crate) longest: Duration,
}

/// The attempts to open a stream again.
#[derive(Debug)]
pub(crate) struct Reconnect {
    pace: Pace,
    /// The delay that the server has asked for.
    retry: Option<Duration>,
    /// The attempts since the last event.
    used: u32,
    /// The events without data since the last one with data.
    empty: u32,
}

impl Reconnect {
    pub(crate) fn new(pace: Pace) -> Self {
        Self { pace, retry: None, used: 0, empty: 0 }
    }

    /// The server asks for this delay.
    pub(crate) fn retry(&mut self, delay: Duration) {
        self.retry = Some(delay.clamp(MIN_RETRY, MAX_RETRY));
    }

    /// An event has come: the next attempts begin anew. An open response alone is not a reason, because a server that
    /// ends each response immediately would be asked for ever.
    pub(crate) fn progressed(&mut self) {
        (self.used, self.empty) = (0, 0);
    }

    /// An event without data has come, with a new position: the next attempts begin anew, and are slow if that goes on.
    pub(crate) fn moved(&mut self) {
        (self.used, self.empty) = (0, self.empty.saturating_add(1));
    }

    /// The stream was open for this long. A long time is as good as an event: attempts cannot follow each other quickly.
    pub(crate) fn stayed_open(&mut self, time: Duration) {
        if time >= WORKING {
            self.used = 0;
        }
    }

    /// No attempt is left at the usual pace.
    pub(crate) fn slow_down(&mut self) {
        self.used = self.pace.attempts;
    }

    /// The delay before the next attempt; `None` if none is left. `random` spreads the attempts of many clients by up
    /// to a quarter; the first delay that a server asks for is kept exactly.
    pub(crate) fn next_delay(&mut self, random: u32) -> Option<Duration> {
        if self.used >= self.pace.attempts {
            return None;
        }
        let base = self.retry.unwrap_or(self.pace.first);
        let base = if self.empty > QUICK { base.max(SLOW) } else { base };
        let doubled = base.saturating_mul(1 << self.used.min(16));
        self.used += 1;
        if self.used == 1 && self.retry.is_some() {
            return Some(base);
        }
        Some(spread(doubled.min(self.pace.longest.max(base)), random))
    }

    /// The delay before an attempt when none is left, for a stream that is never given up.
    pub(crate) fn longest_delay(&self, random: u32) -> Duration {
        spread(self.pace.longest.max(self.retry.unwrap_or(self.pace.first)), random)
    }
}

fn spread(delay: Duration, random: u32) -> Duration {
    delay + delay.mul_f64(f64::from(random) / f64::from(u32::MAX) / 4.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace { attempts: 5, first: Duration::from_secs(1), longest: Duration::from_secs(6) };

    fn delays(reconnect: &mut Reconnect) -> Vec<u64> {
        std::iter::from_fn(|| reconnect.next_delay(0)).map(|delay| delay.as_millis().try_into().unwrap()).collect()
    }

    #[test]
    fn delays_double_up_to_the_longest() {
        assert_eq!(delays(&mut Reconnect::new(PACE)), [1000, 2000, 4000, 6000, 6000]);
    }

    #[test]
    fn the_delay_of_the_server_is_kept_and_bounded() {
        for (retry, expected) in [
            (500, [500, 1000, 2000, 4000, 6000]),
            (0, [100, 200, 400, 800, 1600]),
            (10_000, [10_000; 5]),
            (u64::MAX, [300_000; 5]),
        ] {
            let mut reconnect = Reconnect::new(PACE);
            reconnect.retry(Duration::from_millis(retry));
            assert_eq!(delays(&mut reconnect), expected);
        }
    }

    #[test]
    fn attempts_are_spread_except_for_the_first_of_the_server() {
        let mut reconnect = Reconnect::new(PACE);
        assert_eq!(reconnect.next_delay(u32::MAX), Some(Duration::from_millis(1250)));
        reconnect.retry(Duration::from_millis(500));
        assert_eq!(reconnect.next_delay(u32::MAX), Some(Duration::from_millis(1250)));
        reconnect.progressed();
        assert_eq!(reconnect.next_delay(u32::MAX), Some(Duration::from_millis(500)));
    }

    #[test]
    fn a_server_that_sends_no_data_is_asked_slowly() {
        let mut reconnect = Reconnect::new(PACE);
        reconnect.retry(Duration::ZERO);
        let mut asked = |times: usize| {
            let delay = |_| {
                reconnect.moved();
                reconnect.next_delay(0).unwrap().as_millis()
            };
            (0..times).map(delay).collect::<Vec<_>>()
        };
        assert_eq!(asked(10), [100; 10]);
        assert_eq!(asked(1000), vec![1000; 1000]);
        reconnect.progressed();
        assert_eq!(delays(&mut reconnect), [100, 200, 400, 800, 1600]);
        reconnect.retry(Duration::from_secs(5));
        (0..100).for_each(|_| reconnect.moved());
        assert_eq!(reconnect.next_delay(0), Some(Duration::from_secs(5)), "its own delay is longer");
    }

    #[test]
    fn only_events_and_long_streams_renew_the_attempts() {
        let mut reconnect = Reconnect::new(PACE);
        assert_eq!(delays(&mut reconnect).len(), 5);
        reconnect.stayed_open(Duration::from_secs(59));
        assert_eq!(reconnect.next_delay(0), None);
        reconnect.stayed_open(Duration::from_secs(60));
        assert_eq!(delays(&mut reconnect).len(), 5);
        reconnect.progressed();
        assert_eq!(delays(&mut reconnect).len(), 5);
    }
}
