//! The stores of sessions, and the bus of notices, in one Redis or Valkey.

use std::sync::Arc;
use std::time::Duration;

use protomcp_server::{NodeId, TaskLimits};

use crate::connect_error::ConnectError;
use crate::connection::Connection;
use crate::events::{LogLimits, RedisEvents};
use crate::keys::KeyNames;
use crate::leases::{LONGEST, RedisLeases, expiry};
use crate::notices::RedisNotices;
use crate::seal::{Seal, SealingKeys};
use crate::task_writes::TaskWrites;
use crate::tasks::RedisTasks;
use crate::url::StoreUrl;

/// The time of a request to a store.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// The time for which a session without a holder is kept, and a little more than the default time of an idle session.
const KEEP: Duration = Duration::from_secs(3_900);

/// The events of a session.
const EVENTS: u32 = 1_024;

/// Their bytes.
const BYTES: u64 = 4 << 20;

/// The limits of stores. The default ones are 2 s for a request; 65 minutes for a session without a holder; and 1,024
/// events of 4 MiB together for the log of a session.
#[derive(Debug, Clone, Copy)]
pub struct StoreOptions {
    time_limit: Duration,
    keep: Duration,
    events: u32,
    bytes: u64,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { time_limit: TIME_LIMIT, keep: KEEP, events: EVENTS, bytes: BYTES }
    }
}

impl StoreOptions {
    /// Sets the time of each request, 10 ms at least and a year at most. A request that has no answer then has failed,
    /// and may have had its effect.
    #[must_use]
    pub fn with_time_limit(mut self, time: Duration) -> Self {
        self.time_limit = time.clamp(Duration::from_millis(10), LONGEST);
        self
    }

    /// Sets the time for which a session is kept that has no holder, a second at least and a year at most. It should be
    /// longer than the time after which servers close a session that is idle.
    #[must_use]
    pub fn with_keep(mut self, time: Duration) -> Self {
        self.keep = time.max(Duration::from_secs(1));
        self
    }

    /// Sets the most events of a session that are kept, and their most bytes. A larger event, or one above 16 MiB,
    /// is not kept.
    #[must_use]
    pub fn with_log(mut self, events: u32, bytes: u64) -> Self {
        (self.events, self.bytes) = (events, bytes);
        self
    }
}

/// The stores of sessions and the bus of notices in one Redis or Valkey, over one connection, which is made again when
/// it has ended. A bus receives over a second one.
///
/// ```no_run
/// use protomcp_redis::{RedisStores, SealingKeys, StoreUrl};
///
/// # async fn connect() -> Result<(), Box<dyn std::error::Error>> {
/// let url: StoreUrl = "redis://:secret@cache.example/0".parse()?;
/// let keys = SealingKeys::from_file("/etc/tools/sealing.key".as_ref())?;
/// let stores = RedisStores::connect(&url, keys).await?;
/// let (leases, events) = (stores.leases(), stores.events());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RedisStores {
    connection: Arc<Connection>,
    seal: Arc<Seal>,
    leases: Arc<RedisLeases>,
    events: Arc<RedisEvents>,
    task_writes: Arc<TaskWrites>,
}

impl RedisStores {
    /// Connects to a store, with the default limits. Processes that share its sessions connect with the same keys.
    ///
    /// # Errors
    /// The store does not answer, or cannot be used; see [`ConnectError`].
    ///
    /// # Panics
    /// Outside of a runtime of tokio.
    pub async fn connect(url: &StoreUrl, keys: SealingKeys) -> Result<Self, ConnectError> {
        Self::connect_with(url, keys, StoreOptions::default()).await
    }

    /// Connects to a store with these limits.
    ///
    /// # Errors
    /// See [`RedisStores::connect`].
    ///
    /// # Panics
    /// Outside of a runtime of tokio.
    pub async fn connect_with(url: &StoreUrl, keys: SealingKeys, options: StoreOptions) -> Result<Self, ConnectError> {
        let StoreOptions { time_limit, keep, events, bytes } = options;
        let connection = Arc::new(Connection::new(url.clone(), time_limit).await?);
        let (names, seal) = (KeyNames::new(url.prefix.clone()), Arc::new(Seal::new(keys)));
        let limits = LogLimits { expiry: expiry(keep), events: events.into(), bytes };
        let leases = RedisLeases::new(Arc::clone(&connection), names.clone(), Arc::clone(&seal), keep);
        let task_writes = TaskWrites::new(Arc::clone(&connection), names.clone(), Arc::clone(&seal));
        let events = RedisEvents::new(Arc::clone(&connection), names, Arc::clone(&seal), limits);
        let (leases, events) = (Arc::new(leases), Arc::new(events));
        Ok(Self { connection, seal, leases, events, task_writes })
    }

    /// The holders of sessions.
    #[must_use]
    pub fn leases(&self) -> Arc<RedisLeases> {
        Arc::clone(&self.leases)
    }

    /// The events of sessions.
    #[must_use]
    pub fn events(&self) -> Arc<RedisEvents> {
        Arc::clone(&self.events)
    }

    /// A bus that carries notices between this process, which has this name, and the others. Each call makes another
    /// one, with another connection: a process needs one.
    #[must_use]
    pub fn notices(&self, node: &NodeId) -> Arc<RedisNotices> {
        let (connection, seal) = (Arc::clone(&self.connection), Arc::clone(&self.seal));
        Arc::new(RedisNotices::new(connection, seal, Arc::clone(&self.task_writes), node))
    }

    /// The records of tasks, within these limits for the tasks of this process. A server has one of them.
    #[must_use]
    pub fn tasks(&self, limits: &TaskLimits) -> Arc<RedisTasks> {
        Arc::new(RedisTasks::new(limits, Arc::clone(&self.task_writes)))
    }

    /// Waits until the store has the last changes of tasks, for as long as a request may take: for a process that ends.
    /// Returns the number of tasks whose last change it does not have then.
    pub async fn flush(&self) -> usize {
        self.task_writes.flushed().await
    }

    /// The requests since the start that had no answer in the time of their caller, or were refused by the store.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.connection.failures()
    }

    /// Succeeds if the store answers now. This takes no longer than a request.
    ///
    /// # Errors
    /// The reason why it does not.
    pub async fn health(&self) -> Result<(), ConnectError> {
        self.connection.health().await
    }
}
