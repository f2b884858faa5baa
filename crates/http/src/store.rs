//! What was sent and may have to be sent again.
//!
//! A host whose connection broke comes back with the id of the last event that it has read, and gets the events of that
//! stream that it has missed (MCP 2025-11-25, basic/transports, resumability and redelivery). An `EventStore` keeps
//! them. The one that comes with the crate keeps them in memory, the newest of all sessions up to a limit.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// Where an event stands: in which session, in which of its streams, and as the how manieth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventKey<'a> {
    /// The session, which is a secret: whoever knows it can read its events.
    pub session: &'a str,
    /// The stream, counted per session.
    pub stream: u64,
    /// The event, counted per stream from 1.
    pub number: u64,
}

/// An event as it was sent: text in pieces.
pub type StoredEvent = Vec<Bytes>;

/// What [`EventStore::replay`] promises.
pub type Replay<'a> = Pin<Box<dyn Future<Output = Option<Vec<StoredEvent>>> + Send + 'a>>;

/// Keeps events that were sent.
pub trait EventStore: fmt::Debug + Send + Sync + 'static {
    /// Keeps an event. Called while it is sent, so it must not block; one that writes elsewhere has a queue.
    fn keep(&self, key: EventKey<'_>, event: &StoredEvent);

    /// The events of a stream from number `key.number + 1` up to, without, `end`, oldest first. `None`: nothing is
    /// known of this stream, or the first of them is not kept any more; a host must not take what is left for all.
    fn replay<'a>(&'a self, key: EventKey<'a>, end: u64) -> Replay<'a>;

    /// A session is over, and its events are of no use any more.
    fn forget(&self, session: &str);
}

/// Keeps events in memory.
#[derive(Debug)]
pub struct MemoryStore {
    per_session: usize,
    bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// By age.
    events: BTreeMap<u64, Entry>,
    /// The ages of each session's events, oldest first.
    sessions: HashMap<Box<str>, VecDeque<u64>>,
    bytes: usize,
    next: u64,
}

#[derive(Debug)]
struct Entry {
    session: Box<str>,
    stream: u64,
    number: u64,
    event: StoredEvent,
}

impl MemoryStore {
    /// Keeps `per_session` events of each session, and of all sessions together so many bytes; the newest event is kept
    /// however big it is.
    #[must_use]
    pub fn new(per_session: usize, bytes: usize) -> Self {
        Self { per_session, bytes, kept: Mutex::default() }
    }

    /// How many bytes of events are kept.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.kept().bytes
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 256 events of each session, 64 MiB of all.
impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(256, 64 * 1024 * 1024)
    }
}

impl EventStore for MemoryStore {
    fn keep(&self, key: EventKey<'_>, event: &StoredEvent) {
        let mut kept = self.kept();
        let age = kept.next;
        kept.next += 1;
        kept.bytes += size(event);
        let session = key.session.into();
        kept.events.insert(age, Entry { session, stream: key.stream, number: key.number, event: event.clone() });
        if !kept.sessions.contains_key(key.session) {
            kept.sessions.insert(key.session.into(), VecDeque::new());
        }
        let ages = kept.sessions.get_mut(key.session).expect("it was inserted just now");
        ages.push_back(age);
        let surplus = if ages.len() > self.per_session { ages.front().copied() } else { None };
        if let Some(age) = surplus {
            kept.remove(age);
        }
        while kept.bytes > self.bytes && kept.events.len() > 1 {
            let oldest = *kept.events.first_key_value().expect("there is more than one").0;
            kept.remove(oldest);
        }
    }

    fn replay<'a>(&'a self, key: EventKey<'a>, end: u64) -> Replay<'a> {
        let kept = self.kept();
        let of_stream = |age: &u64| kept.events.get(age).filter(|entry| entry.stream == key.stream);
        let events: Option<Vec<&Entry>> =
            kept.sessions.get(key.session).map(|ages| ages.iter().filter_map(of_stream).collect());
        let missed = events.filter(|events| !events.is_empty()).map(|events| {
            let is_missed = |entry: &&Entry| entry.number > key.number && entry.number < end;
            events.into_iter().filter(is_missed).collect::<Vec<_>>()
        });
        // Events go by age, so a gap is always before what is left.
        let is_whole = |missed: &Vec<&Entry>| missed.first().is_none_or(|first| first.number == key.number + 1);
        let missed =
            missed.filter(is_whole).map(|missed| missed.into_iter().map(|entry| entry.event.clone()).collect());
        Box::pin(ready(missed))
    }

    fn forget(&self, session: &str) {
        let mut kept = self.kept();
        for age in kept.sessions.remove(session).unwrap_or_default() {
            kept.remove(age);
        }
    }
}

impl Kept {
    fn remove(&mut self, age: u64) {
        let Some(entry) = self.events.remove(&age) else { return };
        self.bytes -= size(&entry.event);
        if let Some(ages) = self.sessions.get_mut(&entry.session) {
            // The oldest of all is the oldest of its session.
            ages.pop_front();
            if ages.is_empty() {
                self.sessions.remove(&entry.session);
            }
        }
    }
}

fn size(event: &StoredEvent) -> usize {
    event.iter().map(Bytes::len).sum()
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn keep(store: &MemoryStore, session: &str, stream: u64, number: u64, text: &'static str) {
        store.keep(EventKey { session, stream, number }, &vec![Bytes::from_static(text.as_bytes())]);
    }

    fn replay(store: &MemoryStore, session: &str, stream: u64, after: u64, end: u64) -> Option<String> {
        let mut replay = store.replay(EventKey { session, stream, number: after }, end);
        match replay.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(events) => events.map(|events| String::from_utf8(events.concat().concat()).unwrap()),
            Poll::Pending => panic!("memory is ready at once"),
        }
    }

    #[test]
    fn what_was_missed_comes_again_and_only_of_its_stream() {
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
    fn what_is_left_after_a_gap_does_not_come_again() {
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
        keep(&store, "t", 1, 1, "123456789");
        assert_eq!((store.bytes(), replay(&store, "s", 1, 4, 9).as_deref()), (10, Some("1")));
        keep(&store, "t", 1, 2, "12345678901234567890");
        assert_eq!((store.bytes(), replay(&store, "s", 1, 4, 9)), (20, None));
        store.forget("t");
        store.forget("t");
        assert_eq!(store.bytes(), 0);
        assert!(store.kept().events.is_empty() && store.kept().sessions.is_empty());
    }
}
