//! The end of a session as a value.
//!
//! ```text
//!        drain                   time is up            no call is left         all is written
//!  Open ───────▶ Draining ─────────────────▶ Cancelling ─────────────▶ Flushing ─────────────▶ Over
//!                   └────────────── all calls have ended ─────────────────▲   └ no progress ─▶ stalled
//! ```
//!
//! Calls that run out of time are cancelled first and have their grace: an answer that comes within it is written,
//! because only the call knows how far it came. A call that does not answer even then is answered with an error.
//!
//! A connection that breaks is over immediately.

use std::time::{Duration, Instant};

use crate::records::clock::LONGEST;

/// The progress of the end.
#[derive(Debug)]
pub(super) struct Shutdown {
    stage: Stage,
    /// The time for which calls may finish, and for which messages may be written without progress.
    drain_timeout: Duration,
    /// The time for which a cancelled call may still answer.
    cancel_grace: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    /// The session is open.
    Open,
    /// New requests are refused; calls may finish until then.
    Draining { until: Instant },
    /// Calls are cancelled and may still answer until then.
    Cancelling { until: Instant },
    /// Only writing is left; `unwritten` is the number of bytes at the last poll.
    Flushing { until: Instant, unwritten: usize },
    /// Everything is written, or nothing can be.
    Over,
}

/// The step that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    /// Cancel the calls.
    Cancel,
    /// Abandon the calls, and answer their requests with an error.
    GiveUp,
    /// The client does not read: drop the connection.
    Stalled,
}

impl Shutdown {
    pub(super) fn new(drain_timeout: Duration, cancel_grace: Duration) -> Self {
        let (drain_timeout, cancel_grace) = (drain_timeout.min(LONGEST), cancel_grace.min(LONGEST));
        Self { stage: Stage::Open, drain_timeout, cancel_grace }
    }

    /// True until the end has begun.
    pub(super) fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    /// True if calls may still finish in their own time.
    pub(super) fn lets_calls_finish(&self) -> bool {
        matches!(self.stage, Stage::Open | Stage::Draining { .. })
    }

    pub(super) fn is_flushing(&self) -> bool {
        matches!(self.stage, Stage::Flushing { .. })
    }

    pub(super) fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.stage {
            Stage::Open | Stage::Over => None,
            Stage::Draining { until } | Stage::Cancelling { until } | Stage::Flushing { until, .. } => Some(until),
        }
    }

    /// Begins the end, unless it has begun.
    pub(super) fn drain(&mut self, now: Instant) {
        if self.is_open() {
            self.stage = Stage::Draining { until: now + self.drain_timeout };
        }
    }

    /// Enters the next stage if the time of this one is up; `unwritten` is the number of bytes to write.
    pub(super) fn poll(&mut self, now: Instant, unwritten: usize) -> Due {
        if self.deadline().is_none_or(|until| until > now) {
            return Due::Nothing;
        }
        match self.stage {
            Stage::Open | Stage::Over => Due::Nothing,
            Stage::Draining { .. } => {
                // Twice the grace: a call gets it from the moment when it notices.
                self.stage = Stage::Cancelling { until: now + self.cancel_grace * 2 };
                Due::Cancel
            }
            Stage::Cancelling { .. } => Due::GiveUp,
            Stage::Flushing { unwritten: before, .. } if unwritten >= before => Due::Stalled,
            Stage::Flushing { .. } => {
                self.flush(now, unwritten);
                Due::Nothing
            }
        }
    }

    /// True if only writing is left: send the last messages, then call [`Shutdown::flush`]. `is_busy`: calls run, or
    /// events are queued; `is_announcing`: a notification of a changed list is due soon.
    #[expect(clippy::fn_params_excessive_bools, reason = "two facts, named where they are passed")]
    pub(super) fn is_settled(&self, is_busy: bool, is_announcing: bool) -> bool {
        match self.stage {
            Stage::Draining { .. } => !is_busy && !is_announcing,
            Stage::Cancelling { .. } => !is_busy,
            Stage::Open | Stage::Flushing { .. } | Stage::Over => false,
        }
    }

    /// Gives the client time to read the rest.
    pub(super) fn flush(&mut self, now: Instant, unwritten: usize) {
        self.stage = Stage::Flushing { until: now + self.drain_timeout, unwritten };
    }

    /// Nothing can be written from here on.
    pub(super) fn abort(&mut self) {
        self.stage = Stage::Over;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    enum Step {
        Drain,
        /// Polls with this much unwritten.
        Poll(usize, Due),
        /// True if the end is settled while calls run, and a notice is due.
        Settled(bool, bool, bool),
        Flush(usize),
        Deadline(Option<u64>),
    }
    use Step::{Deadline, Drain, Flush, Poll, Settled};

    /// Steps at times in milliseconds, with 100 ms to drain and 10 ms of grace.
    #[track_caller]
    fn check(steps: &[(u64, Step)]) -> Shutdown {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut shutdown = Shutdown::new(Duration::from_millis(100), Duration::from_millis(10));
        for (ms, step) in steps {
            match *step {
                Drain => shutdown.drain(at(*ms)),
                Poll(unwritten, due) => assert_eq!(shutdown.poll(at(*ms), unwritten), due, "at {ms} ms"),
                Settled(is_busy, is_announcing, settled) => {
                    assert_eq!(shutdown.is_settled(is_busy, is_announcing), settled, "at {ms} ms");
                }
                Flush(unwritten) => shutdown.flush(at(*ms), unwritten),
                Deadline(ms) => assert_eq!(shutdown.deadline(), ms.map(at)),
            }
        }
        shutdown
    }

    #[test]
    fn an_open_session_has_no_deadline() {
        let open = check(&[(0, Deadline(None)), (500, Poll(1, Due::Nothing)), (500, Settled(false, false, false))]);
        assert!(open.is_open() && open.lets_calls_finish() && !open.is_over());
    }

    #[test]
    fn a_time_without_an_end_is_a_year() {
        let start = Instant::now();
        let mut shutdown = Shutdown::new(Duration::MAX, Duration::MAX);
        shutdown.drain(start);
        assert_eq!(shutdown.poll(start + LONGEST, 0), Due::Cancel);
        assert_eq!(shutdown.deadline(), Some(start + LONGEST * 3));
        shutdown.flush(start, 0);
        assert_eq!(shutdown.deadline(), Some(start + LONGEST));
    }

    #[test]
    fn the_end_begins_once() {
        check(&[(0, Drain), (50, Drain), (50, Deadline(Some(100)))]);
    }

    #[test]
    fn calls_and_notices_put_the_last_messages_off() {
        let settled =
            [(1, Settled(true, false, false)), (1, Settled(false, true, false)), (1, Settled(false, false, true))];
        let draining = check(&[(0, Drain)]);
        assert!(!draining.is_open() && draining.lets_calls_finish());
        check(&[(0, Drain)].into_iter().chain(settled).collect::<Vec<_>>());
    }

    #[test]
    fn calls_out_of_time_are_cancelled_and_then_given_up() {
        let cancelling = check(&[
            (0, Drain),
            (99, Poll(0, Due::Nothing)),
            (100, Poll(0, Due::Cancel)),
            (100, Deadline(Some(120))),
            (100, Settled(true, true, false)),
            (100, Settled(false, true, true)),
            (119, Poll(0, Due::Nothing)),
            (120, Poll(0, Due::GiveUp)),
        ]);
        assert!(!cancelling.lets_calls_finish() && !cancelling.is_flushing());
    }

    #[test]
    fn a_client_that_reads_has_more_time() {
        let flushing = check(&[
            (0, Drain),
            (0, Flush(9)),
            (99, Poll(9, Due::Nothing)),
            (100, Poll(8, Due::Nothing)),
            (100, Deadline(Some(200))),
            (200, Poll(8, Due::Stalled)),
        ]);
        assert!(flushing.is_flushing() && !flushing.is_settled(false, false));
    }

    #[test]
    fn a_broken_connection_is_over_immediately() {
        let mut shutdown = check(&[(0, Drain)]);
        shutdown.abort();
        assert!(shutdown.is_over() && shutdown.deadline().is_none());
        assert_eq!(shutdown.poll(Instant::now() + Duration::from_secs(9), 1), Due::Nothing);
    }
}
