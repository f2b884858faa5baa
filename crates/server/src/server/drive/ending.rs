//! What has its time: the end of a session, step by step, and change notices.
//!
//! ```text
//!        host closes its end, or shutdown       time is up            calls are gone        all is written
//!  Open ─────────────────────────────────▶ Draining ────────▶ Leaving ─────────────▶ Flushing ─────────────▶ Over
//!                                              └────────────── calls have ended ──────────▲   └ no headway ───▲
//! ```
//!
//! Calls that run out of time are told first and have their grace: what they answer then is written, since they know
//! best what became of their work. Only a call that does not answer even then is answered for.
//!
//! A connection that breaks is over at once.

use std::time::Instant;

use protomcp_types::ErrorObject;

use crate::cancel::Cancel;
use crate::context::Context;
use crate::server::drive::{Driver, now};
use crate::server::serve_error::ServeError;
use crate::service::Service;
use protomcp_transport::{Sink, TransportError};

/// How far the end is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Ending {
    /// Not near.
    Open,
    /// No new requests; calls may finish until then.
    Draining { until: Instant },
    /// Calls were told to stop and may still answer; nobody waits for them longer than this.
    Leaving { until: Instant },
    /// Everything that is left is to write; `unwritten` is how much it was at the last look.
    Flushing { until: Instant, unwritten: usize },
    /// Nothing can be written any more, or nothing is left to write.
    Over,
}

impl<S: Service, Q, K: Sink> Driver<S, Q, K> {
    pub(super) fn deadline(&self) -> Option<Instant> {
        let ending = match self.ending {
            Ending::Open | Ending::Over => None,
            Ending::Draining { until } | Ending::Leaving { until } | Ending::Flushing { until, .. } => Some(until),
        };
        // A host that has not read of one change is not told of the next.
        let announcements = self.announcements.deadline().filter(|_| !self.unsent_changes);
        [ending, announcements, self.next_beat()].into_iter().flatten().min()
    }

    pub(super) fn time(&mut self) -> Result<(), ServeError> {
        let now = now();
        self.beat(now)?;
        if !self.unsent_changes {
            while let Some((list, everyone)) = self.announcements.poll(now) {
                self.list_changed(list, everyone)?;
            }
        }
        match self.ending {
            Ending::Draining { until } if until <= now => self.leave(now),
            Ending::Leaving { until } if until <= now => {
                tracing::warn!(session = %self.id, calls = self.running.len(), "calls do not end: left behind");
                self.running.clear();
                self.answer_for_the_rest()?;
            }
            Ending::Flushing { until, unwritten } if until <= now => {
                if self.sink.unwritten() >= unwritten {
                    return Err(ServeError::Stalled);
                }
                self.flush_until(now);
            }
            Ending::Open
            | Ending::Draining { .. }
            | Ending::Leaving { .. }
            | Ending::Flushing { .. }
            | Ending::Over => {}
        }
        Ok(())
    }

    /// Nothing more comes from the host, no answers either.
    pub(super) fn stop_reading(&mut self) {
        self.reading = false;
        self.open_questions.clear();
        self.drain();
    }

    pub(super) fn drain(&mut self) {
        if self.ending == Ending::Open {
            self.ending = Ending::Draining { until: now() + self.sessions.limits().drain_timeout };
        }
    }

    /// The calls had their time: they are told to stop, and may still answer.
    fn leave(&mut self, now: Instant) {
        self.running.values().for_each(Context::cancel);
        // Twice the grace: a call gets it from the moment when it notices.
        self.ending = Ending::Leaving { until: now + self.sessions.limits().cancel_grace * 2 };
    }

    /// No host is left without an answer.
    fn answer_for_the_rest(&mut self) -> Result<(), TransportError> {
        self.end_listening()?;
        let open_requests: Vec<_> = self.session.open_requests().collect();
        for key in open_requests {
            let reply = self.session.reply(&key, Err(shutting_down()));
            self.answer(&key, reply, None)?;
        }
        Ok(())
    }

    /// Nothing more happens: who listens is told so, and then only writing is left.
    fn settle(&mut self) {
        match self.end_listening() {
            Ok(()) => self.flush_until(now()),
            Err(error) => {
                tracing::debug!(session = %self.id, %error, "the end cannot be written");
                self.ending = Ending::Over;
            }
        }
    }

    fn flush_until(&mut self, now: Instant) {
        let until = now + self.sessions.limits().drain_timeout;
        self.ending = Ending::Flushing { until, unwritten: self.sink.unwritten() };
    }

    /// Whether nothing is left to do. Moves on from one part of the end to the next.
    pub(super) fn is_over(&mut self) -> bool {
        match self.ending {
            Ending::Open => return false,
            Ending::Over => return true,
            Ending::Draining { .. } => {
                if self.is_busy() || self.announcements.deadline().is_some() {
                    return false;
                }
                self.settle();
            }
            Ending::Leaving { .. } => {
                if self.is_busy() {
                    return false;
                }
                self.settle();
            }
            Ending::Flushing { .. } => {}
        }
        // Nothing reads a shut down session's requests any more, and nothing can be told to it.
        self.unsent == 0
    }

    fn is_busy(&self) -> bool {
        !self.running.is_empty() || !self.events.is_empty()
    }
}

pub(super) fn shutting_down() -> ErrorObject {
    ErrorObject::internal("the server is shutting down")
}
