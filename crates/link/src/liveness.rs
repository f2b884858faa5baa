//! The life of a process that answers pings at any time: the moments at which a silent one is sent a ping, reported and
//! given up.
//!
//! ```text
//! Heard ── silence ──▶ Pinged ── silence ──▶ no requests: given up
//!   ▲                     │                  requests: reported, then looked at again
//!   └────── a frame ──────┘
//! ```

use std::time::{Duration, Instant};

/// The watch over one process.
#[derive(Debug)]
pub(crate) struct Liveness {
    /// The silence before a ping.
    silence: Duration,
    /// The further silence after which the process does not live.
    patience: Duration,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The process does not answer pings.
    Off,
    /// The process has sent a frame at this time.
    Heard(Instant),
    /// It was sent a ping, and must have sent a frame by this time.
    Pinged(Instant),
    /// It was reported as silent, because requests run there; they are looked at again at this time.
    Reported(Instant),
}

/// The action that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LivenessAction {
    /// Send a ping.
    Ping,
    /// Report that the process is silent.
    Report,
    /// Give the process up.
    GiveUp,
}

impl Liveness {
    /// Watches nothing until [`Liveness::begin`].
    pub(crate) fn new(silence: Duration, patience: Duration) -> Self {
        Self { silence, patience, state: State::Off }
    }

    /// The process answers pings from here on.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.state = State::Heard(now);
    }

    /// The process has sent something, or could not have been heard.
    pub(crate) fn heard(&mut self, now: Instant) {
        if self.state != State::Off {
            self.state = State::Heard(now);
        }
    }

    /// The whole time that a process has been silent when it is reported or given up.
    pub(crate) fn limit(&self) -> Duration {
        self.silence + self.patience
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Off => None,
            State::Heard(since) => since.checked_add(self.silence),
            State::Pinged(until) | State::Reported(until) => Some(until),
        }
    }

    /// The action that is due now, while the process works on this number of requests.
    pub(crate) fn poll(&mut self, now: Instant, requests: usize) -> Option<LivenessAction> {
        if self.deadline().is_none_or(|deadline| deadline > now) {
            return None;
        }
        let until = now + self.patience;
        let (state, action) = match (self.state, requests) {
            (State::Off, _) => return None,
            (State::Heard(_), _) => (State::Pinged(until), Some(LivenessAction::Ping)),
            (State::Pinged(_) | State::Reported(_), 0) => (State::Off, Some(LivenessAction::GiveUp)),
            (State::Pinged(_), _) => (State::Reported(until), Some(LivenessAction::Report)),
            (State::Reported(_), _) => (State::Reported(until), None),
        };
        self.state = state;
        action
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step of a life: the second at which it happens, and what is expected then.
    enum Step {
        /// A frame arrives.
        Frame(u64),
        /// Time passes, with this number of requests.
        Look(u64, usize, Option<LivenessAction>),
    }

    #[test]
    fn a_silent_process_is_pinged_and_then_given_up_or_reported() {
        use LivenessAction::{GiveUp, Ping, Report};
        use Step::{Frame, Look};
        let lives: [(&str, &[Step]); 5] = [
            ("one that speaks", &[Look(29, 0, None), Frame(29), Look(58, 0, None), Look(59, 0, Some(Ping))]),
            ("one that answers", &[Look(30, 1, Some(Ping)), Frame(31), Look(60, 0, None), Look(61, 0, Some(Ping))]),
            (
                "an idle one",
                &[Look(30, 0, Some(Ping)), Look(59, 0, None), Look(60, 0, Some(GiveUp)), Look(90, 0, None)],
            ),
            (
                "a busy one",
                &[
                    Look(30, 2, Some(Ping)),
                    Look(60, 2, Some(Report)),
                    Look(90, 1, None),
                    Look(119, 0, None),
                    Look(120, 0, Some(GiveUp)),
                ],
            ),
            (
                "a busy one that returns",
                &[
                    Look(30, 1, Some(Ping)),
                    Look(60, 1, Some(Report)),
                    Frame(70),
                    Look(99, 0, None),
                    Look(100, 0, Some(Ping)),
                ],
            ),
        ];
        for (name, steps) in lives {
            let start = Instant::now();
            let at = |second| start + Duration::from_secs(second);
            let mut liveness = Liveness::new(Duration::from_secs(30), Duration::from_secs(30));
            liveness.begin(start);
            for step in steps {
                match *step {
                    Frame(second) => liveness.heard(at(second)),
                    Look(second, requests, action) => {
                        assert_eq!(liveness.poll(at(second), requests), action, "{name} at {second}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_process_that_answers_no_pings_gets_none() {
        let now = Instant::now();
        let mut liveness = Liveness::new(Duration::from_secs(30), Duration::from_secs(30));
        liveness.heard(now);
        assert_eq!(liveness.deadline(), None);
        assert_eq!(liveness.poll(now + Duration::from_secs(1_000_000), 0), None);
    }
}
