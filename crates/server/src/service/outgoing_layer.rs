//! Layers for the messages that a server sends on its own: notifications, and requests to the client.
//!
//! Requests of the client and their answers pass the layers of a [`crate::Service`]; this is the other direction. Such
//! a layer runs in the task of the session, in the order of the messages: it must not wait. The questions of 2026-07-28
//! are results of the client's own requests, and do not pass it.

use protomcp_types::{ErrorObject, JsonBuf, Notification, Params};

use protomcp_session::SessionId;

/// Sees, changes or withholds messages to clients. Add one with [`crate::Server::outgoing_layer`].
///
/// ```
/// use protomcp_server::{OutgoingLayer, SessionId};
/// use protomcp_types::Notification;
///
/// /// Keeps log messages to itself.
/// struct Discreet;
///
/// impl OutgoingLayer for Discreet {
///     fn notification(&self, _: SessionId, notification: Notification) -> Option<Notification> {
///         (notification.method != "notifications/message").then_some(notification)
///     }
/// }
/// ```
pub trait OutgoingLayer: Send + Sync + 'static {
    /// A notification is about to be sent; `None` withholds it.
    fn notification(&self, session: SessionId, notification: Notification) -> Option<Notification> {
        let _ = session;
        Some(notification)
    }

    /// A request to the client is about to be sent.
    ///
    /// # Errors
    /// The answer in the client's place; the request is not sent.
    fn question(&self, session: SessionId, method: &'static str, params: Params) -> Result<Params, ErrorObject> {
        let _ = (session, method);
        Ok(params)
    }

    /// The client has answered a question.
    ///
    /// # Errors
    /// The error that the client has answered with, or an error in place of its answer.
    fn answered(
        &self,
        session: SessionId,
        method: &'static str,
        outcome: Result<JsonBuf, ErrorObject>,
    ) -> Result<JsonBuf, ErrorObject> {
        let _ = (session, method);
        outcome
    }
}
