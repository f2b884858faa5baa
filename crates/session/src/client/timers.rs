//! The deadlines of a connection.

use std::time::Instant;

use protomcp_types::{Method, Params, Ping};

use crate::client::ClientConnection;
use crate::client::error::CloseReason;
use crate::client::exchange::{Draft, Purpose};
use crate::client::heartbeat::Beat;

impl ClientConnection {
    /// The time at which [`ClientConnection::time`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let deadlines =
            [self.phase.deadline(), self.calls.deadline(), self.heartbeat.deadline(), self.listening.deadline()];
        deadlines.into_iter().flatten().min()
    }

    /// Does everything that is due.
    pub fn time(&mut self, now: Instant) {
        if self.phase.deadline().is_some_and(|deadline| deadline <= now) {
            self.opening_timed_out(now);
        }
        while let Some(call) = self.calls.overdue(now) {
            self.overdue(now, call);
        }
        match self.heartbeat.time(now) {
            Beat::Nothing => {}
            Beat::Ping => {
                self.send(Draft::new(Purpose::Ping, Ping::NAME, Params::Absent));
            }
            Beat::GiveUp => self.close(CloseReason::Unresponsive),
        }
        self.listening_time(now);
    }
}
