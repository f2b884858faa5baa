//! The logs of sessions: events that were sent and may have to be sent again.
//!
//! A client whose connection broke reconnects with the id of the last event that it has read, and gets the events of
//! that stream that it has missed (MCP 2025-11-25, basic/transports, resumability and redelivery). An `EventStore`
//! keeps them, also for another process that takes the session over.
//! `MemoryStore` keeps them in memory.

use std::fmt;

use bytes::Bytes;
use protomcp_server::{FencingToken, Owner, StoreAnswer, StoreError, StoreFuture};
use protomcp_types::RequestId;

pub(crate) mod memory;

/// Identifies an event: the session, the stream in it, and the number in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventKey<'a> {
    /// The session. Its key is a secret, which grants access to its events.
    pub session: &'a str,
    /// The stream, counted per session. The one without a request has 0.
    pub stream: u64,
    /// The event, counted per stream from 1.
    pub number: u64,
}

/// An event as it is sent: text in pieces.
pub type StoredEvent = Vec<Bytes>;

/// The id of an event for clients: the stream and the number in it.
pub(crate) fn event_id(stream: u64, number: u64) -> String {
    format!("{stream}-{number}")
}

/// Reads the id of an event, in the form in which it was written.
pub(crate) fn parse_event_id(text: &str) -> Option<(u64, u64)> {
    let (stream, number) = text.split_once('-')?;
    let (stream, number) = (stream.parse().ok()?, number.parse().ok()?);
    (event_id(stream, number) == text).then_some((stream, number))
}

/// An entry in the log of a session.
#[derive(Debug, Clone, Copy)]
pub enum Entry<'a> {
    /// The response to these requests becomes a stream of events. Its key has the number 0.
    Opened {
        /// The requests without an answer; none for the stream without a request.
        requests: &'a [&'a RequestId],
    },
    /// An event.
    Event {
        /// Its text.
        event: &'a StoredEvent,
        /// The request that it answers, if it has an answer.
        answers: Option<&'a RequestId>,
    },
    /// The stream has no more events. The key has the number of the last one.
    Ended,
}

/// A write that a store has entered. Dropping it does not take it back.
pub enum Write {
    /// It is over.
    Done(Result<(), StoreError>),
    /// It is over when the future is. Its error is final: a store repeats a write itself.
    Pending(StoreFuture<'static, Result<(), StoreError>>),
}

impl fmt::Debug for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(written) => f.debug_tuple("Done").field(written).finish(),
            Self::Pending(_) => f.debug_tuple("Pending").finish_non_exhaustive(),
        }
    }
}

/// The events that a client has missed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replayed {
    /// All of them, oldest first.
    Events(Vec<StoredEvent>),
    /// The first of them is no longer kept. A client must not take the rest for everything.
    Missing,
    /// Nothing is known of this stream.
    Unknown,
}

/// The state of a stream without an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamLog {
    /// The stream.
    pub stream: u64,
    /// The number of its last event; 0 if it has none.
    pub last: u64,
    /// Its requests without an answer, in no order.
    pub requests: Vec<RequestId>,
}

/// Keeps the logs of sessions. [`MemoryStore`](crate::MemoryStore) does so in memory.
///
/// One process at a time serves a session. Its token ([`Claim`](protomcp_server::Claim)) comes with each write, and a
/// store refuses the writes of an earlier holder.
pub trait EventStore: fmt::Debug + Send + Sync + 'static {
    /// Enters an entry of a session that counts for this owner. Entries are entered in their order, while the session
    /// is locked, so this must not block; an event is sent when its write is done. [`StoreError::Fenced`]: a later
    /// token is known.
    ///
    /// A session that another process can take up ends here when an event of a call is not written: the process that
    /// takes it up answers the call ([`StreamLog::requests`]).
    ///
    /// A store must not have an event without its opening: after a failed write of [`Entry::Opened`], each later write
    /// of the stream fails, too. Only the writes of events are awaited. A lost [`Entry::Ended`] is harmless: a process
    /// that takes the session over finds a stream whose requests have their answers.
    fn append(&self, owner: &Owner, token: FencingToken, key: EventKey<'_>, entry: Entry<'_>) -> Write;

    /// The events of a stream from number `key.number + 1` up to, but not including, `end`. It has all that were
    /// entered before.
    fn replay<'a>(&'a self, key: EventKey<'a>, end: u64) -> StoreAnswer<'a, Replayed>;

    /// The streams of a session that have no end, for the process that has taken it over with this token. Writes with
    /// earlier tokens are refused from then on.
    fn log<'a>(&'a self, session: &'a str, token: FencingToken) -> StoreAnswer<'a, Vec<StreamLog>>;

    /// A session has ended, and its log is not needed. Without effect if a later token is known.
    fn forget(&self, session: &str, token: FencingToken);
}
