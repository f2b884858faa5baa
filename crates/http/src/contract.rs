//! Tests for implementations of [`EventStore`], with the feature `contract-tests`.
//!
//! The function takes an empty store and panics where it differs from the one in memory in a way that a client would
//! notice.

use bytes::Bytes;
use protomcp_server::Owner;

use crate::store::{EventKey, EventStore, StoredEvent};

/// The bytes of the largest event.
const LARGE: usize = 64 << 10;

/// The most events of a stream.
const MANY: u64 = 20;

/// Checks that a store gives back the events of each stream in their order and as they were, and forgets a session that
/// has ended. The store must have room for 30 events and 128 KiB of each of three sessions.
///
/// # Panics
/// When it does not.
pub async fn event_store(store: &dyn EventStore) {
    streams(store).await;
    contents(store).await;
    order(store).await;
    ended(store).await;
}

/// Events of two sessions and three streams, in turns. The number of a stream may be 0, which the standalone one has.
async fn streams(store: &dyn EventStore) {
    assert_eq!(replay(store, "s", 1, 0, u64::MAX).await, None, "nothing is known of the stream");
    let kept = [("s", 1, 1, "a"), ("s", 0, 1, "x"), ("t", 1, 1, "z"), ("s", 1, 2, "b"), ("s", 1, 3, "c")];
    for (session, stream, number, text) in kept {
        keep(store, EventKey { session, stream, number }, &vec![Bytes::from_static(text.as_bytes())]);
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
        keep(store, EventKey { session: "s", stream: 5, number }, event);
    }
    let found = store.replay(EventKey { session: "s", stream: 5, number: 0 }, u64::MAX).await;
    let found: Vec<_> = found.unwrap_or_default().iter().map(text).collect();
    assert_eq!(found.len(), 2, "each event is one");
    assert!(found == [text(&pieces), text(&large)], "they are as they were");
}

/// Many events that were kept one after the other, without a pause, are there immediately and in their order.
async fn order(store: &dyn EventStore) {
    for number in 1..=MANY {
        keep(store, EventKey { session: "o", stream: u64::MAX, number }, &vec![number.to_string().into()]);
    }
    let expected: String = (1..=MANY).map(|number| number.to_string()).collect();
    assert_eq!(replay(store, "o", u64::MAX, 0, u64::MAX).await, Some(expected));
}

async fn ended(store: &dyn EventStore) {
    for session in ["s", "s", "o", "unknown"] {
        store.forget(session);
    }
    for (session, stream) in [("s", 1), ("s", 0), ("s", 5), ("o", u64::MAX)] {
        assert_eq!(replay(store, session, stream, 0, u64::MAX).await, None, "{session} has ended");
    }
    assert_eq!(replay(store, "t", 1, 0, u64::MAX).await.as_deref(), Some("z"), "the other has not");
    store.forget("t");
    assert_eq!(replay(store, "t", 1, 0, u64::MAX).await, None);
}

fn keep(store: &dyn EventStore, key: EventKey<'_>, event: &StoredEvent) {
    store.keep(&Owner::Principal("ann".into()), key, event);
}

/// The texts of the events, one after the other.
async fn replay(store: &dyn EventStore, session: &str, stream: u64, after: u64, end: u64) -> Option<String> {
    let events = store.replay(EventKey { session, stream, number: after }, end).await?;
    Some(events.iter().map(text).collect())
}

fn text(event: &StoredEvent) -> String {
    String::from_utf8(event.concat()).expect("the events of these tests are text")
}
