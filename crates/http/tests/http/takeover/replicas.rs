//! Processes that serve the same clients, in one process: each has its own server on its own port, and a link to the
//! stores that they share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use protomcp_http::{Config, Entry, EventKey, EventStore, MemoryStore, Replayed, StreamLog, Write};
use protomcp_server::{
    Claim, FencingToken, LeaseKeeper, LeaseName, LeaseStore, LeaseTerms, MemoryLeases, NodeId, Owner, SessionSnapshot,
    StoreAnswer, StoreError,
};
use protomcp_testing::in_time;
use tokio::sync::Notify;
use tokio::task::yield_now;

use crate::client::Host;
use crate::handler::Stage;

/// The stores of all processes.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub(super) leases: Arc<MemoryLeases>,
    pub(super) events: Arc<MemoryStore>,
}

/// The way of one process to the stores, which can be cut.
#[derive(Debug, Clone)]
pub(super) struct Link(Arc<Wire>);

#[derive(Debug)]
struct Wire {
    shared: Shared,
    is_cut: AtomicBool,
    /// The store saves no session.
    is_full: AtomicBool,
    claims: AtomicUsize,
    /// A session was closed.
    closed: Notify,
}

/// A process.
pub(super) struct Replica {
    pub(super) stage: Stage,
    pub(super) link: Link,
    pub(super) keeper: Arc<LeaseKeeper>,
    pub(super) lease: LeaseName,
    shared: Shared,
}

impl Shared {
    pub(super) fn new() -> Self {
        let leases = Arc::new(MemoryLeases::new(100, Duration::from_secs(3600)));
        Self { leases, events: Arc::new(MemoryStore::default()) }
    }

    pub(super) fn link(&self) -> Link {
        let (is_cut, is_full, claims) = (AtomicBool::new(false), AtomicBool::new(false), AtomicUsize::new(0));
        Link(Arc::new(Wire { shared: self.clone(), is_cut, is_full, claims, closed: Notify::new() }))
    }

    /// A process with a lease of ten minutes, which no slow test outlives.
    pub(super) async fn replica(&self, name: &str) -> Replica {
        self.replica_with(name, Duration::from_secs(600)).await
    }

    /// A process that others reach, and that hands requests on.
    #[cfg(feature = "replica-client")]
    pub(super) async fn reachable(
        &self,
        name: &str,
        replicas: protomcp_http::Replicas,
        access: protomcp_http::Access,
    ) -> Replica {
        let link = self.link();
        let (keeper, mut config) = link.config(name, Duration::from_secs(600));
        config.access = access;
        let lease = in_time(keeper.held()).await.expect("the store grants a lease");
        let stores = protomcp_server::Stores::new(NodeId::new(name)).with_leases(Arc::new(link.clone()));
        let stage = Stage::with_stores(config.with_replicas(Arc::new(replicas)), stores).await;
        let replica = Replica { stage, link, keeper, lease, shared: self.clone() };
        replica.announce(&format!("http://{}", replica.stage.host.address)).await;
        replica
    }

    pub(super) async fn replica_with(&self, name: &str, ttl: Duration) -> Replica {
        let link = self.link();
        let (keeper, config) = link.config(name, ttl);
        let lease = in_time(keeper.held()).await.expect("the store grants a lease");
        Replica { stage: Stage::new(config).await, link, keeper, lease, shared: self.clone() }
    }
}

impl Link {
    /// The lease of a process with this link, and the configuration of its server.
    pub(super) fn config(&self, name: &str, ttl: Duration) -> (Arc<LeaseKeeper>, Config) {
        let keeper = LeaseKeeper::start(Arc::new(self.clone()), NodeId::new(name), LeaseTerms::new(ttl));
        let keeper = Arc::new(keeper);
        let config = Config::default().with_leases(Arc::clone(&keeper)).with_event_store(self.clone());
        (keeper, config)
    }

    pub(super) fn cut(&self) {
        self.0.is_cut.store(true, Ordering::SeqCst);
    }

    pub(super) fn mend(&self) {
        self.0.is_cut.store(false, Ordering::SeqCst);
    }

    /// From now on the store has no room for the state of a session.
    pub(super) fn fill(&self) {
        self.0.is_full.store(true, Ordering::SeqCst);
    }

    fn is_cut(&self) -> bool {
        self.0.is_cut.load(Ordering::SeqCst)
    }

    fn reach<'a, T: Send + 'a>(&'a self, request: impl FnOnce(&'a Shared) -> StoreAnswer<'a, T>) -> StoreAnswer<'a, T> {
        if self.is_cut() { Box::pin(async { Err(StoreError::Unavailable) }) } else { request(&self.0.shared) }
    }
}

impl Replica {
    /// The same client at this process.
    pub(super) fn host(&self, host: &Host) -> Host {
        Host { address: self.stage.host.address, ..host.clone() }
    }

    /// The claims of sessions by this process.
    pub(super) fn claims(&self) -> usize {
        self.link.0.claims.load(Ordering::SeqCst)
    }

    /// Waits until a session was closed in the store.
    pub(super) async fn closed(&self) {
        in_time(self.link.0.closed.notified()).await.expect("no session is closed");
    }

    /// Others reach the process at this URL.
    #[cfg(feature = "replica-client")]
    pub(super) async fn announce(&self, url: &str) {
        assert_eq!(self.shared.leases.announce(&self.lease, url).await, Ok(true));
    }

    /// The process dies: nothing of it reaches the stores, and its lease runs out.
    pub(super) async fn die(&self) {
        self.link.cut();
        self.run_out().await;
    }

    /// Its lease runs out in the store, and it does not know.
    pub(super) async fn run_out(&self) {
        self.shared.leases.resign(&self.lease).await.unwrap();
    }
}

impl LeaseStore for Link {
    fn register<'a>(&'a self, lease: &'a LeaseName, ttl: Duration) -> StoreAnswer<'a, bool> {
        self.reach(|shared| shared.leases.register(lease, ttl))
    }

    fn renew<'a>(&'a self, lease: &'a LeaseName, ttl: Duration) -> StoreAnswer<'a, bool> {
        self.reach(|shared| shared.leases.renew(lease, ttl))
    }

    fn announce<'a>(&'a self, lease: &'a LeaseName, address: &'a str) -> StoreAnswer<'a, bool> {
        self.reach(|shared| shared.leases.announce(lease, address))
    }

    fn address<'a>(&'a self, lease: &'a LeaseName) -> StoreAnswer<'a, Option<Arc<str>>> {
        self.reach(|shared| shared.leases.address(lease))
    }

    fn resign<'a>(&'a self, lease: &'a LeaseName) -> StoreAnswer<'a, ()> {
        self.reach(|shared| shared.leases.resign(lease))
    }

    fn live(&self) -> StoreAnswer<'_, Vec<LeaseName>> {
        self.reach(|shared| shared.leases.live())
    }

    fn open<'a>(&'a self, session: &'a str, lease: &'a LeaseName) -> StoreAnswer<'a, Claim> {
        self.reach(|shared| shared.leases.open(session, lease))
    }

    /// The answer takes a while, as from another machine.
    fn claim<'a>(&'a self, session: &'a str, lease: &'a LeaseName) -> StoreAnswer<'a, Claim> {
        self.0.claims.fetch_add(1, Ordering::SeqCst);
        self.reach(move |shared| {
            Box::pin(async move {
                for _ in 0..100 {
                    yield_now().await;
                }
                shared.leases.claim(session, lease).await
            })
        })
    }

    fn save<'a>(
        &'a self,
        session: &'a str,
        token: FencingToken,
        snapshot: &'a SessionSnapshot,
    ) -> StoreAnswer<'a, bool> {
        self.reach(move |shared| {
            Box::pin(async move {
                for _ in 0..100 {
                    yield_now().await;
                }
                if self.0.is_full.load(Ordering::SeqCst) {
                    return Err(StoreError::Unavailable);
                }
                shared.leases.save(session, token, snapshot).await
            })
        })
    }

    fn release<'a>(&'a self, session: &'a str, token: FencingToken) -> StoreAnswer<'a, bool> {
        self.reach(|shared| shared.leases.release(session, token))
    }

    fn close<'a>(&'a self, session: &'a str, token: FencingToken) -> StoreAnswer<'a, bool> {
        self.reach(move |shared| {
            Box::pin(async move {
                let closed = shared.leases.close(session, token).await;
                self.0.closed.notify_one();
                closed
            })
        })
    }
}

impl EventStore for Link {
    fn append(&self, owner: &Owner, token: FencingToken, key: EventKey<'_>, entry: Entry<'_>) -> Write {
        if self.is_cut() {
            return Write::Done(Err(StoreError::Unavailable));
        }
        self.0.shared.events.append(owner, token, key, entry)
    }

    fn replay<'a>(&'a self, key: EventKey<'a>, end: u64) -> StoreAnswer<'a, Replayed> {
        self.reach(|shared| shared.events.replay(key, end))
    }

    fn log<'a>(&'a self, session: &'a str, token: FencingToken) -> StoreAnswer<'a, Vec<StreamLog>> {
        self.reach(|shared| shared.events.log(session, token))
    }

    fn forget(&self, session: &str, token: FencingToken) {
        if !self.is_cut() {
            self.0.shared.events.forget(session, token);
        }
    }
}
