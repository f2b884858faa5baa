//! Hosts that may be gone without a word.

use std::time::Instant;

use protomcp_types::{Method, Params, Ping};

use crate::server::clock::now;
use crate::server::drive::Driver;
use crate::server::serve_error::ServeError;
use crate::service::Service;
use protomcp_session::KeepAliveAction;
use protomcp_transport::Sink;

impl<S: Service, Q, K: Sink> Driver<S, Q, K> {
    /// The client has said something.
    pub(super) fn heard(&mut self) {
        if self.keepalive.is_on() {
            self.alive(now());
        }
    }

    /// The time at which the client is sent a ping, or given up; never at the end.
    pub(super) fn next_beat(&self) -> Option<Instant> {
        let is_asked = self.shutdown.is_open() && self.connection.is_reading && self.session.is_ready();
        self.keepalive.deadline().filter(|_| is_asked)
    }

    /// Asks the client, or gives it up, if it is time.
    pub(super) fn beat(&mut self, now: Instant) -> Result<(), ServeError> {
        if self.next_beat().is_none() {
            return Ok(());
        }
        match self.keepalive.time(now) {
            None => Ok(()),
            // A ping that does not arrive cannot be answered.
            Some(_) if !self.can_send_unsolicited() => {
                self.alive(now);
                Ok(())
            }
            Some(KeepAliveAction::Ping) => {
                let (call, message) = self.session.call(Ping::NAME, Params::Absent);
                self.keepalive.asked(call, now);
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

    fn alive(&mut self, now: Instant) {
        if let Some(call) = self.keepalive.heard(now) {
            // The answer may come still, and is ignored without a notification.
            drop(self.session.abandon(call));
        }
    }
}
