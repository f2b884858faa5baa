//! The logs of sessions, in a store.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use protomcp_http::{Entry, EventKey, EventStore, Replayed, StoredEvent, StreamLog, Write};
use protomcp_server::{FencingToken, Owner, StoreAnswer, StoreError};
use protomcp_types::RequestId;
use tokio::time::{Instant, timeout_at};

use crate::connection::Connection;
use crate::failed_openings::Subject;
use crate::keys::{KeyNames, SessionKeys, SessionName};
use crate::script::{self, Call, Script};
use crate::seal::{OVERHEAD, Seal};
use crate::stream_record::{Kept, Range, StreamRecord, pairs};
use crate::writes::{LARGEST, Writes};

/// The limits of the log of a session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogLimits {
    /// The time in which its keys expire, in milliseconds.
    pub(crate) expiry: u64,
    pub(crate) events: u64,
    /// Of its events as they are sealed, [`OVERHEAD`] more for each.
    pub(crate) bytes: u64,
}

/// The stream without a request.
const STANDALONE: u64 = 0;

/// The logs of sessions in a Redis or Valkey.
///
/// A session has the events of all its streams in one log, which drops the oldest ones beyond its limits
/// ([`StoreOptions::with_log`](crate::StoreOptions::with_log)). The limits of a session do not depend on other sessions
/// and on their owners. A log expires with its session.
///
/// An event above the limit of bytes, or above 16 MiB, is entered by its number alone, and drops no others. A client
/// that asks for it is told that it is no longer kept ([`Replayed::Missing`]). The writes that wait or are under way
/// have 64 MiB, and an owner has at most four times what is free.
#[derive(Debug)]
pub struct RedisEvents {
    connection: Arc<Connection>,
    writes: Arc<Writes>,
    names: KeyNames,
    seal: Arc<Seal>,
    limits: LogLimits,
}

impl RedisEvents {
    pub(crate) fn new(connection: Arc<Connection>, names: KeyNames, seal: Arc<Seal>, limits: LogLimits) -> Self {
        let writes = Writes::new(Arc::clone(&connection));
        Self { connection, writes, names, seal, limits }
    }

    /// Waits until the earlier writes of a session are over.
    async fn settled(&self, session: &SessionName, deadline: Instant) -> Result<(), StoreError> {
        timeout_at(deadline, self.writes.settled(session)).await.map_err(|_| StoreError::Unavailable)
    }

    /// The call of a script that changes the log of a session.
    fn call(&self, script: &'static Script, session: &SessionName, token: FencingToken) -> Call {
        script.call(self.names.of(session).all()).arg(token.get()).arg(self.limits.expiry)
    }

    /// The names that a request may have in the log, which do not show its id. A request gets the first one.
    fn tags(&self, session: &SessionName, request: &RequestId) -> Vec<String> {
        let id = request.to_raw();
        self.seal.keys().tags(session, id.as_str()).map(|tag| URL_SAFE_NO_PAD.encode(tag)).collect()
    }

    fn to_call(
        &self,
        session: &SessionName,
        token: FencingToken,
        key: EventKey<'_>,
        entry: Entry<'_>,
    ) -> (Subject, Call) {
        let EventKey { stream, number, .. } = key;
        let keys = self.names.of(session);
        let seal = |field: &str, value: &[u8]| self.seal.keys().seal(session, field, token, value);
        match entry {
            Entry::Opened { requests } => {
                let mut call = self.call(&script::OPENED, session, token).arg(stream).arg(number);
                for request in requests {
                    if let Some(tag) = self.tags(session, request).into_iter().next() {
                        let id = seal(&request_field(&keys, stream, &tag), request.to_raw().as_bytes());
                        call = call.arg(tag).arg(id);
                    }
                }
                (Subject::Opening(stream), call)
            }
            Entry::Event { event, answers } => {
                // Without a content, its number is kept.
                let sealed = self.is_kept(event).then(|| seal(&event_field(&keys, stream, number), &event.concat()));
                let sealed = sealed.unwrap_or_default();
                let call = self.call(&script::APPEND, session, token).arg(stream).arg(number).arg(sealed);
                let call = call.arg(self.limits.events).arg(self.limits.bytes);
                // It may have been opened with another key.
                let answered = answers.map(|request| self.tags(session, request)).unwrap_or_default();
                (Subject::Event(stream), answered.into_iter().fold(call, Call::arg))
            }
            Entry::Ended => (Subject::End(stream), self.call(&script::ENDED, session, token).arg(stream)),
        }
    }

    /// True for an event that is not too large.
    fn is_kept(&self, event: &StoredEvent) -> bool {
        let bytes: usize = event.iter().map(Bytes::len).sum();
        (bytes + OVERHEAD) as u64 <= self.limits.bytes.min(LARGEST)
    }

    async fn read(&self, key: EventKey<'_>, end: u64) -> Result<Replayed, StoreError> {
        let (session, deadline) = (SessionName::of(key.session), self.connection.deadline());
        self.settled(&session, deadline).await?;
        let keys = self.names.of(&session);
        let before = if end == u64::MAX { String::new() } else { end.to_string() };
        let call = script::REPLAY.call(vec![keys.log.clone(), keys.events.clone()]);
        let call = call.arg(key.stream).arg(key.number).arg(before);
        let (last, found): (String, Vec<Vec<u8>>) = self.connection.query(call, deadline).await?;
        let kept = |(number, sealed): (String, Vec<u8>)| -> Option<Kept> {
            let number = number.parse().ok()?;
            let open = || self.seal.open(&session, &event_field(&keys, key.stream, number), &sealed);
            // One without a content was too large.
            let event = if sealed.is_empty() { None } else { open() };
            Some((number, event.map(|event| vec![event.into()])))
        };
        let found = pairs(found).into_iter().filter_map(kept).collect();
        let record = StreamRecord { last: last.parse().ok() };
        Ok(record.replay(Range { after: key.number, before: end }, found))
    }

    async fn take_log(&self, session: &str, token: FencingToken) -> Result<Vec<StreamLog>, StoreError> {
        let (session, deadline) = (SessionName::of(session), self.connection.deadline());
        self.settled(&session, deadline).await?;
        let keys = self.names.of(&session);
        let call = self.call(&script::LOG, &session, token);
        let (is_latest, fields, requests): (bool, Vec<Vec<u8>>, Vec<Vec<u8>>) =
            self.connection.query(call, deadline).await?;
        if !is_latest {
            return Err(StoreError::Fenced);
        }
        self.writes.taken_over(&session);
        let mut streams = BTreeMap::new();
        for (field, last) in pairs(fields) {
            if let Some((stream, last)) = open_stream(&field, &last) {
                streams.insert(stream, StreamLog { stream, last, requests: Vec::new() });
            }
        }
        for (field, sealed) in pairs(requests) {
            let Some((stream, tag)) = request_of(&field) else { continue };
            let Some(log) = streams.get_mut(&stream) else { continue };
            let id = self.seal.open(&session, &request_field(&keys, stream, tag), &sealed);
            log.requests.extend(id.and_then(|id| RequestId::parse(std::str::from_utf8(&id).ok()?)));
        }
        Ok(streams.into_values().collect())
    }
}

impl EventStore for RedisEvents {
    fn append(&self, owner: &Owner, token: FencingToken, key: EventKey<'_>, entry: Entry<'_>) -> Write {
        let session = SessionName::of(key.session);
        if key.stream == STANDALONE
            && matches!(entry, Entry::Event { .. })
            && self.writes.is_unopened(&session, STANDALONE)
        {
            // It lives as long as its session, and has no requests: it is opened as it is now.
            let opening = EventKey { number: key.number.saturating_sub(1), ..key };
            let (subject, call) = self.to_call(&session, token, opening, Entry::Opened { requests: &[] });
            // The event has its outcome.
            let _written = self.writes.enter(owner, &session, subject, call);
        }
        let (subject, call) = self.to_call(&session, token, key, entry);
        match self.writes.enter(owner, &session, subject, call) {
            Ok(written) => {
                Write::Pending(Box::pin(async move { written.await.unwrap_or(Err(StoreError::Unavailable)) }))
            }
            Err(error) => Write::Done(Err(error)),
        }
    }

    fn replay<'a>(&'a self, key: EventKey<'a>, end: u64) -> StoreAnswer<'a, Replayed> {
        Box::pin(self.read(key, end))
    }

    fn log<'a>(&'a self, session: &'a str, token: FencingToken) -> StoreAnswer<'a, Vec<StreamLog>> {
        Box::pin(self.take_log(session, token))
    }

    fn forget(&self, session: &str, token: FencingToken) {
        let session = SessionName::of(session);
        let keys = self.names.of(&session);
        let call = script::FORGET.call(vec![keys.log, keys.events, keys.requests, keys.order]).arg(token.get());
        // Its owner is not known here.
        if self.writes.enter(&Owner::Local, &session, Subject::Log, call).is_err() {
            tracing::debug!("the log of a session that has ended is in the store until it expires");
        }
    }
}

/// The name of an event where it is sealed.
fn event_field(keys: &SessionKeys, stream: u64, number: u64) -> String {
    format!("{} {stream} {number}", keys.events)
}

/// The name of a request where it is sealed.
fn request_field(keys: &SessionKeys, stream: u64, tag: &str) -> String {
    format!("{} {stream} {tag}", keys.requests)
}

/// The stream of a field of a log, and its last event.
fn open_stream(field: &str, last: &[u8]) -> Option<(u64, u64)> {
    let last = std::str::from_utf8(last).ok()?;
    Some((field.strip_prefix('s')?.parse().ok()?, last.parse().ok()?))
}

/// The stream and the tag of a request.
fn request_of(field: &str) -> Option<(u64, &str)> {
    let (stream, tag) = field.split_once(':')?;
    Some((stream.parse().ok()?, tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_name_streams_and_requests() {
        assert_eq!(open_stream("s18446744073709551615", b"7"), Some((u64::MAX, 7)));
        for field in ["k", "b", "s", "sx", "1"] {
            assert_eq!(open_stream(field, b"7"), None, "{field}");
        }
        assert_eq!(request_of("3:tag"), Some((3, "tag")));
        assert_eq!((request_of("3"), request_of("x:tag")), (None, None));
    }
}
