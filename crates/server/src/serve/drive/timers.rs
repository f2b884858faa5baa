//! The timers of a connection: change notices, keep-alive, and the steps of its end.

use std::time::Instant;

use crate::call::context::Context;
use crate::records::cancel::Cancel;
use crate::records::clock::now;
use crate::records::overload;
use crate::serve::drive::Driver;
use crate::serve::serve_error::ServeError;
use crate::serve::shutdown::Due;
use crate::service::Service;
use protomcp_transport::{Sink, TransportError};

impl<S: Service, Q, K: Sink> Driver<S, Q, K> {
    pub(super) fn deadline(&self) -> Option<Instant> {
        // The next notification waits until the client has read the one before.
        let announcements = self.announcements.deadline().filter(|_| !self.unsent.has_changes);
        [self.shutdown.deadline(), announcements, self.keepalive_deadline()].into_iter().flatten().min()
    }

    pub(super) fn time(&mut self) -> Result<(), ServeError> {
        let now = now();
        self.poll_keepalive(now)?;
        if !self.unsent.has_changes {
            while let Some((list, scope)) = self.announcements.poll(now) {
                self.list_changed(list, scope)?;
            }
        }
        match self.shutdown.poll(now, self.connection.sink.unwritten()) {
            Due::Nothing => Ok(()),
            Due::Cancel => {
                self.calls.running.values().for_each(Context::cancel);
                self.calls.stateless.interrupt();
                Ok(())
            }
            Due::GiveUp => {
                tracing::warn!(session = %self.id, calls = self.running(), "abandoning calls that ignored cancellation");
                self.calls.running.clear();
                self.calls.stateless.clear();
                Ok(self.answer_open_requests()?)
            }
            Due::Stalled => Err(ServeError::Stalled),
        }
    }

    /// The client has closed its end: no request and no answer follows.
    pub(super) fn stop_reading(&mut self) {
        self.connection.is_reading = false;
        self.open_questions.clear();
        self.drain();
    }

    pub(super) fn drain(&mut self) {
        self.shutdown.drain(now());
    }

    /// Answers all open requests with an error.
    fn answer_open_requests(&mut self) -> Result<(), TransportError> {
        self.end_listening()?;
        let open_requests: Vec<_> = self.session.open_requests().collect();
        for key in open_requests {
            let reply = self.session.reply(&key, Err(overload::shutting_down()));
            self.answer(&key, reply, None)?;
        }
        Ok(())
    }

    /// Sends the last messages once only writing is left. Returns true if the session has ended.
    pub(super) fn is_over(&mut self) -> bool {
        if self.shutdown.is_open() || self.shutdown.is_over() {
            return self.shutdown.is_over();
        }
        let is_busy = self.running() > 0 || !self.events.is_empty();
        if self.shutdown.is_settled(is_busy, self.announcements.deadline().is_some()) {
            match self.end_listening() {
                Ok(()) => self.shutdown.flush(now(), self.connection.sink.unwritten()),
                Err(error) => {
                    tracing::debug!(session = %self.id, %error, "the last messages cannot be written");
                    self.shutdown.abort();
                }
            }
        } else if !self.shutdown.is_flushing() && !self.shutdown.is_over() {
            return false;
        }
        // From here on the session reads no requests, and no notification of a change reaches it.
        self.unsent.messages == 0
    }
}
