//! A gateway: opened over its servers, served like any service, closed with all sessions.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use protomcp_server::{Limits, RequestStateKeys, Server, ServerHandle, Stores};
use protomcp_types::Implementation;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::described::Described;
use crate::environment::Environment;
use crate::era::Era;
use crate::failure::{Failure, Why};
use crate::inner::Inner;
use crate::limits::GatewayLimits;
use crate::pool::{self, Pool};
use crate::reach::Reach;
use crate::reloading;
use crate::upstream::Upstream;

/// The time for further servers to be connected after the first.
const GRACE: Duration = Duration::from_secs(2);

/// Any servers as one. Cloning is cheap; all clones are the same gateway.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) inner: Arc<Inner>,
    maintenance: Arc<Maintenance>,
}

/// The tasks that connect servers again, reload them and end idle sessions. They end with the last clone.
#[derive(Default)]
struct Maintenance {
    tasks: Vec<AbortHandle>,
    /// One for each server that is watched.
    reloads: Vec<mpsc::Sender<()>>,
}

impl Maintenance {
    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.push(tokio::spawn(task).abort_handle());
    }

    /// Watches the files of a server.
    fn watch(&mut self, pool: &Pool) -> Option<mpsc::Receiver<()>> {
        let watches = pool.reach.upstream.watches();
        // One is enough: the files are read after it was taken.
        let (sender, changes) = mpsc::channel(1);
        // A later save may come too late for the process, and before the first scan of the watcher.
        for watch in watches {
            self.spawn(reloading::watch(watch.clone().from_now(), sender.clone()));
        }
        if watches.is_empty() {
            return None;
        }
        self.reloads.push(sender);
        Some(changes)
    }
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

/// The servers and settings of a [`Gateway`].
#[derive(Debug, Clone)]
pub struct Builder {
    implementation: Implementation,
    upstreams: Vec<Upstream>,
    limits: GatewayLimits,
    server_limits: Limits,
    state_keys: RequestStateKeys,
    stores: Stores,
    era: Era,
}

/// The reason why a gateway cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// It has no servers.
    #[error("the gateway has no servers")]
    Empty,
    /// Two servers have the same prefix, so the names of their tools do not tell them apart.
    #[error("the servers \"{one}\" and \"{other}\" have the same prefix \"{prefix}\" of tools: rename one of them")]
    AmbiguousPrefixes {
        /// The name of the server that was added first.
        one: String,
        /// The name of the other one.
        other: String,
        /// The prefix of both.
        prefix: String,
    },
    /// No server can be reached; the names with the reasons.
    #[error("{}", .0.iter().map(|(name, why)| format!("server \"{name}\": {why}")).collect::<Vec<_>>().join("; "))]
    Unreachable(Vec<(String, String)>),
}

impl Builder {
    /// Adds a server. Lists begin with those that were added first where names are equal.
    #[must_use]
    pub fn upstream(mut self, upstream: Upstream) -> Self {
        self.upstreams.push(upstream);
        self
    }

    /// Sets bounds and times.
    #[must_use]
    pub fn limits(mut self, limits: GatewayLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the era in which servers are opened first, if they have it: the era of the only client, where there is one.
    /// [`Era::Stateful`] by default. Sessions in the other era are opened for clients that need them; until then,
    /// clients of that era see every capability that servers may have in one era alone.
    #[must_use]
    pub fn first_era(mut self, era: Era) -> Self {
        self.era = era;
        self
    }

    /// Sets the bounds of the sessions of clients.
    #[must_use]
    pub fn server_limits(mut self, limits: Limits) -> Self {
        self.server_limits = limits;
        self
    }

    /// Signs the states of requests with keys that other processes have as well ([`RequestStateKeys::from_file`]). Default:
    /// a key of this gateway alone.
    #[must_use]
    pub fn state_keys(mut self, keys: RequestStateKeys) -> Self {
        self.state_keys = keys;
        self
    }

    /// Sets the stores that other processes may share, and the name of this process. Default: local ones, and a random
    /// name.
    #[must_use]
    pub fn stores(mut self, stores: Stores) -> Self {
        self.stores = stores;
        self
    }

    /// Connects the servers, because the capabilities of the gateway are theirs. Those that cannot be reached, or take two
    /// seconds longer than the first, are connected in the background.
    ///
    /// # Errors
    /// If no server can be reached and none is [watched](Upstream::watch), and if the prefixes do not tell the servers apart.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn open(self) -> Result<Gateway, GatewayError> {
        self.check()?;
        let gateway = Arc::new(self.implementation);
        let described = self.upstreams.iter().map(Described::new).collect();
        let environment = Arc::new(Environment::new(self.limits, Arc::clone(&gateway), described));
        let pool = |(place, upstream)| {
            Pool::new(Reach::new(upstream, place), Arc::clone(&environment), Arc::clone(&gateway), self.era)
        };
        let pools: Vec<_> = self.upstreams.into_iter().enumerate().map(pool).collect();
        let mut maintenance = Maintenance::default();
        let changes: Vec<_> = pools.iter().map(|pool| maintenance.watch(pool)).collect();
        let outcomes = connect(&pools).await;
        let failures = outcomes.iter().map(|outcome| outcome.as_ref()?.as_ref().err());
        if failures.clone().all(|failure| failure.is_some()) {
            let failures = pools.iter().zip(failures.flatten());
            let failures = failures.map(|(pool, failure)| (pool.reach.upstream.name().to_owned(), logged(failure)));
            let failures: Vec<_> = failures.collect();
            if maintenance.reloads.is_empty() {
                join_all(pools.iter().map(|pool| pool.close())).await;
                return Err(GatewayError::Unreachable(failures));
            }
            // The next version may start.
            for (name, why) in failures {
                tracing::error!("server \"{name}\" has not started; its files are watched: {why}");
            }
        }
        let description = environment.description(Era::Stateful);
        let clients = ServerHandle::with_stores(description, self.server_limits, self.state_keys, self.stores);
        environment.serve(clients.clone());
        for ((pool, changes), outcome) in pools.iter().zip(changes).zip(&outcomes) {
            maintenance.spawn(pool::reconnect(Arc::downgrade(pool)));
            maintenance.spawn(pool::sweep(Arc::downgrade(pool), self.limits.idle_timeout));
            if outcome.is_none() {
                maintenance.spawn(pool::announce(Arc::clone(pool)));
            }
            if let Some(changes) = changes {
                maintenance.spawn(reloading::run(Arc::downgrade(pool), changes));
            }
        }
        Ok(Gateway { inner: Arc::new(Inner::new(pools, environment, clients)), maintenance: Arc::new(maintenance) })
    }

    fn check(&self) -> Result<(), GatewayError> {
        if self.upstreams.is_empty() {
            return Err(GatewayError::Empty);
        }
        for (index, one) in self.upstreams.iter().enumerate() {
            for other in &self.upstreams[..index] {
                if one.name_prefix() == other.name_prefix() {
                    return Err(GatewayError::AmbiguousPrefixes {
                        one: other.name().to_owned(),
                        other: one.name().to_owned(),
                        prefix: one.name_prefix().to_owned(),
                    });
                }
            }
        }
        Ok(())
    }
}

/// A server is open, or has failed; `None`: neither yet.
type Outcome = Option<Result<(), Failure>>;

/// Opens a session with each server: until all are open or have failed, or for a short time after the first is open.
async fn connect(pools: &[Arc<Pool>]) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = pools.iter().map(|_| None).collect();
    let open = async |pool: &Arc<Pool>| pool.shared().session().await.map(drop);
    let opening = pools.iter().enumerate().map(async |(index, pool)| (index, open(pool).await));
    let mut opening: FuturesUnordered<_> = opening.collect();
    let mut end = None;
    loop {
        let next = match end {
            Some(end) => tokio::time::timeout_at(end, opening.next()).await.unwrap_or_default(),
            None => opening.next().await,
        };
        let Some((index, outcome)) = next else { return outcomes };
        if outcome.is_ok() {
            end.get_or_insert_with(|| Instant::now() + GRACE);
        }
        outcomes[index] = Some(outcome);
    }
}

/// The reason of a failure for the operator.
fn logged(failure: &Failure) -> String {
    match &failure.why {
        Why::Down { cause, .. } => cause.logged.to_string(),
        _ => failure.to_string(),
    }
}

impl Gateway {
    /// A gateway with this name and version. Clients of several servers see them, and servers do where no session of a
    /// client is behind a request. Clients of a single server see its name and version.
    #[must_use]
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> Builder {
        Builder {
            implementation: Implementation::new(name, version),
            upstreams: Vec::new(),
            limits: GatewayLimits::default(),
            server_limits: Limits::default(),
            state_keys: RequestStateKeys::random(),
            stores: Stores::default(),
            era: Era::Stateful,
        }
    }

    /// The server for its clients. Layers can be added to it.
    #[must_use]
    pub fn server(&self) -> Server<Self> {
        let definitions = Arc::clone(&self.inner);
        Server::new(self.inner.clients.clone(), self.clone())
            .observe(Arc::new(self.clone()))
            .with_tool_definitions(move |tool| definitions.tool_definition(tool))
    }

    /// The sessions of its clients.
    #[must_use]
    pub fn clients(&self) -> &ServerHandle {
        &self.inner.clients
    }

    /// True if a server is [watched](Upstream::watch).
    #[must_use]
    pub fn is_watching(&self) -> bool {
        !self.maintenance.reloads.is_empty()
    }

    /// Reloads the servers that are [watched](Upstream::watch), as after a change of their files. Returns immediately.
    pub fn reload(&self) {
        for reload in &self.maintenance.reloads {
            // One that waits is enough.
            let _ = reload.try_send(());
        }
    }

    /// Ends all sessions with servers, and waits until the servers have ended them as well, for ten seconds at most.
    pub async fn close(&self) {
        join_all(self.inner.pools.iter().map(|pool| pool.close())).await;
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("servers", &self.inner.pools.len()).finish_non_exhaustive()
    }
}
