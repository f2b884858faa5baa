//! Keep-alive: the times at which a silent client is sent a ping, and given up (MCP 2025-11-25, basic/utilities/ping).

use std::time::{Duration, Instant};

use crate::outgoing::CallId;

/// The time of the last message of a client, and the open ping.
#[derive(Debug)]
pub struct KeepAlive {
    every: Option<Duration>,
    timeout: Duration,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The client has sent nothing yet.
    Fresh,
    /// The client has sent a message, or could not be sent a ping, at this time.
    Quiet(Instant),
    /// This ping was sent; the client is given up at this time.
    Pinged(CallId, Instant),
}

/// The action that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepAliveAction {
    /// Send a ping, or report with [`KeepAlive::received`] that it cannot be sent now.
    Ping,
    /// The client has sent nothing since this ping.
    Expired(CallId),
}

impl KeepAlive {
    /// Sends a ping to a client that was silent for `every` (`None`: never), and gives it up after `timeout` more.
    pub fn new(every: Option<Duration>, timeout: Duration) -> Self {
        Self { every, timeout, phase: Phase::Fresh }
    }

    /// True if silent clients are sent pings.
    pub fn is_on(&self) -> bool {
        self.every.is_some()
    }

    /// The client has sent a message, or cannot be sent a ping now. Returns the ping that needs no answer from here on.
    pub fn received(&mut self, now: Instant) -> Option<CallId> {
        match std::mem::replace(&mut self.phase, Phase::Quiet(now)) {
            Phase::Pinged(call, _) => Some(call),
            Phase::Fresh | Phase::Quiet(_) => None,
        }
    }

    /// The ping was sent.
    pub fn ping_sent(&mut self, call: CallId, now: Instant) {
        self.phase = Phase::Pinged(call, now + self.timeout);
    }

    /// The time of the next action.
    pub fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Fresh => None,
            Phase::Quiet(since) => self.every.map(|every| since + every),
            Phase::Pinged(_, until) => Some(until),
        }
    }

    /// The action that is due now.
    pub fn poll(&self, now: Instant) -> Option<KeepAliveAction> {
        let is_due = self.deadline().is_some_and(|deadline| deadline <= now);
        match self.phase {
            Phase::Quiet(_) if is_due => Some(KeepAliveAction::Ping),
            Phase::Pinged(call, _) if is_due => Some(KeepAliveAction::Expired(call)),
            Phase::Fresh | Phase::Quiet(_) | Phase::Pinged(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outgoing::Outgoing;

    #[test]
    fn a_silent_client_gets_a_ping_and_is_then_given_up() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let (call, _) = Outgoing::default().ask();
        let mut keepalive = KeepAlive::new(Some(Duration::from_secs(10)), Duration::from_secs(3));
        assert_eq!((keepalive.deadline(), keepalive.poll(at(1000))), (None, None), "nothing was received yet");
        assert_eq!(keepalive.received(at(0)), None);
        assert_eq!((keepalive.deadline(), keepalive.poll(at(9))), (Some(at(10)), None));
        assert_eq!(keepalive.received(at(5)), None);
        assert_eq!((keepalive.poll(at(14)), keepalive.poll(at(15))), (None, Some(KeepAliveAction::Ping)));
        keepalive.ping_sent(call, at(15));
        assert_eq!((keepalive.deadline(), keepalive.poll(at(17))), (Some(at(18)), None));
        assert_eq!(keepalive.poll(at(18)), Some(KeepAliveAction::Expired(call)));
        // Any message shows that the client is alive.
        assert_eq!(keepalive.received(at(18)), Some(call));
        assert_eq!((keepalive.deadline(), keepalive.poll(at(27))), (Some(at(28)), None));
    }

    #[test]
    fn no_ping_is_sent_without_an_interval() {
        let now = Instant::now();
        let mut keepalive = KeepAlive::new(None, Duration::from_secs(3));
        assert!(!keepalive.is_on());
        assert_eq!((keepalive.received(now), keepalive.deadline()), (None, None));
        assert_eq!(keepalive.poll(now + Duration::from_secs(1_000_000)), None);
    }
}
