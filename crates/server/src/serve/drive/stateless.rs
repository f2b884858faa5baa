//! Requests of the stateless revision on this connection.
//!
//! Each is answered as one that came alone (`serve/stateless.rs`); the session knows only their ids. Requests that
//! listen stay with the session: changes are announced after the answers of the calls that may have caused them, and
//! the end of all calls precedes the end of the requests that listen (`listening.rs`).

use std::sync::Arc;

use protomcp_types::{ErrorObject, Message};

use crate::call::ended::Reserved;
use crate::records::overload;
use crate::serve::drive::Driver;
use crate::serve::drive::stateless_requests::StatelessReplies;
use crate::serve::stateless::Replies;
use crate::serve::stateless::request::{Carrier, StatelessParts};
use crate::service::Service;
use protomcp_fair::Reservation;
use protomcp_session::{CallerKey, Extensions, RequestKey, Session, StatelessRequest};
use protomcp_transport::{Sink, TransportError};

impl<S: Service, Q, K: Sink> Driver<S, Q, K> {
    /// Begins to answer a request. Returns the answer if it is refused.
    pub(super) fn begin_stateless(&mut self, key: RequestKey, request: StatelessRequest) -> Option<Message> {
        let mut known = self.connection.arrival.known.clone();
        if let StatelessRequest::Call(call) = &request {
            match self.admit(call.request.extra_room(), &known) {
                Ok(reservation) => known = reservation.into_iter().fold(known, Extensions::with),
                Err(refusal) => return self.session.reply(&key, Err(refusal)),
            }
        }
        let parts = StatelessParts {
            sessions: self.server.sessions.clone(),
            stateless: Arc::clone(self.session.stateless()),
            sending: self.server.sending.clone(),
            peer: self.connection.peer.clone(),
            id: key.id.clone(),
        };
        let carrier = Carrier::of_session(self.id, self.calls.inline.is_none());
        let replies = Replies::carried(parts, &self.server.service, request, known, carrier);
        self.calls.stateless.push(Box::new(StatelessReplies { key, replies }));
        None
    }

    /// The bytes for a call that is about to run; `None`: its transport has reserved them.
    ///
    /// # Errors
    /// The reason to refuse the call.
    pub(super) fn admit(
        &mut self,
        extra_room: usize,
        known: &Extensions,
    ) -> Result<Option<Arc<Reservation>>, ErrorObject> {
        if !self.shutdown.is_open() {
            return Err(overload::shutting_down());
        }
        if self.in_flight() >= self.server.sessions.limits().max_pending.saturating_add(extra_room) {
            return Err(Session::overloaded());
        }
        let owner = known.find::<CallerKey>().map_or(&self.connection.peer.owner, |caller| &caller.owner);
        let reservation = self.connection.arrival.reserve(self.server.sessions.inbound_budget(), owner);
        reservation.map_err(|_| overload::request())
    }

    /// A request has a message for the client. `None`: it has ended without an answer.
    pub(super) fn replied(
        &mut self,
        request: Box<StatelessReplies>,
        reply: Option<Reserved>,
    ) -> Result<(), TransportError> {
        let Some(Reserved { message, reservation }) = reply else { return Ok(()) };
        let key = &request.key;
        if matches!(message, Message::Response(_)) {
            self.queued_events()?;
            let answer = self.session.close(key).then_some(message);
            return self.answer(key, answer, reservation);
        }
        if self.session.is_pending(key) {
            self.send_reserved(Reserved { message, reservation }, Some(&key.id))?;
        }
        self.calls.stateless.push(request);
        Ok(())
    }
}
