//! Parks calls of this connection, and resumes parked calls whose retry came over it.

use crate::call::context::Context;
use crate::call::mrtr::Returned;
use crate::serve::drive::Driver;
use crate::serve::round_trip;
use crate::service::Service;
use protomcp_session::{RequestKey, ServerResult};
use protomcp_transport::{Sink, TransportError};

impl<S: Service, Q, K: Sink> Driver<S, Q, K> {
    /// The retry of a parked call has come over this connection.
    pub(super) fn resume(&mut self, key: RequestKey, call: Context, returned: Returned) {
        self.calls.running.insert(key.number, call);
        match returned {
            Returned::Running => {}
            Returned::Asking => self.queue.park(key),
            Returned::Ended(ended) => self.queue.done(key, *ended),
        }
    }

    /// A call waits for answers: its request is answered with its questions, and the call is parked.
    pub(super) fn park(&mut self, key: &RequestKey) -> Result<(), TransportError> {
        if !self.session.is_pending(key) {
            return Ok(());
        }
        let Some(call) = self.calls.running.get(&key.number) else { return Ok(()) };
        let Some(required) = round_trip::park(&self.server.sessions, call) else { return Ok(()) };
        self.calls.running.remove(&key.number);
        let reply = self.session.reply(key, Ok(ServerResult::InputRequired(required)));
        self.answer(key, reply, None)
    }
}
