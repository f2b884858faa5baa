//! Renews the lease of this process.
//!
//! The machine is [`Lease`]; this is its task. A process that has lost its lease registers again, with another name.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::records::lease::{Lease, LeaseAction, LeaseTerms};
use crate::records::lease_clock::lease_now;
use crate::records::lease_name::LeaseName;
use crate::records::lease_store::{LeaseStore, StoreAnswer};
use crate::records::node::NodeId;
use crate::records::outage::Outage;
use crate::records::store_error::StoreError;
use crate::state::held_lease::{Held, HeldLease};

/// Keeps a lease of this process in a store ([`LeaseStore`]), and gives it back when it is dropped. A store that does
/// not answer, or that grants no lease, is asked again after 50 ms to a second.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use protomcp_server::{LeaseKeeper, LeaseTerms, MemoryLeases, NodeId};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let store = Arc::new(MemoryLeases::new(10_000, Duration::from_secs(3600)));
/// let keeper = LeaseKeeper::start(store, NodeId::new("a"), LeaseTerms::default());
/// assert_eq!(keeper.held().await.to_string(), "a.1");
/// # });
/// ```
#[derive(Debug)]
pub struct LeaseKeeper {
    store: Arc<dyn LeaseStore>,
    terms: LeaseTerms,
    held: watch::Receiver<Option<Held>>,
    stop: CancellationToken,
}

/// The task.
struct Keeper {
    store: Arc<dyn LeaseStore>,
    /// The name of the next lease.
    next: LeaseName,
    /// The URL of this process, for the other ones.
    address: Option<Arc<str>>,
    terms: LeaseTerms,
    outage: Outage,
    held: watch::Sender<Option<Held>>,
}

impl LeaseKeeper {
    /// Starts a task that registers this process and renews its lease. Each lease has another number.
    ///
    /// # Panics
    /// Outside of a runtime of tokio.
    #[must_use]
    pub fn start(store: Arc<dyn LeaseStore>, node: NodeId, terms: LeaseTerms) -> Self {
        Self::begin(store, node, terms, None)
    }

    /// Like [`LeaseKeeper::start`]: the other processes reach this one at this URL, such as `http://10.0.0.7:8080`
    /// ([`LeaseStore::announce`]).
    ///
    /// # Panics
    /// Outside of a runtime of tokio.
    #[must_use]
    pub fn start_at(store: Arc<dyn LeaseStore>, node: NodeId, terms: LeaseTerms, url: impl Into<Arc<str>>) -> Self {
        Self::begin(store, node, terms, Some(url.into()))
    }

    fn begin(store: Arc<dyn LeaseStore>, node: NodeId, terms: LeaseTerms, address: Option<Arc<str>>) -> Self {
        let (sender, held) = watch::channel(None);
        let stop = CancellationToken::new();
        let (next, outage) = (LeaseName::first(node), Outage::default());
        let keeper = Keeper { store: Arc::clone(&store), next, address, terms, outage, held: sender };
        tokio::spawn(keeper.run(stop.clone()));
        Self { store, terms, held, stop }
    }

    /// The store of the leases.
    #[must_use]
    pub fn store(&self) -> &dyn LeaseStore {
        &*self.store
    }

    /// The times of the lease.
    #[must_use]
    pub fn terms(&self) -> LeaseTerms {
        self.terms
    }

    /// The answer of the store to a request about a session, within a twentieth of the lease.
    ///
    /// # Errors
    /// The error of the store, and [`StoreError::Unavailable`] when the time is up.
    pub async fn answer<T>(&self, answer: StoreAnswer<'_, T>) -> Result<T, StoreError> {
        limited(self.terms, answer).await
    }

    /// The lease that this process holds now; `None`: it holds none, and must not serve sessions that others can take
    /// over.
    #[must_use]
    pub fn lease(&self) -> Option<HeldLease> {
        let held = self.held.borrow().clone().filter(Held::runs)?;
        Some(HeldLease { name: held.name, held: self.held.clone(), over: held.over })
    }

    /// The name of the lease that this process holds now; `None`: it holds none, and must not serve sessions that
    /// others can take over. To be called before each effect that two processes must not have.
    #[must_use]
    pub fn holder(&self) -> Option<LeaseName> {
        let held = self.held.borrow();
        held.as_ref().filter(|held| held.runs()).map(|held| held.name.clone())
    }

    /// Waits until this process holds a lease, and returns its name.
    pub async fn held(&self) -> LeaseName {
        let mut held = self.held.clone();
        loop {
            if let Some(name) = self.holder() {
                return name;
            }
            if held.changed().await.is_err() {
                // The task has panicked: there will be none.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Gives the lease back, which frees the sessions of this process: there is no other lease after it. Waits for the
    /// store, for a twentieth of the lease at most.
    pub async fn resign(&self) {
        self.stop.cancel();
        let mut held = self.held.clone();
        // The task has the sender until it ends.
        while held.changed().await.is_ok() {}
    }
}

impl Drop for LeaseKeeper {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Keeper {
    async fn run(mut self, stop: CancellationToken) {
        stop.run_until_cancelled(self.keep()).await;
        let held = self.held.send_replace(None);
        if let Some(Held { name, .. }) = held
            && self.limited(self.store.resign(&name)).await.is_err()
        {
            tracing::debug!(%name, "a lease is not given back, and runs out");
        }
    }

    /// One lease after the other.
    async fn keep(&mut self) {
        loop {
            // An answer that was lost may have been a grant: each request has another name.
            let name = self.next.clone();
            self.next = name.successor();
            let sent = lease_now();
            match self.register(&name).await {
                Ok(true) => {
                    self.succeeded();
                    tracing::debug!(%name, "a lease begins");
                    self.renew(&name, Lease::granted(self.terms, sent)).await;
                    self.held.send_replace(None);
                    tracing::warn!(%name, "the lease of this process has run out: others may serve its sessions");
                }
                Ok(false) if self.outage.failed() => {
                    tracing::warn!(%name, "the store grants no lease: the name is in use, or it is full");
                }
                Ok(false) => {}
                Err(_) => self.failed(),
            }
            sleep(self.wait()).await;
        }
    }

    /// Asks for a lease, and says where this process is.
    async fn register(&self, name: &LeaseName) -> Result<bool, StoreError> {
        let granted = self.limited(self.store.register(name, self.terms.ttl())).await;
        match (granted, &self.address) {
            (Ok(true), Some(address)) => {
                let announced = self.limited(self.store.announce(name, address)).await;
                if !matches!(announced, Ok(true)) {
                    // The next attempt has another name.
                    let _resigned = self.limited(self.store.resign(name)).await;
                }
                announced
            }
            (granted, _) => granted,
        }
    }

    /// Renews a lease until it is over.
    async fn renew(&mut self, name: &LeaseName, mut lease: Lease) {
        // Cancelled at the end of this function, also when it is dropped.
        let over = CancellationToken::new();
        let _over = over.clone().drop_guard();
        let held = |until| Some(Held { name: name.clone(), until, over: over.clone() });
        self.held.send_replace(held(lease.until()));
        while let Some(deadline) = lease.deadline() {
            // A timer does not count the suspension of the machine, and may fire late; the clock of leases shows it.
            sleep(deadline.saturating_duration_since(lease_now())).await;
            match lease.poll(lease_now()) {
                Some(LeaseAction::Renew) => {
                    let renewed = self.limited(self.store.renew(name, self.terms.ttl())).await;
                    match renewed {
                        Ok(true) => {
                            self.succeeded();
                            lease.renewed();
                        }
                        Ok(false) => return,
                        Err(_) => {
                            self.failed();
                            lease.failed(lease_now() + self.wait());
                        }
                    }
                    self.held.send_replace(held(lease.until()));
                }
                Some(LeaseAction::Stop) => return,
                None => {}
            }
        }
    }

    /// The store has not answered.
    fn failed(&mut self) {
        if self.outage.failed() {
            tracing::warn!("the store of leases does not answer, and is asked again");
        }
    }

    /// The store has granted or renewed a lease.
    fn succeeded(&mut self) {
        if self.outage.succeeded() {
            tracing::info!("the store of leases is back");
        }
    }

    /// The time until the next attempt.
    fn wait(&self) -> Duration {
        // Without random numbers the waits are the shortest ones.
        self.outage.wait(getrandom::u32().map_or(0, |random| random.to_be_bytes()[0]))
    }

    /// The answer of the store, within the time of a request.
    async fn limited<T>(&self, answer: StoreAnswer<'_, T>) -> Result<T, StoreError> {
        limited(self.terms, answer).await
    }
}

async fn limited<T>(terms: LeaseTerms, answer: StoreAnswer<'_, T>) -> Result<T, StoreError> {
    timeout(terms.request_limit(), answer).await.unwrap_or(Err(StoreError::Unavailable))
}
