//! The contract of stores of leases: it holds in memory, and finds the faults of a store.

use std::panic::catch_unwind;
use std::sync::Arc;
use std::time::Duration;

use protomcp_server::contract::lease_store;
use protomcp_server::{Claim, FencingToken, LeaseName, LeaseStore, MemoryLeases, NodeId, SessionSnapshot, StoreAnswer};
use protomcp_testing::run_paused;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// None.
    No,
    /// A lease that has run out is renewed.
    RenewsTheDead,
    /// Names of processes can be used again.
    ForgetsNames,
    /// Each claim is granted.
    GrantsAll,
    /// A process without a lease is granted a session.
    GrantsToTheDead,
    /// A new holder has the token of the one before.
    RepeatsTokens,
    /// A session is released with any token.
    IgnoresTokens,
    /// Nothing is freed when a process resigns.
    KeepsResigned,
    /// A lease that was given back is live.
    ListsTheDead,
    /// No lease is live.
    ListsNone,
    /// A process without a lease has an address.
    AnnouncesTheDead,
    /// Addresses are not kept.
    ForgetsAddresses,
    /// The state of a session is not kept.
    ForgetsStates,
    /// An earlier holder is told that its state is kept.
    SavesForAll,
}

/// A store with a fault, which answers later, as another process would.
#[derive(Debug)]
struct Faulty {
    store: MemoryLeases,
    fault: Fault,
}

impl Faulty {
    fn new(fault: Fault) -> Self {
        Self { store: memory(), fault }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }
}

fn memory() -> MemoryLeases {
    MemoryLeases::new(4, Duration::from_secs(3600))
}

fn later<'a, T: Send + 'a>(answer: StoreAnswer<'a, T>) -> StoreAnswer<'a, T> {
    Box::pin(async move {
        tokio::task::yield_now().await;
        answer.await
    })
}

impl LeaseStore for Faulty {
    fn register<'a>(&'a self, lease: &'a LeaseName, ttl: Duration) -> StoreAnswer<'a, bool> {
        let answer = self.store.register(lease, ttl);
        later(Box::pin(async move { Ok(answer.await? || self.has(Fault::ForgetsNames)) }))
    }

    fn renew<'a>(&'a self, lease: &'a LeaseName, ttl: Duration) -> StoreAnswer<'a, bool> {
        let answer = self.store.renew(lease, ttl);
        later(Box::pin(async move {
            let is_dead = lease.node.as_str().starts_with("run-out") && self.has(Fault::RenewsTheDead);
            Ok(answer.await? || is_dead)
        }))
    }

    fn announce<'a>(&'a self, lease: &'a LeaseName, address: &'a str) -> StoreAnswer<'a, bool> {
        let answer = self.store.announce(lease, address);
        later(Box::pin(async move { Ok(answer.await? || self.has(Fault::AnnouncesTheDead)) }))
    }

    fn address<'a>(&'a self, lease: &'a LeaseName) -> StoreAnswer<'a, Option<Arc<str>>> {
        let answer = self.store.address(lease);
        later(Box::pin(async move { Ok(answer.await?.filter(|_| !self.has(Fault::ForgetsAddresses))) }))
    }

    fn resign<'a>(&'a self, lease: &'a LeaseName) -> StoreAnswer<'a, ()> {
        if self.has(Fault::KeepsResigned) && lease.node.as_str().starts_with("resigned") {
            return later(Box::pin(async { Ok(()) }));
        }
        later(self.store.resign(lease))
    }

    fn live(&self) -> StoreAnswer<'_, Vec<LeaseName>> {
        let answer = self.store.live();
        later(Box::pin(async move {
            let mut live = answer.await?;
            if self.has(Fault::ListsTheDead) {
                live.push(LeaseName::first(NodeId::new("names")));
            }
            live.retain(|_| !self.has(Fault::ListsNone));
            Ok(live)
        }))
    }

    fn open<'a>(&'a self, session: &'a str, lease: &'a LeaseName) -> StoreAnswer<'a, Claim> {
        later(self.store.open(session, lease))
    }

    fn claim<'a>(&'a self, session: &'a str, lease: &'a LeaseName) -> StoreAnswer<'a, Claim> {
        let answer = self.store.claim(session, lease);
        later(Box::pin(async move {
            Ok(match answer.await? {
                Claim::Held(_) if self.has(Fault::GrantsAll) => Claim::Granted(FencingToken::new(9), None),
                Claim::LeaseOver if self.has(Fault::GrantsToTheDead) => Claim::Granted(FencingToken::new(9), None),
                Claim::Granted(_, snapshot) if self.has(Fault::RepeatsTokens) => {
                    Claim::Granted(FencingToken::FIRST, snapshot)
                }
                Claim::Granted(token, _) if self.has(Fault::ForgetsStates) => Claim::Granted(token, None),
                claim => claim,
            })
        }))
    }

    fn save<'a>(
        &'a self,
        session: &'a str,
        token: FencingToken,
        snapshot: &'a SessionSnapshot,
    ) -> StoreAnswer<'a, bool> {
        let answer = self.store.save(session, token, snapshot);
        later(Box::pin(async move { Ok(answer.await? || self.has(Fault::SavesForAll)) }))
    }

    fn release<'a>(&'a self, session: &'a str, token: FencingToken) -> StoreAnswer<'a, bool> {
        let answer = self.store.release(session, token);
        later(Box::pin(async move { Ok(answer.await? || self.has(Fault::IgnoresTokens)) }))
    }

    fn close<'a>(&'a self, session: &'a str, token: FencingToken) -> StoreAnswer<'a, bool> {
        later(self.store.close(session, token))
    }
}

#[test]
fn leases_in_memory_keep_the_contract() {
    run_paused(async {
        lease_store(&memory()).await;
        lease_store(&Faulty::new(Fault::No)).await;
    });
}

#[test]
fn the_contract_finds_each_fault_of_a_store() {
    for fault in [
        Fault::RenewsTheDead,
        Fault::ForgetsNames,
        Fault::GrantsAll,
        Fault::GrantsToTheDead,
        Fault::RepeatsTokens,
        Fault::IgnoresTokens,
        Fault::KeepsResigned,
        Fault::ListsTheDead,
        Fault::ListsNone,
        Fault::AnnouncesTheDead,
        Fault::ForgetsAddresses,
        Fault::ForgetsStates,
        Fault::SavesForAll,
    ] {
        let checked = catch_unwind(|| run_paused(async { lease_store(&Faulty::new(fault)).await }));
        assert!(checked.is_err(), "{fault:?} is not found");
    }
}
