//! The reachability of one server, for all sessions with it: pauses between attempts, and one attempt at a time while it
//! is down.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use protomcp_client::RequestError;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::time::Instant;

use crate::failure::{Failure, Why};
use crate::health::{Cause, Health, Outage};
use crate::upstream::Upstream;

/// The longest pause that a request waits for. During a longer one it fails immediately.
const WAIT_LIMIT: Duration = Duration::from_secs(1);

/// The same for a server whose files are watched: its author is at work on it, so requests wait for any pause.
const WAIT_LIMIT_WITH_AUTHOR: Duration = Duration::from_secs(10);

/// A server, and its failures.
#[derive(Debug)]
pub(crate) struct Reach {
    pub(crate) upstream: Upstream,
    /// Its place among the servers of the gateway.
    pub(crate) place: usize,
    health: Mutex<Health>,
    attempts: Semaphore,
    /// Wakes the task that waits for outages.
    outages: Notify,
    /// A request did not reach the server. That may be due to the request.
    is_in_doubt: AtomicBool,
}

impl Reach {
    pub(crate) fn new(upstream: Upstream, place: usize) -> Self {
        Self {
            upstream,
            place,
            health: Mutex::default(),
            attempts: Semaphore::new(1),
            outages: Notify::new(),
            is_in_doubt: AtomicBool::new(false),
        }
    }

    pub(crate) fn failure(&self, why: Why) -> Failure {
        Failure { server: self.upstream.shared_name(), why }
    }

    /// Waits until an attempt may begin. The permit makes it the only one while the server is down.
    ///
    /// # Errors
    /// If the next attempt is too far away.
    pub(crate) async fn admit(&self) -> Result<Option<SemaphorePermit<'_>>, Failure> {
        loop {
            self.wait(|| self.health().blocked(now()).cloned()).await?;
            if self.health().outage().is_none() {
                return Ok(None);
            }
            let permit = self.attempts.acquire().await.map_err(|_| self.failure(Why::Gone))?;
            // Another attempt may have failed in between.
            if self.health().blocked(now()).is_none() {
                return Ok(Some(permit));
            }
        }
    }

    /// Waits for the end of a pause.
    ///
    /// # Errors
    /// If that takes too long.
    pub(crate) async fn wait(&self, blocked: impl Fn() -> Option<Outage>) -> Result<(), Failure> {
        while let Some(Outage { cause, retry_at }) = blocked() {
            let retry_in = retry_at.saturating_duration_since(now());
            let limit = if self.upstream.watches().is_empty() { WAIT_LIMIT } else { WAIT_LIMIT_WITH_AUTHOR };
            if retry_in > limit {
                return Err(self.failure(Why::Down { cause, retry_in }));
            }
            tokio::time::sleep(retry_in).await;
        }
        Ok(())
    }

    /// True if the server is down and the next attempt is not due.
    pub(crate) fn is_blocked(&self) -> bool {
        self.health().blocked(now()).is_some()
    }

    /// The time of the next attempt, if the server is down.
    pub(crate) fn retry_at(&self) -> Option<std::time::Instant> {
        self.health().outage().map(|outage| outage.retry_at)
    }

    /// The server cannot be reached.
    pub(crate) fn failed(&self, cause: impl Into<Cause>) -> Failure {
        let cause = cause.into();
        let outage = {
            let mut health = self.health();
            let was_up = health.outage().is_none();
            health.failed(now(), cause.clone());
            if was_up {
                tracing::warn!(server = self.upstream.name(), cause = %cause.logged, "a server is down");
            } else {
                tracing::debug!(server = self.upstream.name(), cause = %cause.logged, "a server is still down");
            }
            health.outage().map(|outage| outage.retry_at.saturating_duration_since(now()))
        };
        self.outages.notify_one();
        self.failure(Why::Down { cause, retry_in: outage.unwrap_or_default() })
    }

    /// The server has answered. True if this ends an outage.
    pub(crate) fn works(&self) -> bool {
        let is_back = self.health().works(now());
        if is_back {
            tracing::info!(server = self.upstream.name(), "a server is back");
        }
        is_back
    }

    /// True if the outcome of a request ends an outage. A request that did not reach the server makes it doubtful.
    pub(crate) fn learn<T>(&self, outcome: &Result<T, RequestError>) -> bool {
        use protomcp_client::NoAnswer::{Connection, NotSent};
        match outcome {
            Ok(_) | Err(RequestError::Refused(_)) => self.works(),
            Err(RequestError::Unanswered { why: NotSent | Connection, .. }) => {
                self.is_in_doubt.store(true, Ordering::Release);
                self.outages.notify_one();
                false
            }
            Err(_) => false,
        }
    }

    /// Waits until the server is down, and then until the next attempt is due, or until a request has not reached it.
    pub(crate) async fn next_attempt(&self) {
        loop {
            if self.is_in_doubt.swap(false, Ordering::AcqRel) && !self.is_blocked() {
                return;
            }
            let notified = self.outages.notified();
            let outage = self.health().outage().cloned();
            match outage {
                Some(outage) => {
                    tokio::time::sleep_until(Instant::from_std(outage.retry_at)).await;
                    if self.health().outage().is_some() && !self.is_blocked() {
                        return;
                    }
                }
                None => notified.await,
            }
        }
    }

    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time of the runtime, which tests can stop.
pub(crate) fn now() -> std::time::Instant {
    Instant::now().into_std()
}
