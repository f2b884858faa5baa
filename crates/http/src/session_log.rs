//! The messages of a session for its client, and the log of those that are events.

use std::borrow::Borrow;
use std::sync::Arc;

use protomcp_server::{FencingToken, Owner, Reserved};
use protomcp_types::{ErrorObject, JsonBuf, Message, Params, RequestId};

use crate::holding::Holding;
use crate::reserved::hold;
use crate::sse;
use crate::store::{Entry, EventKey, EventStore, StoredEvent, StreamLog, Write, event_id};
use crate::streams::answered;
use crate::streams::event_log::EventLog;
use crate::streams::stream_id::{STANDALONE, StreamId};

/// A message for the client.
#[derive(Debug)]
pub(crate) struct Outgoing {
    reserved: Reserved,
    /// Its text as an event, and the write of it.
    event: Option<(StoredEvent, Write)>,
}

impl From<Reserved> for Outgoing {
    fn from(reserved: Reserved) -> Self {
        Self { reserved, event: None }
    }
}

impl Borrow<Message> for Outgoing {
    fn borrow(&self) -> &Message {
        &self.reserved.message
    }
}

impl Outgoing {
    /// The message alone.
    pub(crate) fn into_reserved(self) -> Reserved {
        self.reserved
    }

    /// The event that it is. `encode` makes the text of one that is not in the log.
    pub(crate) fn into_event(self, encode: impl FnOnce(&Message) -> StoredEvent) -> Sending {
        let Reserved { message, reservation } = self.reserved;
        let (event, write) = self.event.unwrap_or_else(|| (encode(&message), Write::Done(Ok(()))));
        // The store has its own bound for the bytes that it keeps.
        Sending { event: hold(event, reservation), write, answers: answered(&message).cloned() }
    }
}

/// An event that is sent when its write is done.
#[derive(Debug)]
pub(crate) struct Sending {
    pub(crate) event: StoredEvent,
    pub(crate) write: Write,
    /// The request that it answers.
    pub(crate) answers: Option<RequestId>,
}

/// Writes the events of a session to its store.
#[derive(Debug)]
pub(crate) struct SessionLog {
    /// `None`: there is none, or the session has ended.
    store: Option<Arc<dyn EventStore>>,
    owner: Owner,
    session: Arc<str>,
    token: FencingToken,
    /// `None`: no other process can take the session over.
    holding: Option<Arc<Holding>>,
}

impl SessionLog {
    /// The log of a session of this process alone.
    pub(crate) fn new(store: Option<Arc<dyn EventStore>>, owner: Owner, session: Arc<str>) -> Self {
        Self { store, owner, session, token: FencingToken::FIRST, holding: None }
    }

    /// The log of a session that this process holds.
    pub(crate) fn held(store: Option<Arc<dyn EventStore>>, owner: Owner, holding: &Arc<Holding>) -> Self {
        let (session, token) = (Arc::clone(holding.session()), holding.token());
        Self { store, owner, session, token, holding: Some(Arc::clone(holding)) }
    }

    /// The store of the events.
    pub(crate) fn store(&self) -> Option<&Arc<dyn EventStore>> {
        self.store.as_ref()
    }

    /// The session.
    pub(crate) fn session(&self) -> &Arc<str> {
        &self.session
    }

    /// Answers the requests that the holder before has left, each in its stream, and ends these streams. Returns the
    /// writes, and the number of the next event of the standalone stream if it has begun.
    pub(crate) fn answer_left(&mut self, streams: Vec<StreamLog>) -> (Vec<Write>, Option<u64>) {
        let (mut writes, mut standalone) = (Vec::new(), None);
        for StreamLog { stream, mut last, requests } in streams {
            if stream == STANDALONE {
                standalone = Some(last + 1);
                continue;
            }
            for request in requests {
                last += 1;
                let mut answer = Outgoing::from(Reserved::from(Message::error(Some(request), holder_gone())));
                self.event(stream, last, &mut answer);
                writes.extend(answer.event.map(|(_, write)| write));
            }
            self.ended(stream, last);
        }
        (writes, standalone)
    }

    fn append(&self, store: &dyn EventStore, stream: StreamId, number: u64, entry: Entry<'_>) -> Write {
        let key = EventKey { session: &self.session, stream, number };
        store.append(&self.owner, self.token, key, entry)
    }
}

impl EventLog<Outgoing> for SessionLog {
    fn opened<'a>(&mut self, stream: StreamId, requests: impl Iterator<Item = &'a RequestId>) {
        if let Some(store) = self.store.as_deref() {
            let requests: Vec<_> = requests.collect();
            // The writes of the events follow it, and fail if it does: the contract of `EventStore::append` says so.
            drop(self.append(store, stream, 0, Entry::Opened { requests: &requests }));
        }
    }

    fn event(&mut self, stream: StreamId, number: u64, message: &mut Outgoing) {
        if let Some(store) = self.store.as_deref() {
            let outgoing = &message.reserved.message;
            let event = sse::event(Some(&event_id(stream, number)), outgoing);
            let answers = answered(outgoing);
            let write = self.append(store, stream, number, Entry::Event { event: &event, answers });
            let write = match &self.holding {
                Some(holding) if answers.is_some() && holding.is_saving() => after_save(holding, write),
                Some(_) | None => write,
            };
            message.event = Some((event, write));
            // Its text replaces what the message says, whose bytes are reserved once.
            match &mut message.reserved.message {
                Message::Response(response) => response.outcome = Ok(JsonBuf::empty_object()),
                Message::Request(request) => request.params = Params::Absent,
                Message::Notification(notification) => notification.params = Params::Absent,
            }
        }
    }

    fn ended(&mut self, stream: StreamId, last: u64) {
        if let Some(store) = self.store.as_deref() {
            // Without it, a process that takes the session over finds a stream whose requests have their answers.
            drop(self.append(store, stream, last, Entry::Ended));
        }
    }

    /// Another process may serve the session, and needs its log.
    fn lost(&mut self) {
        self.store = None;
    }

    /// No client can reconnect to an ended session.
    fn closed(&mut self) {
        if let Some(store) = self.store.take() {
            store.forget(&self.session, self.token);
        }
    }
}

/// A write that is over when the state of the session is saved as well: an answer follows the change that it confirms.
fn after_save(holding: &Arc<Holding>, write: Write) -> Write {
    let holding = Arc::clone(holding);
    Write::Pending(Box::pin(async move {
        holding.saved().await?;
        match write {
            Write::Done(written) => written,
            Write::Pending(write) => write.await,
        }
    }))
}

/// The answer to a request whose call has ended with its process. It may have had effects.
pub(crate) fn holder_gone() -> ErrorObject {
    let message = "the process that served the call has ended before its answer, and the call may have had effects";
    let suggestion = "call again if that is safe";
    let error = JsonBuf::object()
        .text("error_code", "REPLICA_GONE")
        .text("message", message)
        .text("suggestion", suggestion)
        .boolean("retryable", true);
    let data = JsonBuf::object().body("protomcp/error", &error.finish()).finish().into_raw();
    ErrorObject::internal(format!("{message}; {suggestion}")).with_data(data)
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;
    use crate::store::memory::MemoryStore;
    use crate::streams::queue::MAX_QUEUED_BYTES;
    use crate::streams::{Next, Streams};

    #[test]
    fn a_queued_event_is_its_text_and_keeps_its_weight() {
        let store: Arc<dyn EventStore> = Arc::new(MemoryStore::default());
        let mut streams = Streams::new(4, None, SessionLog::new(Some(store), Owner::Local, "s".into()));
        let stream_ref = streams.attach(STANDALONE).unwrap();
        let data = "x".repeat(MAX_QUEUED_BYTES / 2);
        let params = Params::of(&serde_json::json!({ "data": data })).unwrap();
        for _ in 0..5 {
            let outgoing = Outgoing::from(Reserved::from(Message::notification("n", params.clone())));
            drop(streams.route(outgoing, None));
        }
        let mut taken = 0;
        while let Next::Event(_, outgoing) = streams.next(stream_ref, Waker::noop()) {
            assert_eq!(outgoing.reserved.message, Message::notification("n", Params::Absent));
            let Sending { event, .. } = outgoing.into_event(|_| panic!("it is a text already"));
            assert!(event.concat().len() > data.len());
            taken += 1;
        }
        assert_eq!(taken, 2, "the others were too many bytes");
    }
}
