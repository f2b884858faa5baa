//! The seam for what a server sends without being asked: notifications, and questions for the client.
//!
//! Requests of the client and their answers pass the layers of a [`crate::Service`]; this is the other direction. It
//! stands in the task of the session, at the point where the order of messages is decided: it must not wait. The
//! questions of 2026-07-28 are results of the client's own requests, and no messages of this kind.

use protomcp_types::{ErrorObject, JsonBuf, Notification, Params};

use protomcp_session::SessionId;

/// Sees, changes or withholds what goes to clients. Add one with [`crate::Server::outgoing_layer`].
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
    /// A notification leaves; `None` withholds it.
    fn notification(&self, session: SessionId, notification: Notification) -> Option<Notification> {
        let _ = session;
        Some(notification)
    }

    /// A question leaves.
    ///
    /// # Errors
    /// Answers it in the client's place.
    fn question(&self, session: SessionId, method: &'static str, params: Params) -> Result<Params, ErrorObject> {
        let _ = (session, method);
        Ok(params)
    }

    /// The client has answered a question.
    ///
    /// # Errors
    /// When it was refused, or is to look like that.
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
