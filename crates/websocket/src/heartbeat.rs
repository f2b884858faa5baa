//! The pings of a connection, and the peer that does not answer them.

use std::time::{Duration, Instant};

/// Decides when to ping, and when the peer is gone.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    interval: Duration,
    max_missed: u32,
    missed: u32,
    next: Instant,
}

/// The next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beat {
    /// Send a ping.
    Ping,
    /// The peer is gone.
    Dead,
}

impl Heartbeat {
    pub(crate) fn new(now: Instant, interval: Duration, max_missed: u32) -> Self {
        Self { interval, max_missed, missed: 0, next: now + interval }
    }

    /// The peer has not missed a ping: a message has arrived, or a large part of one, or this end has not read.
    pub(crate) fn reset(&mut self) {
        self.missed = 0;
    }

    /// The time at which [`Heartbeat::handle_timeout`] has something to do.
    pub(crate) fn poll_timeout(&self) -> Instant {
        self.next
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) -> Option<Beat> {
        if now < self.next {
            return None;
        }
        if self.missed == self.max_missed {
            return Some(Beat::Dead);
        }
        self.missed += 1;
        self.next = now + self.interval;
        Some(Beat::Ping)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_answers_nothing_is_gone_after_its_pings() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut heartbeat = Heartbeat::new(start, Duration::from_secs(30), 2);
        for (time, arrived, expected) in [
            (29, false, None),
            (30, false, Some(Beat::Ping)),
            (31, false, None),
            (60, false, Some(Beat::Ping)),
            (61, true, None),
            (90, false, Some(Beat::Ping)),
            (120, false, Some(Beat::Ping)),
            (150, false, Some(Beat::Dead)),
            (180, false, Some(Beat::Dead)),
        ] {
            if arrived {
                heartbeat.reset();
            }
            assert_eq!(heartbeat.handle_timeout(at(time)), expected, "after {time} s");
        }
    }

    #[test]
    fn pings_come_at_their_interval_however_late_the_clock_is_read() {
        let start = Instant::now();
        let mut heartbeat = Heartbeat::new(start, Duration::from_secs(30), 2);
        let late = start + Duration::from_secs(100);
        assert_eq!(heartbeat.handle_timeout(late), Some(Beat::Ping));
        assert_eq!(heartbeat.poll_timeout(), late + Duration::from_secs(30));
    }
}
