//! Pings a silent client, and closes the session of one that does not answer.

use std::time::Instant;

use protomcp_types::{Method, Params, Ping};

use crate::records::clock::now;
use crate::serve::drive::Driver;
use crate::serve::serve_error::ServeError;
use crate::service::Service;
use protomcp_session::KeepAliveAction;
use protomcp_transport::Sink;

impl<S: Service, Q, K: Sink> Driver<S, Q, K> {
    /// The client has sent a message.
    pub(super) fn note_activity(&mut self) {
        if self.keepalive.is_on() {
            self.reset_keepalive(now());
        }
    }

    /// The time at which the client is sent a ping, or given up; never at the end.
    pub(super) fn keepalive_deadline(&self) -> Option<Instant> {
        let is_asked = self.shutdown.is_open() && self.connection.is_reading && self.session.is_ready();
        self.keepalive.deadline().filter(|_| is_asked)
    }

    /// Sends a ping, or fails if the client has not answered the last one, when it is time.
    pub(super) fn poll_keepalive(&mut self, now: Instant) -> Result<(), ServeError> {
        if self.keepalive_deadline().is_none() {
            return Ok(());
        }
        match self.keepalive.poll(now) {
            None => Ok(()),
            // A ping that does not arrive cannot be answered.
            Some(_) if !self.can_send_unsolicited() => {
                self.reset_keepalive(now);
                Ok(())
            }
            Some(KeepAliveAction::Ping) => {
                let (call, message) = self.session.call(Ping::NAME, Params::Absent);
                self.keepalive.ping_sent(call, now);
                self.send(message, None).map_err(ServeError::from)
            }
            Some(KeepAliveAction::Expired(_)) => {
                tracing::info!(session = %self.id, "ping timed out; closing session");
                Err(ServeError::Silent)
            }
        }
    }

    fn can_send_unsolicited(&mut self) -> bool {
        self.connection.sink.delivery().is_none_or(|delivery| delivery.can_send_unsolicited())
    }

    fn reset_keepalive(&mut self, now: Instant) {
        if let Some(call) = self.keepalive.received(now) {
            // The answer may still come. It is ignored, so the ping needs no cancellation.
            drop(self.session.abandon(call));
        }
    }
}
