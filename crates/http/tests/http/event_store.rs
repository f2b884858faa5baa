//! The contract of stores of events: it holds in memory, and finds the faults of a store.

use std::panic::catch_unwind;

use protomcp_http::contract::event_store;
use protomcp_http::{EventKey, EventStore, MemoryStore, Replay, StoredEvent};
use protomcp_server::Owner;
use protomcp_testing::run_paused;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// None.
    No,
    /// The first event of a stream is not kept.
    LosesTheFirst,
    /// Only the first piece of an event is kept.
    KeepsOnePiece,
    /// Events from the end on are replayed, too.
    IgnoresTheEnd,
    /// All streams of a session are one.
    MixesStreams,
    /// The newest event comes first.
    ReversesTheOrder,
    /// An unknown stream has no events, and is known.
    KnowsAll,
    /// A session that has ended is not forgotten.
    KeepsTheEnded,
}

/// A store with a fault, which answers later, as another process would.
#[derive(Debug)]
struct Faulty {
    store: MemoryStore,
    fault: Fault,
}

impl Faulty {
    fn new(fault: Fault) -> Self {
        Self { store: MemoryStore::default(), fault }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn key<'a>(&self, key: EventKey<'a>) -> EventKey<'a> {
        if self.has(Fault::MixesStreams) { EventKey { stream: 0, ..key } } else { key }
    }
}

impl EventStore for Faulty {
    fn keep(&self, owner: &Owner, key: EventKey<'_>, event: &StoredEvent) {
        if self.has(Fault::LosesTheFirst) && key.number == 1 {
            return;
        }
        let pieces = if self.has(Fault::KeepsOnePiece) { 1 } else { event.len() };
        self.store.keep(owner, self.key(key), &event[..pieces].to_vec());
    }

    fn replay<'a>(&'a self, key: EventKey<'a>, end: u64) -> Replay<'a> {
        let end = if self.has(Fault::IgnoresTheEnd) { u64::MAX } else { end };
        let found = self.store.replay(self.key(key), end);
        Box::pin(async move {
            tokio::task::yield_now().await;
            let mut found = found.await;
            if self.has(Fault::ReversesTheOrder) {
                found.iter_mut().for_each(|events: &mut Vec<StoredEvent>| events.reverse());
            }
            if self.has(Fault::KnowsAll) {
                found = Some(found.unwrap_or_default());
            }
            found
        })
    }

    fn forget(&self, session: &str) {
        if !self.has(Fault::KeepsTheEnded) {
            self.store.forget(session);
        }
    }
}

#[test]
fn events_in_memory_keep_the_contract() {
    run_paused(async {
        event_store(&MemoryStore::default()).await;
        event_store(&Faulty::new(Fault::No)).await;
    });
}

#[test]
fn the_contract_finds_each_fault_of_a_store_of_events() {
    for fault in [
        Fault::LosesTheFirst,
        Fault::KeepsOnePiece,
        Fault::IgnoresTheEnd,
        Fault::MixesStreams,
        Fault::ReversesTheOrder,
        Fault::KnowsAll,
        Fault::KeepsTheEnded,
    ] {
        let checked = catch_unwind(|| run_paused(async { event_store(&Faulty::new(fault)).await }));
        assert!(checked.is_err(), "{fault:?} is not found");
    }
}
