//! The messages of a session for its client, and the log of those that are events.

use std::borrow::Borrow;
use std::sync::Arc;

use protomcp_server::{FencingToken, Owner, Reserved};
use protomcp_types::{JsonBuf, Message, RequestId, Response};

use crate::reserved::hold;
use crate::sse;
use crate::store::{Entry, EventKey, EventStore, StoredEvent, Write, event_id};
use crate::streams::event_log::EventLog;
use crate::streams::stream_id::StreamId;

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

    /// Its text as an event, and the write that has to be done before it is sent. `encode` makes the text of one that
    /// is not in the log.
    pub(crate) fn into_event(self, encode: impl FnOnce(&Message) -> StoredEvent) -> (StoredEvent, Write) {
        let Reserved { message, reservation } = self.reserved;
        let (event, write) = self.event.unwrap_or_else(|| (encode(&message), Write::Done(Ok(()))));
        // The store has its own bound for the bytes that it keeps.
        (hold(event, reservation), write)
    }
}

/// Writes the events of a session to its store.
#[derive(Debug)]
pub(crate) struct SessionLog {
    /// `None`: there is none, or the session has ended.
    store: Option<Arc<dyn EventStore>>,
    owner: Owner,
    session: Arc<str>,
    token: FencingToken,
}

impl SessionLog {
    /// The log of the first holder of a session.
    pub(crate) fn new(store: Option<Arc<dyn EventStore>>, owner: Owner, session: Arc<str>) -> Self {
        Self { store, owner, session, token: FencingToken::FIRST }
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
            // The writes of the events follow it, and fail as it does.
            drop(self.append(store, stream, 0, Entry::Opened { requests: &requests }));
        }
    }

    fn event(&mut self, stream: StreamId, number: u64, message: &mut Outgoing) {
        if let Some(store) = self.store.as_deref() {
            let outgoing = &message.reserved.message;
            let event = sse::event(Some(&event_id(stream, number)), outgoing);
            let answers = match outgoing {
                Message::Response(Response { id, .. }) => id.as_ref(),
                Message::Request(_) | Message::Notification(_) => None,
            };
            let write = self.append(store, stream, number, Entry::Event { event: &event, answers });
            message.event = Some((event, write));
            // Its text replaces a result, whose bytes are reserved once.
            if let Message::Response(response) = &mut message.reserved.message {
                response.outcome = Ok(JsonBuf::empty_object());
            }
        }
    }

    fn ended(&mut self, stream: StreamId, last: u64) {
        if let Some(store) = self.store.as_deref() {
            // Without it, a process that takes the session over finds a stream whose requests have their answers.
            drop(self.append(store, stream, last, Entry::Ended));
        }
    }

    /// No client can reconnect to an ended session.
    fn closed(&mut self) {
        if let Some(store) = self.store.take() {
            store.forget(&self.session, self.token);
        }
    }
}
