//! The stream for messages that belong to no request, which a session opens with GET.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use protomcp_session::Extensions;
use tokio::time::{Instant, sleep};

use crate::conversation::{Conversation, Session};
use crate::http_client::Outgoing;
use crate::reply::random;
use crate::response::{Resumed, may_mean_lost_session};
use crate::response_body::{BodyError, EventStream};
use crate::resumption::{Resumption, Step, StreamKind};
use crate::sse::EventKind;

/// The longest time for which the requests of a session wait for this stream. Some servers send the head of the response
/// with its first event.
const OPENING: Duration = Duration::from_secs(1);

/// Listens until the session is over, or the server has no such stream.
///
/// The requests of the session wait for the reply to the first attempt, because servers may send their questions about a
/// call on this stream, and lose them if it is not open.
pub(crate) async fn run(conversation: Arc<Conversation>, session: Arc<Session>) {
    let _ready = session.ready.clone().drop_guard();
    let late = async {
        sleep(OPENING).await;
        session.ready.cancel();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = session.over.cancelled() => {}
        () = listen(&conversation, &session) => {}
        () = late => {}
    }
}

async fn listen(conversation: &Conversation, session: &Session) {
    let mut resumption = Resumption::new(StreamKind::Standalone, conversation.limits.pace());
    let mut was_open = false;
    loop {
        let asked = Instant::now();
        // Some servers send the head of the response with its first event.
        let deadline = conversation.limits.answer_timeout;
        let get = Outgoing { deadline, ..conversation.stream_get(&session.fields, resumption.position()) };
        let reply = conversation.client.send(get).await;
        session.ready.cancel();
        match reply {
            Ok(response) => {
                let status = response.status();
                match Resumed::of(status, response.headers()) {
                    Resumed::Continues => {
                        was_open = true;
                        let events = EventStream::new(response.into_body(), &conversation.limits);
                        read(conversation, &mut resumption, events).await;
                        resumption.stayed_open(asked.elapsed());
                    }
                    Resumed::Later => tracing::debug!("the server replies with {status} to GET"),
                    // The position is too old: listening continues without the events since.
                    Resumed::Never if status == StatusCode::BAD_REQUEST && resumption.position().is_some() => {
                        tracing::warn!("messages of the server that belong to no request may be lost");
                        resumption.forget_position();
                    }
                    // A server that had the stream and knows it no longer may have lost the session.
                    Resumed::Never if was_open && may_mean_lost_session(status) && session.fields.id.is_some() => {
                        return conversation.deliver_session_lost().await;
                    }
                    Resumed::Never if was_open => {
                        return tracing::warn!("the server sends no more messages that belong to no request: {status}");
                    }
                    Resumed::Never => return tracing::debug!("the server sends such messages to no one: {status}"),
                }
            }
            Err(failure) => tracing::debug!("cannot listen to the server: {}", failure.text),
        }
        // It is never given up.
        let Step::Open { after, .. } = resumption.ended(random()) else { return };
        tracing::debug!(?after, "listening again after a while");
        sleep(after).await;
    }
}

/// Delivers the messages of a stream until it ends.
async fn read(conversation: &Conversation, resumption: &mut Resumption, mut events: EventStream) {
    loop {
        match events.next(&conversation.budget).await {
            Ok(Some((event, taken))) => {
                resumption.event(&event);
                if event.kind != EventKind::Message || event.data.is_empty() {
                    continue;
                }
                if let Err(malformed) = conversation.deliver(event.data, taken, None, Extensions::default()).await {
                    conversation.deliver_malformed(malformed).await;
                }
            }
            Ok(None) | Err(BodyError::Broken(_) | BodyError::TimedOut(_)) => return,
            // The same event would come again.
            Err(error @ BodyError::TooLong(_)) => {
                tracing::warn!("an event that belongs to no request is lost: {error}");
                resumption.forget_position();
                return resumption.slow_down();
            }
        }
    }
}
