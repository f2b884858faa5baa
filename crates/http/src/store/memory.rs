//! The logs of sessions in memory.
//!
//! Owners share the limit: the owner that keeps most makes room.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use protomcp_server::{FencingToken, Owner, StoreAnswer, StoreError};
use protomcp_types::RequestId;

use crate::store::{Entry, EventKey, EventStore, Replayed, StoredEvent, StreamLog, Write};

/// Keeps events in memory. At the limit, it drops the oldest event of the session that keeps most bytes, of the owner
/// that keeps most. The streams without an end are not counted: the server limits them.
///
/// It knows the token of a session as long as it keeps an event or a stream of it.
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
    /// The latest one.
    token: FencingToken,
    /// The streams without an end.
    open: BTreeMap<u64, Open>,
    /// Oldest first.
    events: VecDeque<Stored>,
    bytes: usize,
}

#[derive(Debug)]
struct Open {
    last: u64,
    requests: Vec<RequestId>,
}

#[derive(Debug, Default)]
struct Holder {
    /// By the bytes that they keep.
    sessions: BTreeSet<(usize, Arc<str>)>,
    bytes: usize,
}

#[derive(Debug)]
struct Stored {
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
    fn append(&self, owner: &Owner, token: FencingToken, key: EventKey<'_>, entry: Entry<'_>) -> Write {
        let mut kept = self.kept();
        let session = match kept.sessions.get_key_value(key.session) {
            Some((_, session)) if session.token > token => return Write::Done(Err(StoreError::Fenced)),
            Some((session, _)) => Arc::clone(session),
            None => key.session.into(),
        };
        kept.write(owner, token, &session, |session| session.add(key, entry));
        if kept.sessions.get(&session).is_some_and(|session| session.events.len() > self.per_session) {
            kept.pop(&session);
        }
        while kept.bytes > self.bytes
            && let Some(session) = kept.largest()
        {
            kept.pop(&session);
        }
        Write::Done(Ok(()))
    }

    fn replay<'a>(&'a self, key: EventKey<'a>, end: u64) -> StoreAnswer<'a, Replayed> {
        let replayed = self.kept().sessions.get(key.session).map(|session| session.replay(key, end));
        Box::pin(ready(Ok(replayed.unwrap_or(Replayed::Unknown))))
    }

    fn log<'a>(&'a self, session: &'a str, token: FencingToken) -> StoreAnswer<'a, Vec<StreamLog>> {
        let mut kept = self.kept();
        let log = match kept.sessions.get_mut(session) {
            Some(session) if session.token > token => Err(StoreError::Fenced),
            Some(session) => {
                session.token = token;
                let open = session.open.iter();
                Ok(open
                    .map(|(stream, Open { last, requests })| StreamLog {
                        stream: *stream,
                        last: *last,
                        requests: requests.clone(),
                    })
                    .collect())
            }
            None => Ok(Vec::new()),
        };
        Box::pin(ready(log))
    }

    fn forget(&self, session: &str, token: FencingToken) {
        let mut kept = self.kept();
        let found = kept.sessions.get_key_value(session).filter(|(_, session)| session.token <= token);
        let Some((session, owner)) = found.map(|(key, session)| (Arc::clone(key), session.owner.clone())) else {
            return;
        };
        kept.change(&owner, &session, Session::clear);
    }
}

impl Kept {
    /// Changes a session, which may be new.
    fn write(&mut self, owner: &Owner, token: FencingToken, key: &Arc<str>, change: impl FnOnce(&mut Session)) {
        let session = self.sessions.entry(Arc::clone(key)).or_insert_with(|| Session::new(owner.clone(), token));
        session.token = token;
        let owner = session.owner.clone();
        self.change(&owner, key, change);
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

    /// Changes the log of a session, and updates the order of sessions and owners. A session without events and open
    /// streams is removed.
    fn change(&mut self, owner: &Owner, key: &Arc<str>, change: impl FnOnce(&mut Session)) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let before = session.bytes;
        change(session);
        let (after, is_gone) = (session.bytes, session.events.is_empty() && session.open.is_empty());
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
    fn new(owner: Owner, token: FencingToken) -> Self {
        Self { owner, token, open: BTreeMap::new(), events: VecDeque::new(), bytes: 0 }
    }

    fn add(&mut self, EventKey { stream, number, .. }: EventKey<'_>, entry: Entry<'_>) {
        match entry {
            Entry::Opened { requests } => {
                let requests = requests.iter().copied().cloned().collect();
                self.open.insert(stream, Open { last: number, requests });
            }
            Entry::Event { event, answers } => {
                if let Some(open) = self.open.get_mut(&stream) {
                    open.last = number;
                    open.requests.retain(|request| Some(request) != answers);
                }
                self.bytes += size(event);
                self.events.push_back(Stored { stream, number, event: event.clone() });
            }
            Entry::Ended => {
                self.open.remove(&stream);
            }
        }
    }

    fn replay(&self, EventKey { stream, number, .. }: EventKey<'_>, end: u64) -> Replayed {
        let open = self.open.get(&stream);
        let mut of_stream = self.events.iter().filter(|stored| stored.stream == stream).peekable();
        if open.is_none() && of_stream.peek().is_none() {
            return Replayed::Unknown;
        }
        let missed: Vec<_> = of_stream.filter(|stored| stored.number > number && stored.number < end).collect();
        // The oldest events are dropped first, so a gap is always before the rest.
        let is_whole = match missed.first() {
            Some(first) => first.number == number + 1,
            None => open.is_none_or(|open| open.last.min(end.saturating_sub(1)) <= number),
        };
        if is_whole {
            Replayed::Events(missed.into_iter().map(|stored| stored.event.clone()).collect())
        } else {
            Replayed::Missing
        }
    }

    fn pop(&mut self) {
        self.bytes -= self.events.pop_front().map_or(0, |stored| size(&stored.event));
    }

    fn clear(&mut self) {
        self.open.clear();
        self.events.clear();
        self.bytes = 0;
    }
}

fn size(event: &StoredEvent) -> usize {
    event.iter().map(Bytes::len).sum()
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn append(store: &MemoryStore, owner: &str, key: EventKey<'_>, entry: Entry<'_>) {
        let write = store.append(&Owner::Principal(owner.into()), FencingToken::FIRST, key, entry);
        assert!(matches!(write, Write::Done(Ok(()))), "{write:?}");
    }

    fn keep_of(store: &MemoryStore, owner: &str, key: EventKey<'_>, event: Bytes) {
        append(store, owner, key, Entry::Event { event: &vec![event], answers: None });
    }

    fn keep(store: &MemoryStore, session: &str, stream: u64, number: u64, text: &'static str) {
        keep_of(store, "ann", EventKey { session, stream, number }, Bytes::from_static(text.as_bytes()));
    }

    fn replayed(store: &MemoryStore, session: &str, stream: u64, after: u64, end: u64) -> Replayed {
        let replay = store.replay(EventKey { session, stream, number: after }, end);
        replay.now_or_never().expect("memory is ready immediately").unwrap()
    }

    fn replay(store: &MemoryStore, session: &str, stream: u64, after: u64, end: u64) -> Option<String> {
        match replayed(store, session, stream, after, end) {
            Replayed::Events(events) => Some(String::from_utf8(events.concat().concat()).unwrap()),
            Replayed::Missing | Replayed::Unknown => None,
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
            store.forget(session, FencingToken::FIRST);
        }
        assert_eq!(store.bytes(), 0);
        let kept = store.kept();
        assert_eq!((kept.sessions.len(), kept.holders.len(), kept.by_bytes.len()), (0, 0, 0));
    }

    #[test]
    fn an_open_stream_is_known_and_what_it_has_lost_is_missing() {
        let store = MemoryStore::new(2, 100);
        let key = |number| EventKey { session: "s", stream: 1, number };
        append(&store, "ann", key(0), Entry::Opened { requests: &[] });
        assert_eq!(replayed(&store, "s", 1, 0, 9), Replayed::Events(Vec::new()));
        keep(&store, "s", 1, 1, "a");
        // The events of another stream replace it.
        keep(&store, "s", 2, 1, "x");
        keep(&store, "s", 2, 2, "y");
        for (after, end, expected) in [
            (0, 9, Replayed::Missing),
            (0, 2, Replayed::Missing),
            (0, 1, Replayed::Events(Vec::new())),
            (1, 9, Replayed::Events(Vec::new())),
            (u64::MAX, u64::MAX, Replayed::Events(Vec::new())),
        ] {
            assert_eq!(replayed(&store, "s", 1, after, end), expected, "from {after} to {end}");
        }
        append(&store, "ann", key(1), Entry::Ended);
        assert_eq!(replayed(&store, "s", 1, 0, 9), Replayed::Unknown);
    }

    #[test]
    fn a_session_with_open_streams_alone_takes_no_bytes() {
        let store = MemoryStore::new(2, 100);
        let key = EventKey { session: "s", stream: 1, number: 0 };
        append(&store, "ann", key, Entry::Opened { requests: &[&RequestId::from(1)] });
        assert_eq!(store.bytes(), 0);
        append(&store, "ann", key, Entry::Ended);
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
