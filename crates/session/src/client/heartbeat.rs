//! Pings for a silent server (MCP 2025-11-25, basic/utilities/ping).

use std::time::Instant;

use crate::client::config::Pings;

/// The time at which the server was last heard of, and the pings since.
#[derive(Debug)]
pub(super) struct Heartbeat {
    pings: Option<Pings>,
    /// The last word of the server, or the last ping. `None`: pings are not sent now.
    since: Option<Instant>,
    missed: u32,
}

/// The action that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beat {
    Nothing,
    Ping,
    GiveUp,
}

impl Heartbeat {
    pub(super) fn new(pings: Option<Pings>) -> Self {
        Self { pings, since: None, missed: 0 }
    }

    pub(super) fn start(&mut self, now: Instant) {
        self.since = Some(now);
        self.missed = 0;
    }

    pub(super) fn stop(&mut self) {
        self.since = None;
    }

    /// The server has said something.
    pub(super) fn heard(&mut self, now: Instant) {
        if self.since.is_some() {
            self.start(now);
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        Some(self.since? + self.pings?.every)
    }

    pub(super) fn time(&mut self, now: Instant) -> Beat {
        let (Some(deadline), Some(pings)) = (self.deadline(), self.pings) else { return Beat::Nothing };
        if deadline > now {
            return Beat::Nothing;
        }
        if self.missed >= pings.misses {
            return Beat::GiveUp;
        }
        self.missed += 1;
        self.since = Some(now);
        Beat::Ping
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_silent_server_is_given_up_after_some_pings() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut heartbeat = Heartbeat::new(Some(Pings { every: Duration::from_secs(10), misses: 2 }));
        assert_eq!((heartbeat.deadline(), heartbeat.time(at(99))), (None, Beat::Nothing), "not open yet");
        heartbeat.start(at(0));
        heartbeat.heard(at(5));
        for (seconds, beat) in [
            (14, Beat::Nothing),
            (15, Beat::Ping),
            (24, Beat::Nothing),
            (25, Beat::Ping),
            (34, Beat::Nothing),
            (35, Beat::GiveUp),
        ] {
            assert_eq!(heartbeat.time(at(seconds)), beat, "{seconds}");
        }
        heartbeat.heard(at(36));
        assert_eq!(heartbeat.time(at(46)), Beat::Ping, "any word is a sign of life");
        heartbeat.stop();
        assert_eq!((heartbeat.deadline(), heartbeat.time(at(99))), (None, Beat::Nothing));
    }

    #[test]
    fn no_ping_is_sent_unless_configured() {
        let now = Instant::now();
        let mut heartbeat = Heartbeat::new(None);
        heartbeat.start(now);
        assert_eq!((heartbeat.deadline(), heartbeat.time(now)), (None, Beat::Nothing));
    }
}
