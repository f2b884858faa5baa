//! Keep-alive: the times at which a silent client is sent a ping, and given up (MCP 2025-11-25, basic/utilities/ping).

use std::time::{Duration, Instant};

use crate::outgoing::CallId;

/// The time of the last message of a client, and the open ping.
#[derive(Debug)]
pub struct KeepAlive {
    every: Option<Duration>,
    patience: Duration,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The client has sent nothing yet.
    Fresh,
    /// The client has sent a message, or could not be sent a ping, at this time.
    Quiet(Instant),
    /// This ping was sent; the client is given up at this time.
    Asked(CallId, Instant),
}

/// The action that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepAliveAction {
    /// Send a ping, or report with `heard` that it cannot be sent now.
    Ping,
    /// The client has sent nothing since this ping.
    Expired(CallId),
}

impl KeepAlive {
    /// Sends a ping to a client that was silent for `every` (`None`: never), and gives it up after `patience` more.
    pub fn new(every: Option<Duration>, patience: Duration) -> Self {
        Self { every, patience, phase: Phase::Fresh }
    }

    /// True if silent clients are sent pings.
    pub fn is_on(&self) -> bool {
        self.every.is_some()
    }

    /// The client has sent a message, or cannot be sent a ping now. Returns the ping that needs no answer from here on.
    pub fn heard(&mut self, now: Instant) -> Option<CallId> {
        match std::mem::replace(&mut self.phase, Phase::Quiet(now)) {
            Phase::Asked(call, _) => Some(call),
            Phase::Fresh | Phase::Quiet(_) => None,
        }
    }

    /// The ping was sent.
    pub fn asked(&mut self, call: CallId, now: Instant) {
        self.phase = Phase::Asked(call, now + self.patience);
    }

    /// The time of the next action.
    pub fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Fresh => None,
            Phase::Quiet(since) => self.every.map(|every| since + every),
            Phase::Asked(_, until) => Some(until),
        }
    }

    /// The action that is due now.
    pub fn time(&self, now: Instant) -> Option<KeepAliveAction> {
        let is_due = self.deadline().is_some_and(|deadline| deadline <= now);
        match self.phase {
            Phase::Quiet(_) if is_due => Some(KeepAliveAction::Ping),
            Phase::Asked(call, _) if is_due => Some(KeepAliveAction::Expired(call)),
            Phase::Fresh | Phase::Quiet(_) | Phase::Asked(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outgoing::Outgoing;

    #[test]
    fn a_silent_host_is_asked_and_then_given_up() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let (call, _) = Outgoing::default().ask();
        let mut heartbeat = KeepAlive::new(Some(Duration::from_secs(10)), Duration::from_secs(3));
        assert_eq!((heartbeat.deadline(), heartbeat.time(at(1000))), (None, None), "nothing was heard yet");
        assert_eq!(heartbeat.heard(at(0)), None);
        assert_eq!((heartbeat.deadline(), heartbeat.time(at(9))), (Some(at(10)), None));
        assert_eq!(heartbeat.heard(at(5)), None);
        assert_eq!((heartbeat.time(at(14)), heartbeat.time(at(15))), (None, Some(KeepAliveAction::Ping)));
        heartbeat.asked(call, at(15));
        assert_eq!((heartbeat.deadline(), heartbeat.time(at(17))), (Some(at(18)), None));
        assert_eq!(heartbeat.time(at(18)), Some(KeepAliveAction::Expired(call)));
        // Any word is a sign of life.
        assert_eq!(heartbeat.heard(at(18)), Some(call));
        assert_eq!((heartbeat.deadline(), heartbeat.time(at(27))), (Some(at(28)), None));
    }

    #[test]
    fn no_ping_is_sent_without_an_interval() {
        let now = Instant::now();
        let mut heartbeat = KeepAlive::new(None, Duration::from_secs(3));
        assert!(!heartbeat.is_on());
        assert_eq!((heartbeat.heard(now), heartbeat.deadline()), (None, None));
        assert_eq!(heartbeat.time(now + Duration::from_secs(1_000_000)), None);
    }
}
