//! Events that were sent and may have to be sent again.
//!
//! A client whose connection broke reconnects with the id of the last event that it has read, and gets the events of
//! that stream that it has missed (MCP 2025-11-25, basic/transports, resumability and redelivery). An `EventStore`
//! keeps them. [`MemoryStore`] keeps them in memory up to a limit, which owners share: the owner that keeps most makes
//! room.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use protomcp_server::Owner;

/// Identifies an event: the session, the stream in it, and the number in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventKey<'a> {
    /// The session. Its key is a secret, which grants access to its events.
    pub session: &'a str,
    /// The stream, counted per session.
    pub stream: u64,
    /// The event, counted per stream from 1.
    pub number: u64,
}

/// An event as it was sent: text in pieces.
pub type StoredEvent = Vec<Bytes>;

/// The id of an event for clients: the stream and the number in it.
pub(crate) fn event_id(stream: u64, number: u64) -> String {
    format!("{stream}-{number}")
}

/// Reads the id of an event.
pub(crate) fn parse_event_id(text: &str) -> Option<(u64, u64)> {
    let (stream, number) = text.split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}

/// The future of [`EventStore::replay`].
pub type Replay<'a> = Pin<Box<dyn Future<Output = Option<Vec<StoredEvent>>> + Send + 'a>>;

/// Keeps events that were sent.
pub trait EventStore: fmt::Debug + Send + Sync + 'static {
    /// Keeps an event of a session that counts for this owner. Called before the event is sent, while the session is
    /// locked, so it must not block; a store that writes elsewhere needs a queue.
    fn keep(&self, owner: &Owner, key: EventKey<'_>, event: &StoredEvent);

    /// The events of a stream from number `key.number + 1` up to, but not including, `end`, oldest first. `None`:
    /// nothing is known of this stream, or the first of them is no longer kept; a client must not take the rest for
    /// everything.
    fn replay<'a>(&'a self, key: EventKey<'a>, end: u64) -> Replay<'a>;

    /// A session has ended, and its events are not needed.
    fn forget(&self, session: &str);
}

/// Keeps events in memory. At the limit, it drops the oldest event of the session that keeps most bytes, of the owner
/// that keeps most.
#[derive(Debug)]
pub struct MemoryStore {
    per_session: usize,
    bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    sessions: HashMap<Arc<str>, Session>,
    holders: HashMap<Owner, Holder>,
    /// Owners by the bytes that they keep.
    by_bytes: BTreeSet<(usize, Owner)>,
    bytes: usize,
}

#[derive(Debug)]
struct Session {
    owner: Owner,
    /// Oldest first.
    events: VecDeque<Entry>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Holder {
    /// By the bytes that they keep.
    sessions: BTreeSet<(usize, Arc<str>)>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    stream: u64,
    number: u64,
    event: StoredEvent,
}

impl MemoryStore {
    /// Keeps `per_session` events of each session, and `bytes` bytes of all sessions together. A larger event is not
    /// kept.
    #[must_use]
    pub fn new(per_session: usize, bytes: usize) -> Self {
        Self { per_session, bytes, kept: Mutex::default() }
    }

    /// The number of bytes of the kept events.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.kept().bytes
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The events of one session that are kept by default.
const EVENTS: usize = 256;

/// The bytes of all sessions' events that are kept by default.
const BYTES: usize = 64 << 20;

/// 256 events of each session, 64 MiB of all.
impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(EVENTS, BYTES)
    }
}

impl EventStore for MemoryStore {
    fn keep(&self, owner: &Owner, key: EventKey<'_>, event: &StoredEvent) {
        let mut kept = self.kept();
        let session = match kept.sessions.get_key_value(key.session) {
            Some((session, _)) => Arc::clone(session),
            None => key.session.into(),
        };
        kept.push(owner, &session, Entry { stream: key.stream, number: key.number, event: event.clone() });
        if kept.sessions.get(&session).is_some_and(|session| session.events.len() > self.per_session) {
            kept.pop(&session);
        }
        while kept.bytes > self.bytes
            && let Some(session) = kept.largest()
        {
            kept.pop(&session);
        }
    }

    fn replay<'a>(&'a self, key: EventKey<'a>, end: u64) -> Replay<'a> {
        let kept = self.kept();
        let events: Option<Vec<&Entry>> = kept
            .sessions
            .get(key.session)
            .map(|session| session.events.iter().filter(|entry| entry.stream == key.stream).collect());
        let missed = events.filter(|events| !events.is_empty()).map(|events| {
            let is_missed = |entry: &&Entry| entry.number > key.number && entry.number < end;
            events.into_iter().filter(is_missed).collect::<Vec<_>>()
        });
        // The oldest events are dropped first, so a gap is always before the rest.
        let is_whole = |missed: &Vec<&Entry>| missed.first().is_none_or(|first| first.number == key.number + 1);
        let missed =
            missed.filter(is_whole).map(|missed| missed.into_iter().map(|entry| entry.event.clone()).collect());
        Box::pin(ready(missed))
    }

    fn forget(&self, session: &str) {
        let mut kept = self.kept();
        let Some((session, owner)) =
            kept.sessions.get_key_value(session).map(|(key, session)| (Arc::clone(key), session.owner.clone()))
        else {
            return;
        };
        kept.change(&owner, &session, Session::clear);
    }
}

impl Kept {
    fn push(&mut self, owner: &Owner, session: &Arc<str>, entry: Entry) {
        let fresh = || Session { owner: owner.clone(), events: VecDeque::new(), bytes: 0 };
        let owner = self.sessions.entry(Arc::clone(session)).or_insert_with(fresh).owner.clone();
        self.change(&owner, session, |session| session.push(entry));
    }

    /// Drops the oldest event of a session.
    fn pop(&mut self, session: &Arc<str>) {
        let Some(owner) = self.sessions.get(session).map(|session| session.owner.clone()) else { return };
        self.change(&owner, session, Session::pop);
    }

    /// The session that keeps most, of the owner that keeps most.
    fn largest(&self) -> Option<Arc<str>> {
        let (_, owner) = self.by_bytes.last()?;
        let (_, session) = self.holders.get(owner)?.sessions.last()?;
        Some(Arc::clone(session))
    }

    /// Changes the events of a session, and updates the order of sessions and owners. A session without events is
    /// removed.
    fn change(&mut self, owner: &Owner, key: &Arc<str>, change: impl FnOnce(&mut Session)) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let before = session.bytes;
        change(session);
        let (after, is_gone) = (session.bytes, session.events.is_empty());
        let holder = self.holders.entry(owner.clone()).or_default();
        self.by_bytes.remove(&(holder.bytes, owner.clone()));
        holder.sessions.remove(&(before, Arc::clone(key)));
        holder.bytes = holder.bytes - before + after;
        self.bytes = self.bytes - before + after;
        if is_gone {
            self.sessions.remove(key);
        } else {
            holder.sessions.insert((after, Arc::clone(key)));
        }
        if holder.sessions.is_empty() {
            self.holders.remove(owner);
        } else {
            self.by_bytes.insert((holder.bytes, owner.clone()));
        }
    }
}

impl Session {
    fn push(&mut self, entry: Entry) {
        self.bytes += size(&entry.event);
        self.events.push_back(entry);
    }

    fn pop(&mut self) {
        self.bytes -= self.events.pop_front().map_or(0, |entry| size(&entry.event));
    }

    fn clear(&mut self) {
        self.events.clear();
        self.bytes = 0;
    }
}

fn size(event: &StoredEvent) -> usize {
    event.iter().map(Bytes::len).sum()
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn keep_of(store: &MemoryStore, owner: &str, key: EventKey<'_>, event: Bytes) {
        store.keep(&Owner::Principal(owner.into()), key, &vec![event]);
    }

    fn keep(store: &MemoryStore, session: &str, stream: u64, number: u64, text: &'static str) {
        keep_of(store, "ann", EventKey { session, stream, number }, Bytes::from_static(text.as_bytes()));
    }

    fn replay(store: &MemoryStore, session: &str, stream: u64, after: u64, end: u64) -> Option<String> {
        let mut replay = store.replay(EventKey { session, stream, number: after }, end);
        match replay.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(events) => events.map(|events| String::from_utf8(events.concat().concat()).unwrap()),
            Poll::Pending => panic!("memory is ready immediately"),
        }
    }

    #[test]
    fn only_missed_events_of_its_stream_are_replayed() {
        let store = MemoryStore::new(10, 100);
        for (stream, number, text) in [(1, 1, "a"), (2, 1, "x"), (1, 2, "b"), (1, 3, "c")] {
            keep(&store, "s", stream, number, text);
        }
        assert_eq!(replay(&store, "s", 1, 0, u64::MAX).as_deref(), Some("abc"));
        assert_eq!(replay(&store, "s", 1, 1, 3).as_deref(), Some("b"));
        assert_eq!(replay(&store, "s", 1, 3, u64::MAX).as_deref(), Some(""));
        assert_eq!(replay(&store, "s", 3, 0, u64::MAX), None);
        assert_eq!(replay(&store, "t", 1, 0, u64::MAX), None);
    }

    #[test]
    fn events_after_a_gap_are_not_replayed() {
        let store = MemoryStore::new(2, 100);
        for (number, text) in [(1, "a"), (2, "b"), (3, "c"), (4, "d")] {
            keep(&store, "s", 1, number, text);
        }
        for (after, expected) in [(0, None), (1, None), (2, Some("cd")), (3, Some("d")), (4, Some(""))] {
            assert_eq!(replay(&store, "s", 1, after, u64::MAX).as_deref(), expected, "{after}");
        }
    }

    #[test]
    fn memory_is_bounded_per_session_and_in_all_and_given_back() {
        let store = MemoryStore::new(2, 10);
        for number in 1..=5 {
            keep(&store, "s", 1, number, "1");
        }
        assert_eq!(store.bytes(), 2);
        keep(&store, "t", 1, 1, "12345678");
        assert_eq!((store.bytes(), replay(&store, "s", 1, 3, 9).as_deref()), (10, Some("11")));
        keep(&store, "t", 1, 2, "123");
        assert_eq!((store.bytes(), replay(&store, "t", 1, 1, 9).as_deref()), (5, Some("123")));
        // An event larger than the limit is not kept, and evicts no event of another session.
        keep(&store, "t", 1, 3, "12345678901");
        assert_eq!((store.bytes(), replay(&store, "s", 1, 3, 9).as_deref()), (2, Some("11")));
        assert_eq!(replay(&store, "t", 1, 2, 9), None);
        for session in ["s", "s", "t"] {
            store.forget(session);
        }
        assert_eq!(store.bytes(), 0);
        let kept = store.kept();
        assert_eq!((kept.sessions.len(), kept.holders.len(), kept.by_bytes.len()), (0, 0, 0));
    }

    #[test]
    fn the_owner_that_keeps_most_makes_room() {
        const PART: usize = 30;
        let big = || Bytes::from(vec![b'x'; PART]);
        let small = |store: &MemoryStore, owner, session| {
            keep_of(store, owner, EventKey { session, stream: 1, number: 1 }, "1".into());
        };
        let store = MemoryStore::new(10, 2 * PART + PART / 2);
        small(&store, "bob", "b");
        small(&store, "ann", "a2");
        for number in 1..=4 {
            keep_of(&store, "ann", EventKey { session: "a1", stream: 1, number }, big());
        }
        // The session of another owner, and the other session of the same owner.
        for session in ["b", "a2"] {
            assert_eq!(replay(&store, session, 1, 0, 9).as_deref(), Some("1"), "{session}");
        }
        assert_eq!(replay(&store, "a1", 1, 2, 9).map(|events| events.len()), Some(2 * PART));
        // Several small events of one owner yield to one of another that keeps less.
        let store = MemoryStore::new(10, 4);
        for session in ["a", "b", "c", "d"] {
            small(&store, "ann", session);
        }
        small(&store, "bob", "z");
        let left = ["a", "b", "c", "d", "z"].map(|session| replay(&store, session, 1, 0, 9).is_some());
        assert_eq!((left.iter().filter(|is_left| **is_left).count(), left[4]), (4, true));
    }
}
