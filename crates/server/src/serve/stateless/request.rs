//! The parts of one request that its driver needs, whether it is a call or listens.

use std::sync::Arc;

use protomcp_types::{ErrorObject, JsonBuf, Message, Notification, RequestId, Response};

use crate::call::ended::Reserved;
use crate::serve::peer::Peer;
use crate::service::outgoing_layer::OutgoingLayer;
use crate::state::handle::{OpenRequest, ServerHandle};
use protomcp_fair::Reservation;
use protomcp_session::{Attempt, ServerResult, SessionId, Stateless};

/// One request: the server around it, and its sender.
pub(crate) struct StatelessParts {
    pub(crate) sessions: ServerHandle,
    /// The revision as the connection of the request knows it.
    pub(crate) stateless: Arc<Stateless>,
    pub(crate) sending: Vec<Arc<dyn OutgoingLayer>>,
    pub(crate) peer: Peer,
    pub(crate) id: RequestId,
}

/// The connection that a call came over.
pub(crate) struct Carrier {
    /// Identifies the request in place of a session.
    pub(crate) session: SessionId,
    /// True if the call runs in its own task from its beginning.
    pub(crate) spawns: bool,
    /// Counts a request without a session for its owner.
    _open: Option<OpenRequest>,
}

impl Carrier {
    /// The connection of a session, which counts for its owner.
    pub(crate) fn of_session(session: SessionId, spawns: bool) -> Self {
        Self { session, spawns, _open: None }
    }

    /// A connection for one request.
    pub(super) fn alone(parts: &StatelessParts) -> Self {
        let open = parts.sessions.enter(parts.peer.owner.clone());
        Self { session: open.id, spawns: false, _open: Some(open) }
    }
}

impl StatelessParts {
    /// The answer with this outcome.
    pub(super) fn answer(&self, outcome: Result<ServerResult, ErrorObject>, attempt: Attempt) -> Message {
        self.response(self.stateless.outcome(outcome, attempt))
    }

    /// The answer with this outcome as it is.
    pub(super) fn response(&self, outcome: Result<JsonBuf, ErrorObject>) -> Message {
        Response { id: Some(self.id.clone()), outcome }.into()
    }

    /// Reserves the bytes of an answer without a reservation; if the budget has too few, a short error replaces it.
    pub(super) fn with_reservation(&self, message: Message, reservation: Option<Reservation>) -> Reserved {
        Reserved::new(message, reservation, self.sessions.outbound_budget(), &self.peer.owner)
    }

    /// A notification, unless a layer withholds it. `session` is the id of the request for the layers.
    pub(super) fn notification(
        &self,
        session: SessionId,
        notification: Notification,
        reservation: Option<Reservation>,
    ) -> Option<Reserved> {
        let mut layers = self.sending.iter();
        let notification = layers.try_fold(notification, |notified, layer| layer.notification(session, notified))?;
        Some(Reserved { message: notification.into(), reservation })
    }
}
