//! A request of the client, ready to be sent.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Response};
use hyper::body::Incoming;
use protomcp_types::RequestId;
use tokio_util::sync::CancellationToken;

use crate::conversation::{Conversation, Session};
use crate::http_client::Outgoing;
use crate::pending::PendingRequest;
use crate::request::{SESSION, SessionFields};

/// The response to a request.
pub(crate) type Reply = Response<Incoming>;

/// A request of the client, serialized.
#[derive(Debug)]
pub(crate) struct ClientRequest {
    pub(crate) id: RequestId,
    pub(crate) kind: Kind,
    /// The fields of its head, or the reason for which they cannot be sent.
    pub(crate) headers: Result<HeaderMap, String>,
    pub(crate) body: Vec<Bytes>,
    pub(crate) pending: PendingRequest,
    pub(crate) lane: Lane,
    /// Cancelled when the request may be sent.
    pub(crate) gate: Option<CancellationToken>,
    /// The session that it belongs to.
    pub(crate) session: Option<Arc<Session>>,
}

/// The kinds of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `initialize`.
    Handshake,
    /// A request of the stateful revisions.
    Stateful,
    /// A request of 2026-07-28.
    Stateless,
}

/// The slots that a request may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// The slots of calls and other requests of the caller.
    Calls,
    /// Separate slots: pings, handshakes and cancellations must not wait for calls.
    Upkeep,
    /// None. A subscription is open for as long as it is wanted, and the client has two at most.
    Stream,
}

impl Lane {
    pub(crate) fn of(method: &str) -> Self {
        match method {
            "ping" | "initialize" | "server/discover" | "tasks/cancel" => Self::Upkeep,
            "subscriptions/listen" => Self::Stream,
            _ => Self::Calls,
        }
    }
}

impl ClientRequest {
    pub(crate) fn outgoing(&self, conversation: &Conversation) -> Outgoing {
        let headers = self.headers.clone().unwrap_or_default();
        let outgoing = conversation.outgoing(Method::POST, headers, self.body.clone());
        let (taken, turn) = (Some(self.pending.taken.clone()), Some(self.pending.turn.clone()));
        Outgoing { taken, turn, deadline: conversation.limits.answer_timeout, ..outgoing }
    }

    /// The fields of its session, by which the response is resumed.
    pub(crate) fn session_fields(&self, head: &HeaderMap) -> SessionFields {
        match &self.session {
            Some(session) => session.fields.clone(),
            None => SessionFields { id: head.get(SESSION).cloned(), version: None },
        }
    }

    /// True if the request names a session that the server has given an id.
    pub(crate) fn names_session(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.fields.id.is_some())
    }
}
