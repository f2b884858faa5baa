//! The contract of stores of events: it holds in memory, and finds the faults of a store.

use std::panic::catch_unwind;

use protomcp_http::contract::event_store;
use protomcp_http::{Entry, EventKey, EventStore, MemoryStore, Replayed, StreamLog, Write};
use protomcp_server::{FencingToken, Owner, StoreAnswer};
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
    /// A stream with an end is in the log.
    LogsTheEnded,
    /// No stream is in the log.
    LogsNone,
    /// Answered requests are in the log.
    IgnoresAnswers,
    /// An earlier holder may write.
    IgnoresTokens,
    /// An earlier holder may forget the session.
    ForgetsForAll,
    /// The write of the first event is over without an error when its stream could not be opened.
    TakesTheUnopened,
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

/// A token that is never an earlier one.
fn last() -> FencingToken {
    FencingToken::new(9)
}

impl EventStore for Faulty {
    fn append(&self, owner: &Owner, token: FencingToken, key: EventKey<'_>, entry: Entry<'_>) -> Write {
        let one;
        let entry = match entry {
            Entry::Event { .. } if self.has(Fault::LosesTheFirst) && key.number == 1 => return Write::Done(Ok(())),
            Entry::Event { event, answers } => {
                one = event[..if self.has(Fault::KeepsOnePiece) { 1 } else { event.len() }].to_vec();
                Entry::Event { event: &one, answers: answers.filter(|_| !self.has(Fault::IgnoresAnswers)) }
            }
            Entry::Ended if self.has(Fault::LogsTheEnded) => return Write::Done(Ok(())),
            entry => entry,
        };
        let token = if self.has(Fault::IgnoresTokens) { last() } else { token };
        let write = match self.store.append(owner, token, self.key(key), entry) {
            Write::Done(Err(_)) if self.has(Fault::TakesTheUnopened) && key.number == 1 => Write::Done(Ok(())),
            write => write,
        };
        Write::Pending(Box::pin(async move {
            tokio::task::yield_now().await;
            match write {
                Write::Done(written) => written,
                Write::Pending(write) => write.await,
            }
        }))
    }

    fn replay<'a>(&'a self, key: EventKey<'a>, end: u64) -> StoreAnswer<'a, Replayed> {
        let end = if self.has(Fault::IgnoresTheEnd) { u64::MAX } else { end };
        let found = self.store.replay(self.key(key), end);
        Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(match found.await? {
                Replayed::Events(mut events) => {
                    if self.has(Fault::ReversesTheOrder) {
                        events.reverse();
                    }
                    Replayed::Events(events)
                }
                Replayed::Unknown if self.has(Fault::KnowsAll) => Replayed::Events(Vec::new()),
                other => other,
            })
        })
    }

    fn log<'a>(&'a self, session: &'a str, token: FencingToken) -> StoreAnswer<'a, Vec<StreamLog>> {
        let token = if self.has(Fault::IgnoresTokens) { last() } else { token };
        let log = self.store.log(session, token);
        Box::pin(async move {
            tokio::task::yield_now().await;
            let mut log = log.await?;
            log.retain(|_| !self.has(Fault::LogsNone));
            Ok(log)
        })
    }

    fn forget(&self, session: &str, token: FencingToken) {
        let token = if self.has(Fault::ForgetsForAll) || self.has(Fault::IgnoresTokens) { last() } else { token };
        if !self.has(Fault::KeepsTheEnded) {
            self.store.forget(session, token);
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
        Fault::LogsTheEnded,
        Fault::LogsNone,
        Fault::IgnoresAnswers,
        Fault::IgnoresTokens,
        Fault::ForgetsForAll,
        Fault::TakesTheUnopened,
    ] {
        let checked = catch_unwind(|| run_paused(async { event_store(&Faulty::new(fault)).await }));
        assert!(checked.is_err(), "{fault:?} is not found");
    }
}
