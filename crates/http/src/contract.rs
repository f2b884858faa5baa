//! Tests for implementations of [`EventStore`], with the feature `contract-tests`.
//!
//! The function takes an empty store and panics where it differs from the one in memory in a way that a client would
//! notice.

use bytes::Bytes;
use protomcp_server::{FencingToken, Owner, StoreError};
use protomcp_types::RequestId;

use crate::store::{Entry, EventKey, EventStore, Replayed, StoredEvent, StreamLog, Write};

/// The bytes of the largest event.
const LARGE: usize = 64 << 10;

/// The most events of a stream.
const MANY: u64 = 20;

/// Checks that a store gives back the events of each stream in their order and as they were, knows the streams without
/// an end, refuses the writes of an earlier holder, also those that follow a refused opening, and forgets a session
/// that has ended. The store must have room for 30 events and 128 KiB of each of six sessions.
///
/// # Panics
/// When it does not.
pub async fn event_store(store: &dyn EventStore) {
    streams(store).await;
    contents(store).await;
    order(store).await;
    open_streams(store).await;
    fenced(store).await;
    failed_opening(store).await;
    ended(store).await;
}

/// Events of two sessions and three streams, in turns. The number of a stream may be 0, which the standalone one has.
async fn streams(store: &dyn EventStore) {
    assert_eq!(replay(store, "s", 1, 0, u64::MAX).await, None, "nothing is known of the stream");
    let kept = [("s", 1, 1, "a"), ("s", 0, 1, "x"), ("t", 1, 1, "z"), ("s", 1, 2, "b"), ("s", 1, 3, "c")];
    for (session, stream, number, text) in kept {
        keep(store, EventKey { session, stream, number }, &vec![Bytes::from_static(text.as_bytes())]).await;
    }
    for (stream, after, end, expected) in [
        (1, 0, u64::MAX, "abc"),
        (1, 0, 4, "abc"),
        (1, 1, u64::MAX, "bc"),
        (1, 1, 3, "b"),
        (1, 2, 3, ""),
        (1, 3, u64::MAX, ""),
        (0, 0, u64::MAX, "x"),
        (0, 1, 2, ""),
    ] {
        let found = replay(store, "s", stream, after, end).await;
        assert_eq!(found.as_deref(), Some(expected), "stream {stream}, from {after} to {end}");
    }
    assert_eq!(replay(store, "t", 1, 0, u64::MAX).await.as_deref(), Some("z"), "another session");
    for (session, stream) in [("s", 2), ("t", 0), ("u", 1)] {
        assert_eq!(replay(store, session, stream, 0, u64::MAX).await, None, "{session}, stream {stream}");
    }
}

/// An event comes back as it was, in however many pieces.
async fn contents(store: &dyn EventStore) {
    let pieces: StoredEvent = ["id: 5-1\ndata: {\"text\":\"", "ä\u{2028}\0", "", "\"}\n\n"].map(Bytes::from).to_vec();
    let large: StoredEvent = vec![Bytes::from(vec![b'x'; LARGE])];
    for (number, event) in [(1, &pieces), (2, &large)] {
        keep(store, EventKey { session: "s", stream: 5, number }, event).await;
    }
    let found = events(store, EventKey { session: "s", stream: 5, number: 0 }, u64::MAX).await;
    let found: Vec<_> = found.unwrap_or_default().iter().map(text).collect();
    assert_eq!(found.len(), 2, "each event is one");
    assert!(found == [text(&pieces), text(&large)], "they are as they were");
}

/// Many events that were entered one after the other, without a pause, are there immediately and in their order.
async fn order(store: &dyn EventStore) {
    let enter = |number: u64| {
        let (key, event) = (EventKey { session: "o", stream: u64::MAX, number }, vec![number.to_string().into()]);
        store.append(&owner(), FencingToken::FIRST, key, Entry::Event { event: &event, answers: None })
    };
    let writes: Vec<_> = (1..=MANY).map(enter).collect();
    let expected: String = (1..=MANY).map(|number| number.to_string()).collect();
    assert_eq!(replay(store, "o", u64::MAX, 0, u64::MAX).await, Some(expected));
    for write in writes {
        assert_eq!(done(write).await, Ok(()));
    }
}

/// A stream is in the log from its opening to its end, with the requests that have no answer.
async fn open_streams(store: &dyn EventStore) {
    let (first, second) = (RequestId::from(1), RequestId::from("two"));
    let event = vec![Bytes::from_static(b"a")];
    let key = |stream, number| EventKey { session: "l", stream, number };
    let unanswered = Entry::Event { event: &event, answers: None };
    for (key, entry) in [
        (key(0, 0), Entry::Opened { requests: &[] }),
        (key(7, 0), Entry::Opened { requests: &[&first, &second] }),
        (key(7, 1), unanswered),
        (key(8, 0), Entry::Opened { requests: &[&first] }),
        (key(7, 2), Entry::Event { event: &event, answers: Some(&first) }),
        (key(8, 1), unanswered),
        (key(8, 1), Entry::Ended),
    ] {
        assert_eq!(append(store, FencingToken::FIRST, key, entry).await, Ok(()));
    }
    let mut log = store.log("l", FencingToken::FIRST).await.expect("the store answers");
    log.sort_unstable_by_key(|stream| stream.stream);
    let open = |stream, last, requests| StreamLog { stream, last, requests };
    assert_eq!(log, [open(0, 0, Vec::new()), open(7, 2, vec![second])]);
    assert_eq!(replay(store, "l", 0, 0, u64::MAX).await.as_deref(), Some(""), "it has no events yet");
    assert_eq!(replay(store, "l", 8, 0, u64::MAX).await.as_deref(), Some("a"), "it has ended");
    assert_eq!(store.log("unknown", FencingToken::FIRST).await, Ok(Vec::new()));
}

/// The write of an opening fails: the later writes of the stream fail as well, entered before its outcome is known or
/// after.
async fn failed_opening(store: &dyn EventStore) {
    let (first, second) = (FencingToken::FIRST, FencingToken::FIRST.successor());
    let key = |stream, number| EventKey { session: "p", stream, number };
    assert_eq!(append(store, second, key(0, 0), Entry::Opened { requests: &[] }).await, Ok(()));
    let event = vec![Bytes::from_static(b"a")];
    let entry = Entry::Event { event: &event, answers: None };
    let opened = store.append(&owner(), first, key(1, 0), Entry::Opened { requests: &[&RequestId::from(1)] });
    let entered = store.append(&owner(), first, key(1, 1), entry);
    assert_eq!(done(opened).await, Err(StoreError::Fenced));
    assert_eq!(done(entered).await, Err(StoreError::Fenced), "its stream is not open");
    assert_eq!(append(store, first, key(1, 2), entry).await, Err(StoreError::Fenced));
    assert_eq!(append(store, first, key(1, 2), Entry::Ended).await, Err(StoreError::Fenced));
    assert_eq!(replay(store, "p", 1, 0, u64::MAX).await, None, "nothing was written");
    store.forget("p", second);
}

/// A session changes its holder.
async fn fenced(store: &dyn EventStore) {
    let (first, second) = (FencingToken::FIRST, FencingToken::FIRST.successor());
    let key = |number| EventKey { session: "f", stream: 0, number };
    let event = vec![Bytes::from_static(b"a")];
    let entry = Entry::Event { event: &event, answers: None };
    assert_eq!(append(store, first, key(0), Entry::Opened { requests: &[] }).await, Ok(()));
    assert_eq!(append(store, first, key(1), entry).await, Ok(()));
    let log = store.log("f", second).await.expect("the store answers");
    assert_eq!(log, [StreamLog { stream: 0, last: 1, requests: Vec::new() }]);
    assert_eq!(append(store, first, key(2), entry).await, Err(StoreError::Fenced), "it has another holder");
    assert_eq!(store.log("f", first).await, Err(StoreError::Fenced));
    store.forget("f", first);
    assert_eq!(replay(store, "f", 0, 0, u64::MAX).await.as_deref(), Some("a"), "the earlier holder wrote nothing");
    assert_eq!(append(store, second, key(2), entry).await, Ok(()));
    assert_eq!(replay(store, "f", 0, 0, u64::MAX).await.as_deref(), Some("aa"));
    store.forget("f", second);
    assert_eq!(replay(store, "f", 0, 0, u64::MAX).await, None);
}

async fn ended(store: &dyn EventStore) {
    for session in ["s", "s", "o", "l", "unknown"] {
        store.forget(session, FencingToken::FIRST);
    }
    for (session, stream) in [("s", 1), ("s", 0), ("s", 5), ("o", u64::MAX), ("l", 7)] {
        assert_eq!(replay(store, session, stream, 0, u64::MAX).await, None, "{session} has ended");
    }
    assert_eq!(store.log("l", FencingToken::FIRST).await, Ok(Vec::new()));
    assert_eq!(replay(store, "t", 1, 0, u64::MAX).await.as_deref(), Some("z"), "the other has not");
    store.forget("t", FencingToken::FIRST);
    assert_eq!(replay(store, "t", 1, 0, u64::MAX).await, None);
}

fn owner() -> Owner {
    Owner::Principal("ann".into())
}

async fn keep(store: &dyn EventStore, key: EventKey<'_>, event: &StoredEvent) {
    let written = append(store, FencingToken::FIRST, key, Entry::Event { event, answers: None }).await;
    assert_eq!(written, Ok(()), "{key:?}");
}

async fn append(
    store: &dyn EventStore,
    token: FencingToken,
    key: EventKey<'_>,
    entry: Entry<'_>,
) -> Result<(), StoreError> {
    done(store.append(&owner(), token, key, entry)).await
}

async fn done(write: Write) -> Result<(), StoreError> {
    match write {
        Write::Done(written) => written,
        Write::Pending(write) => write.await,
    }
}

/// The texts of the events, one after the other.
async fn replay(store: &dyn EventStore, session: &str, stream: u64, after: u64, end: u64) -> Option<String> {
    let events = events(store, EventKey { session, stream, number: after }, end).await?;
    Some(events.iter().map(text).collect())
}

async fn events(store: &dyn EventStore, key: EventKey<'_>, end: u64) -> Option<Vec<StoredEvent>> {
    match store.replay(key, end).await.expect("the store answers") {
        Replayed::Events(events) => Some(events),
        Replayed::Missing => panic!("there is room for the events of {key:?}"),
        Replayed::Unknown => None,
    }
}

fn text(event: &StoredEvent) -> String {
    String::from_utf8(event.concat()).expect("the events of these tests are text")
}
