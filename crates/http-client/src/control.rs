//! The messages that expect no answer, in order: each is sent when the server has replied to the one before.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use protomcp_transport::NoAnswer;
use protomcp_types::RequestId;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};

use crate::conversation::{Conversation, Session, Speaks};
use crate::limits::Limits;
use crate::listening;
use crate::request;

/// The pauses between the attempts to send a message that the server does not take for now.
const PAUSES: [Duration; 3] = [Duration::from_millis(250), Duration::from_secs(1), Duration::from_secs(3)];

/// The pauses of all messages but `notifications/initialized`: the end of the session may wait for them.
const FEW: usize = 2;

/// The time after the first attempt in which others begin.
const PATIENCE: Duration = Duration::from_secs(5);

/// The slowest upload that a message has time for, in bytes a second.
const SLOWEST_UPLOAD: usize = 16 * 1024;

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
    /// Of a notification.
    pub(crate) method: Option<Cow<'static, str>>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<Bytes>,
    /// A server that gets it twice acts on it once.
    pub(crate) is_idempotent: bool,
}

/// Sends these messages.
pub(crate) async fn run(conversation: Arc<Conversation>, mut queue: mpsc::Receiver<Control>) {
    let mut posts = Posts { conversation: &conversation, is_failing: false };
    while let Some(step) = queue.recv().await {
        match step {
            Control::Send(posted) => {
                posts.send(posted, FEW).await;
            }
            Control::Initialized(posted, session) => {
                // The server has just replied to `initialize`.
                posts.is_failing = false;
                let is_accepted = posts.send(posted, PAUSES.len()).await;
                let Some(session) = session else { continue };
                if is_accepted && matches!(conversation.speaks(), Speaks::Streamable) {
                    conversation.spawn(listening::run(Arc::clone(&conversation), session));
                } else {
                    session.ready.cancel();
                }
            }
            Control::Cancelled(posted, id) => cancel(&mut posts, posted, &id).await,
            Control::End(session, done) => {
                end(&conversation, session).await;
                drop(done);
            }
        }
    }
}

/// Sends messages one after the other.
struct Posts<'a> {
    conversation: &'a Conversation,
    /// The last message had all its attempts. The next ones have one each: the end of a session does not wait for the
    /// pauses of all of them.
    is_failing: bool,
}

impl Posts<'_> {
    /// Sends a message, and again if the server does not take it for now. `true`: the server has accepted it.
    async fn send(&mut self, posted: Posted, pauses: usize) -> bool {
        let (conversation, began) = (self.conversation, Instant::now());
        let mut pauses = PAUSES.iter().take(if self.is_failing { 0 } else { pauses });
        let length: usize = posted.body.iter().map(Bytes::len).sum();
        loop {
            let Some(target) = conversation.post_target() else {
                tracing::warn!(
                    method = posted.method.as_deref(),
                    "a message is not sent: the connection to the server is lost"
                );
                return false;
            };
            let mut outgoing = conversation.outgoing(Method::POST, posted.headers.clone(), posted.body.clone());
            outgoing.target = target;
            outgoing.deadline = deadline(&conversation.limits, length);
            let reply = conversation.client.send(outgoing).await;
            let may_pass = match &reply {
                Ok(response) if response.status().is_success() => {
                    self.is_failing = false;
                    return true;
                }
                Ok(response) => may_pass(response.status(), posted.is_idempotent),
                // Without a status only a message that no server can have taken.
                Err(failure) => failure.reason == NoAnswer::NotSent,
            };
            if may_pass
                && began.elapsed() < PATIENCE
                && let Some(pause) = pauses.next()
            {
                drop(reply);
                tracing::debug!(?pause, "the server does not take a message for now");
                sleep(*pause).await;
                continue;
            }
            let method = posted.method.as_deref();
            match reply {
                Ok(response) => {
                    let status = response.status();
                    tracing::warn!(method, "the server does not accept a message that needs no answer: {status}");
                }
                Err(failure) => tracing::warn!(method, "a message that needs no answer was not sent: {}", failure.text),
            }
            self.is_failing = may_pass;
            return false;
        }
    }
}

/// True for the status of a server that has not taken a message and may take it soon, or of a proxy that does not know.
fn may_pass(status: StatusCode, is_idempotent: bool) -> bool {
    match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => true,
        StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => is_idempotent,
        _ => false,
    }
}

/// The time until the head of the response to a message of this length: it includes the upload.
fn deadline(limits: &Limits, length: usize) -> Duration {
    let upload = Duration::from_secs((length / SLOWEST_UPLOAD) as u64);
    limits.head_timeout.saturating_add(upload).min(limits.answer_timeout.max(limits.head_timeout))
}

/// Cancels a request. One that no connection has taken is withdrawn, so the server need not know.
async fn cancel(posts: &mut Posts<'_>, posted: Posted, id: &RequestId) {
    let conversation = posts.conversation;
    let is_sent = conversation.pending.find(id).is_none_or(|request| request.taken.is_cancelled());
    if is_sent {
        posts.send(posted, FEW).await;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_that_does_not_know_repeats_no_effect() {
        for (status, expected) in [(429, [true; 2]), (502, [false, true]), (503, [true; 2]), (500, [false; 2])] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!([may_pass(status, false), may_pass(status, true)], expected, "{status}");
        }
    }

    #[test]
    fn a_long_message_has_time_for_its_upload() {
        let limits = Limits::default();
        for (length, seconds) in [(0, 30), (1000, 30), (1024 * 1024, 94), (20 * 1024 * 1024, 600)] {
            assert_eq!(deadline(&limits, length), Duration::from_secs(seconds), "{length}");
        }
        let patient = Limits::default().with_head_timeout(Duration::MAX);
        assert_eq!(deadline(&patient, 1024 * 1024), Duration::MAX);
    }
}
