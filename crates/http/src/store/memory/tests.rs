//! Events that are kept, and those that are dropped.

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
fn memory_is_bounded_by_events_and_bytes_and_given_back() {
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
    for (number, text) in [(1, "a"), (2, "b"), (3, "c")] {
        keep(&store, "s", 1, number, text);
    }
    for (after, end, expected) in [
        (0, 9, Replayed::Missing),
        (0, 2, Replayed::Missing),
        (0, 1, Replayed::Events(Vec::new())),
        (1, 3, Replayed::Events(vec![vec!["b".into()]])),
        (3, 9, Replayed::Events(Vec::new())),
        (u64::MAX, u64::MAX, Replayed::Events(Vec::new())),
    ] {
        assert_eq!(replayed(&store, "s", 1, after, end), expected, "from {after} to {end}");
    }
    append(&store, "ann", key(3), Entry::Ended);
    assert_eq!(replay(&store, "s", 1, 1, 9).as_deref(), Some("bc"), "its events are kept after its end");
    // The ended streams of a session share their places.
    keep(&store, "s", 2, 1, "x");
    keep(&store, "s", 2, 2, "y");
    assert_eq!(replayed(&store, "s", 1, 0, 9), Replayed::Unknown);
}

#[test]
fn a_busy_stream_takes_no_event_of_another_one() {
    let store = MemoryStore::new(2, 10);
    for stream in [1, 2] {
        append(&store, "ann", EventKey { session: "s", stream, number: 0 }, Entry::Opened { requests: &[] });
    }
    keep(&store, "s", 1, 1, "a");
    for number in 1..=5 {
        keep(&store, "s", 2, number, "b");
        keep(&store, "s", 3, number, "c");
    }
    assert_eq!((store.bytes(), replay(&store, "s", 1, 0, 9).as_deref()), (5, Some("a")));
    assert_eq!(replay(&store, "s", 2, 3, 9).as_deref(), Some("bb"));
    // At the limit of bytes, ended streams make room first, and then the one with most bytes.
    keep(&store, "s", 1, 2, "1234567");
    assert_eq!((store.bytes(), replay(&store, "s", 3, 0, 9)), (10, None));
    keep(&store, "s", 2, 6, "b");
    assert_eq!((store.bytes(), replay(&store, "s", 2, 4, 9).as_deref()), (10, Some("bb")));
    keep(&store, "s", 4, 1, "d");
    assert_eq!(replay(&store, "s", 4, 0, 9), None, "it is an ended stream");
    keep(&store, "s", 2, 7, "bb");
    assert_eq!((store.bytes(), replay(&store, "s", 1, 0, 9)), (10, None));
    assert_eq!(replay(&store, "s", 1, 1, 9).as_deref(), Some("1234567"));
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
