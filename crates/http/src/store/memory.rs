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
use crate::streams::queue::MAX_QUEUED;

/// Keeps events in memory. Two limits bound them: a number of events of each stream, so that a busy stream takes
/// nothing from another one, and the bytes of all sessions. The streams without an end are not counted: the server
/// limits them. The streams of a session that have ended share the number of one stream. A stream, or the ended ones
/// together, drop their oldest events. At the limit of bytes, the session that keeps most bytes, of the owner that
/// keeps most, drops the oldest event of its ended streams, then of its largest stream.
///
/// It knows the token of a session as long as it keeps an event or a stream of it.
#[derive(Debug)]
pub struct MemoryStore {
    per_stream: usize,
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
    /// The events of the other streams.
    ended: Events,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Open {
    last: u64,
    requests: Vec<RequestId>,
    events: Events,
}

/// Events, oldest first, and their bytes.
#[derive(Debug, Default)]
struct Events {
    stored: VecDeque<Stored>,
    bytes: usize,
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
    /// Keeps `per_stream` events of each stream without an end, as many of all ended streams of a session, and `bytes`
    /// bytes of all sessions together. A larger event is not kept. A stream has up to 256 messages that wait for an
    /// absent client: with `per_stream` below 512, they may take the place of those that the client has missed.
    #[must_use]
    pub fn new(per_stream: usize, bytes: usize) -> Self {
        Self { per_stream, bytes, kept: Mutex::default() }
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

/// The events of one stream that are kept by default: those that wait for an absent client, and as many that were sent
/// to it before.
const EVENTS: usize = 512;

const _: () = assert!(EVENTS >= 2 * MAX_QUEUED, "what waits takes the place of what a client may have missed");

/// The bytes of all sessions' events that are kept by default.
const BYTES: usize = 64 << 20;

/// 512 events of each stream, 64 MiB of all sessions.
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
        kept.write(owner, token, &session, |session| session.add(key, entry, self.per_stream));
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
                    .map(|(stream, Open { last, requests, .. })| StreamLog {
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

    /// Drops an event of a session.
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
        let (after, is_gone) = (session.bytes, session.ended.stored.is_empty() && session.open.is_empty());
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
        Self { owner, token, open: BTreeMap::new(), ended: Events::default(), bytes: 0 }
    }

    fn add(&mut self, EventKey { stream, number, .. }: EventKey<'_>, entry: Entry<'_>, per_stream: usize) {
        match entry {
            Entry::Opened { requests } => {
                let open = self.open.entry(stream).or_default();
                open.last = number;
                open.requests = requests.iter().copied().cloned().collect();
            }
            Entry::Event { event, answers } => {
                let events = match self.open.get_mut(&stream) {
                    Some(open) => {
                        open.last = number;
                        open.requests.retain(|request| Some(request) != answers);
                        &mut open.events
                    }
                    None => &mut self.ended,
                };
                self.bytes += size(event);
                events.push(Stored { stream, number, event: event.clone() });
                self.bytes -= events.shorten(per_stream);
            }
            Entry::Ended => {
                let events = self.open.remove(&stream).map(|open| open.events.stored).unwrap_or_default();
                events.into_iter().for_each(|stored| self.ended.push(stored));
                self.bytes -= self.ended.shorten(per_stream);
            }
        }
    }

    fn replay(&self, EventKey { stream, number, .. }: EventKey<'_>, end: u64) -> Replayed {
        let open = self.open.get(&stream);
        let ended = self.ended.stored.iter().filter(|stored| stored.stream == stream);
        let mut of_stream = ended.chain(open.into_iter().flat_map(|open| &open.events.stored)).peekable();
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

    /// Drops the oldest event of the ended streams, or of the largest stream.
    fn pop(&mut self) {
        let largest = self.open.values_mut().map(|open| &mut open.events).max_by_key(|events| events.bytes);
        let events = if self.ended.stored.is_empty() { largest } else { Some(&mut self.ended) };
        self.bytes -= events.map_or(0, Events::pop);
    }

    fn clear(&mut self) {
        self.open.clear();
        self.ended = Events::default();
        self.bytes = 0;
    }
}

impl Events {
    fn push(&mut self, stored: Stored) {
        self.bytes += size(&stored.event);
        self.stored.push_back(stored);
    }

    /// Drops the oldest event, and returns its bytes.
    fn pop(&mut self) -> usize {
        let bytes = self.stored.pop_front().map_or(0, |stored| size(&stored.event));
        self.bytes -= bytes;
        bytes
    }

    /// Drops the oldest events until this many are left. Returns their bytes.
    fn shorten(&mut self, most: usize) -> usize {
        let mut bytes = 0;
        while self.stored.len() > most {
            bytes += self.pop();
        }
        bytes
    }
}

fn size(event: &StoredEvent) -> usize {
    event.iter().map(Bytes::len).sum()
}

#[cfg(test)]
mod tests;
