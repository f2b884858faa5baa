//! Carries saves to the machine of reloads, and its decisions to the sessions with the server.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use futures_util::future::{BoxFuture, join_all};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use protomcp_client::WeakClientSession;
use protomcp_types::Level;
use protomcp_watch::{Backend, Watch, Watcher};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::pool::succession::Successors;
use crate::pool::{self, Pool};
use crate::reach::now;
use crate::reload::{Effect, Failure, Generation, Input, Reloads, Report};

/// Watches, and sends a message for each batch of changes, until the receiver is gone. The first scan may take a while
/// in a large folder, so it happens on a blocking thread.
pub(crate) async fn watch(watch: Watch, changes: mpsc::Sender<()>) {
    let root = watch.root.display().to_string();
    let (watcher, mut batches) = match tokio::task::spawn_blocking(|| Watcher::spawn(watch)).await {
        Ok(Ok(watching)) => watching,
        Ok(Err(error)) => return tracing::error!("changes in {root} will not be noticed: {error}"),
        Err(error) => return tracing::error!("changes in {root} will not be noticed: {error}"),
    };
    match watcher.backend() {
        Backend::Poll { every, because: Some(why) } => {
            tracing::warn!("looking for changes in {root} every {every:?}: {why}");
        }
        _ => tracing::info!("watching {root}"),
    }
    while let Some(batch) = batches.recv().await {
        tracing::debug!(paths = ?batch.paths, "files changed");
        if changes.send(()).await.is_err() {
            return;
        }
    }
}

/// Reloads a server at each change, until the pool or the sender is gone.
pub(crate) async fn run(pool: Weak<Pool>, mut changes: mpsc::Receiver<()>) {
    let Some(mut driver) = Driver::new(&pool) else { return };
    loop {
        let deadline = driver.reloads.deadline();
        let input = tokio::select! {
            change = changes.recv() => match change {
                Some(()) => Input::Changed,
                None => return,
            },
            (generation, outcome) = started(&mut driver.starting) => match driver.outcome(generation, outcome) {
                Some(input) => input,
                None => return,
            },
            Some(generation) = driver.ends.next() => {
                driver.retired.remove(&generation);
                Input::Ended(generation)
            }
            () = sleep_until(deadline) => Input::Elapsed,
        };
        for effect in driver.reloads.handle(now(), input) {
            if driver.apply(effect).is_none() {
                return;
            }
        }
    }
}

type Preparing = BoxFuture<'static, Result<Successors, String>>;

/// The versions of one server.
struct Driver {
    pool: Weak<Pool>,
    reloads: Reloads,
    starting: Option<(Generation, Preparing)>,
    /// Connected, and about to serve.
    ready: Option<Successors>,
    /// The connections of earlier versions.
    retired: HashMap<Generation, Arc<[WeakClientSession]>>,
    ends: FuturesUnordered<BoxFuture<'static, Generation>>,
}

impl Driver {
    fn new(pool: &Weak<Pool>) -> Option<Self> {
        let limits = pool.upgrade()?.limits();
        Some(Self {
            pool: Weak::clone(pool),
            reloads: Reloads::new(limits.max_retiring, limits.timeout),
            starting: None,
            ready: None,
            retired: HashMap::new(),
            ends: FuturesUnordered::new(),
        })
    }

    /// The end of a start as an input; `None` if the pool is gone.
    fn outcome(&mut self, generation: Generation, outcome: Result<Successors, String>) -> Option<Input> {
        self.starting = None;
        Some(match outcome {
            Ok(successors) => {
                self.ready = Some(successors);
                Input::Ready(generation)
            }
            Err(why) => Input::Failed(generation, Failure { why, has_fallback: self.pool.upgrade()?.is_up() }),
        })
    }

    /// Applies an effect; `None` if the pool is gone.
    fn apply(&mut self, effect: Effect) -> Option<()> {
        let pool = self.pool.upgrade()?;
        match effect {
            Effect::Start(generation) => self.starting = Some((generation, pool.prepare().boxed())),
            // Dropping the attempt stops its processes.
            Effect::GiveUp(_) => self.starting = None,
            Effect::Switch { from, .. } => {
                if let Some(successors) = self.ready.take() {
                    let connections: Arc<[_]> = pool.replace(successors).into();
                    self.retired.insert(from, Arc::clone(&connections));
                    self.ends.push(ended(from, connections).boxed());
                }
            }
            Effect::Abort(generation) => {
                let connections = self.retired.get(&generation).cloned().unwrap_or_default();
                tokio::spawn(async move { join_all(connections.iter().map(pool::end)).await });
            }
            Effect::Report(report) => tell(&pool, &report),
        }
        Some(())
    }
}

fn tell(pool: &Pool, report: &Report) {
    let level = if report.is_failure() { Level::Error } else { Level::Info };
    pool.report(&report.to_string(), &report.for_clients(), level);
}

async fn ended(generation: Generation, connections: Arc<[WeakClientSession]>) -> Generation {
    join_all(connections.iter().map(WeakClientSession::closed)).await;
    generation
}

/// Waits for the end of a start; never resolves if nothing starts.
async fn started(starting: &mut Option<(Generation, Preparing)>) -> (Generation, Result<Successors, String>) {
    match starting {
        Some((generation, preparing)) => (*generation, preparing.await),
        None => std::future::pending().await,
    }
}

async fn sleep_until(deadline: Option<std::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(Instant::from_std(deadline)).await,
        None => std::future::pending().await,
    }
}
