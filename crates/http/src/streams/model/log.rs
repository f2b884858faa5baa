//! The events of the streams, in a store.

use std::sync::Arc;

use bytes::Bytes;
use protomcp_server::{FencingToken, Owner};
use protomcp_types::{Message, RequestId};

use super::text;
use crate::store::memory::MemoryStore;
use crate::store::{Entry, EventKey, EventStore, Replayed, Write};
use crate::streams::event_log::EventLog;
use crate::streams::stream_id::StreamId;

/// The store of the session.
pub(super) struct Log(pub(super) Arc<MemoryStore>);

impl Log {
    fn append(&self, stream: StreamId, number: u64, entry: Entry<'_>) {
        let key = EventKey { session: "s", stream, number };
        let write = self.0.append(&Owner::Local, FencingToken::FIRST, key, entry);
        assert!(matches!(write, Write::Done(Ok(()))));
    }
}

impl EventLog<Message> for Log {
    fn opened<'a>(&mut self, stream: StreamId, requests: impl Iterator<Item = &'a RequestId>) {
        self.append(stream, 0, Entry::Opened { requests: &requests.collect::<Vec<_>>() });
    }

    fn event(&mut self, stream: StreamId, number: u64, message: &mut Message) {
        let event = vec![Bytes::from(text(message))];
        self.append(stream, number, Entry::Event { event: &event, answers: None });
    }

    fn ended(&mut self, stream: StreamId, last: u64) {
        self.append(stream, last, Entry::Ended);
    }

    fn closed(&mut self) {}
}

/// The texts of these events.
pub(super) fn texts(replayed: Replayed) -> Vec<String> {
    match replayed {
        Replayed::Events(events) => {
            events.into_iter().map(|event| String::from_utf8(event.concat()).unwrap()).collect()
        }
        Replayed::Missing | Replayed::Unknown => Vec::new(),
    }
}
