//! The loss of a connection, and its replacement by another one.

use protomcp_session::CloseReason;
use protomcp_transport::{Sink, Source};

use crate::cache::Kind;
use crate::command::Status;
use crate::driver::{Driver, now};

impl<Q: Source, K: Sink> Driver<Q, K> {
    /// The transport has ended. Begins to replace it where that is wanted, and ends the session otherwise.
    pub(super) fn disconnected(&mut self, reason: CloseReason) {
        self.source = None;
        let was_open = *self.status.borrow() == Status::Open;
        if self.connection.closed().is_some() || !was_open || !self.reconnection.start() {
            self.connection.close(reason);
            return;
        }
        tracing::warn!(%reason, "the server has ended and is started again");
        self.sink = None;
        for (_, task) in self.answering.drain() {
            task.abort();
        }
        self.connection.suspend(&reason);
        self.stop_watching(&reason);
        self.shared.cache().invalidate(&Kind::ALL);
    }

    /// The new connection is there, or every attempt has failed.
    pub(super) fn reconnected(&mut self, link: Option<(Q, K)>) {
        match link {
            Some((source, sink)) => {
                self.source = Some(source);
                self.sink = Some(sink);
                self.connection.resume(now());
            }
            None => self.connection.close(CloseReason::Failed("the server could not be started again".into())),
        }
    }
}
