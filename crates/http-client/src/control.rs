//! The messages that expect no answer, in order: each is sent when the server has replied to the one before.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method};
use protomcp_types::RequestId;
use tokio::sync::{mpsc, oneshot};

use crate::conversation::{Conversation, Session, Speaks};
use crate::listening;
use crate::request;

/// A step in the order of these messages.
#[derive(Debug)]
pub(crate) enum Control {
    /// A notification, or an answer to a request of the server.
    Send(Posted),
    /// The end of the handshake: the requests of the session follow it, and the opening of the stream for messages that
    /// belong to none of them.
    Initialized(Posted, Option<Arc<Session>>),
    /// The cancellation of a request.
    Cancelled(Posted, RequestId),
    /// The end of a session. The sender is dropped when the server knows.
    End(Option<Arc<Session>>, oneshot::Sender<()>),
}

/// A message, serialized.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<Bytes>,
}

/// Sends these messages.
pub(crate) async fn run(conversation: Arc<Conversation>, mut queue: mpsc::Receiver<Control>) {
    while let Some(step) = queue.recv().await {
        match step {
            Control::Send(posted) => {
                post(&conversation, posted).await;
            }
            Control::Initialized(posted, session) => {
                let is_accepted = post(&conversation, posted).await;
                let Some(session) = session else { continue };
                if is_accepted && matches!(conversation.speaks(), Speaks::Streamable) {
                    conversation.spawn(listening::run(Arc::clone(&conversation), session));
                } else {
                    session.ready.cancel();
                }
            }
            Control::Cancelled(posted, id) => cancel(&conversation, posted, &id).await,
            Control::End(session, done) => {
                end(&conversation, session).await;
                drop(done);
            }
        }
    }
}

/// Sends a message. `true`: the server has accepted it.
async fn post(conversation: &Conversation, posted: Posted) -> bool {
    let Some(target) = conversation.post_target() else {
        tracing::warn!("a message is not sent: the connection to the server is lost");
        return false;
    };
    let mut outgoing = conversation.outgoing(Method::POST, posted.headers, posted.body);
    outgoing.target = target;
    match conversation.client.send(outgoing).await {
        Ok(response) if response.status().is_success() => true,
        Ok(response) => {
            tracing::warn!("the server does not accept a message that needs no answer: {}", response.status());
            false
        }
        Err(failure) => {
            tracing::warn!("a message that needs no answer was not sent: {}", failure.text);
            false
        }
    }
}

/// Cancels a request. One that no connection has taken is withdrawn, so the server need not know.
async fn cancel(conversation: &Conversation, posted: Posted, id: &RequestId) {
    let is_sent = conversation.pending.find(id).is_none_or(|request| request.taken.is_cancelled());
    if is_sent {
        post(conversation, posted).await;
    }
    if let Some(request) = conversation.pending.claim(id) {
        request.ended.cancel();
    }
}

/// Ends a session at the server, and forgets it.
async fn end(conversation: &Conversation, session: Option<Arc<Session>>) {
    if let Speaks::Old(connection) = conversation.speaks() {
        connection.over.cancel();
    }
    let Some(session) = session else { return };
    if session.fields.id.is_some() && !session.over.is_cancelled() {
        let headers = request::session_delete(&session.fields);
        let outgoing = conversation.outgoing(Method::DELETE, headers, Vec::new());
        // A server need not support it, and ends sessions that are not used by itself.
        let ended = tokio::time::timeout(conversation.limits.end_timeout, conversation.client.send(outgoing)).await;
        let outcome = match ended {
            Ok(Ok(response)) => response.status().to_string(),
            Ok(Err(failure)) => failure.text,
            Err(_) => "no reply in time".to_owned(),
        };
        tracing::debug!(outcome, "ended the session at the server");
    }
    session.over.cancel();
}
