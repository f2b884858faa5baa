//! Work on schemas and arguments that may take long: on separate threads, within a time.
//!
//! A thread cannot be stopped, so work that does not end keeps its permit: the permits are limited, and later work waits
//! for one within its own time. One server has few of them, and one of its schemas fewer.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::schemas::{SchemaError, Unresolved};

/// The most threads that evaluate rules concurrently.
const THREADS: usize = 8;

/// The part of the threads that one of several servers may use.
const PER_SERVER: usize = THREADS / 4;

/// The time, if none is set: the one of a check in JSON, which is enough on a busy machine.
const TIME: Duration = Duration::from_secs(10);

/// The time of each piece of work, and the permits for it.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    time: Duration,
    /// The permits of all servers.
    permits: Arc<Semaphore>,
    /// The permits of this server.
    own: Arc<Semaphore>,
    /// The permits of each of its schemas.
    per_schema: usize,
}

impl Default for Budget {
    fn default() -> Self {
        let (permits, own) = (Arc::new(Semaphore::new(THREADS)), Arc::new(Semaphore::new(THREADS)));
        Self { time: TIME, permits, own, per_schema: THREADS / 4 }
    }
}

impl Budget {
    pub(super) fn set_time(&mut self, time: Duration) {
        self.time = time;
    }

    /// The same time and permits, of which one more server may use its part.
    pub(super) fn for_server(&self) -> Self {
        Self { own: Arc::new(Semaphore::new(PER_SERVER)), per_schema: 1, ..self.clone() }
    }

    /// The same time, with permits for the work on one schema: a schema whose rules do not end must leave permits for
    /// the others.
    pub(super) fn share(&self) -> Share {
        Share { budget: self.clone(), permits: Arc::new(Semaphore::new(self.per_schema)) }
    }

    /// Does a piece of work.
    ///
    /// # Errors
    /// The error of the work, or −33000 if it does not end in time.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, SchemaError> + Send + 'static,
    ) -> Result<T, SchemaError> {
        let done = async {
            let own = Arc::clone(&self.own).acquire_owned().await;
            let permit = Arc::clone(&self.permits).acquire_owned().await;
            tokio::task::spawn_blocking(move || {
                let _permits = (own, permit);
                work()
            })
            .await
        };
        match tokio::time::timeout(self.time, done).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(unusable("the work on the schema failed".to_owned())),
            Err(_) => Err(unusable(format!("the work on the schema takes longer than {:?}", self.time))),
        }
    }
}

/// The part of a [`Budget`] for one schema.
#[derive(Debug)]
pub(super) struct Share {
    budget: Budget,
    permits: Arc<Semaphore>,
}

impl Share {
    /// Does a piece of work.
    ///
    /// # Errors
    /// See [`Budget::run`].
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, SchemaError> + Send + 'static,
    ) -> Result<T, SchemaError> {
        let permits = Arc::clone(&self.permits);
        match tokio::time::timeout(self.budget.time, permits.acquire_owned()).await {
            Ok(permit) => {
                let work = move || {
                    let _permit = permit;
                    work()
                };
                self.budget.run(work).await
            }
            Err(_) => Err(unusable(format!("the work on the schema takes longer than {:?}", self.budget.time))),
        }
    }
}

/// The failure of a schema that cannot be used.
pub(super) fn unusable(message: String) -> SchemaError {
    SchemaError::Unresolved { cause: Unresolved::InvalidSchema, message }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn work_that_does_not_end_takes_its_own_places_only() {
        let mut budget = Budget::default();
        budget.set_time(Duration::from_millis(50));
        let (hostile, other) = (budget.share(), budget.share());
        let (end, ended) = mpsc::channel::<()>();
        let ended = Arc::new(std::sync::Mutex::new(ended));
        for _ in 0..6 {
            let ended = Arc::clone(&ended);
            // It ends when the test drops its end of the channel.
            let stuck = hostile.run(move || Ok(ended.lock().is_ok_and(|ended| ended.recv().is_err()))).await;
            assert!(matches!(stuck, Err(SchemaError::Unresolved { cause: Unresolved::InvalidSchema, .. })));
        }
        assert_eq!(budget.permits.available_permits(), THREADS - 2);
        budget.set_time(TIME);
        assert_eq!(Share { budget, ..other }.run(|| Ok(5)).await.ok(), Some(5));
        drop(end);
    }

    #[tokio::test]
    async fn work_of_one_server_leaves_places_to_others() {
        let mut budget = Budget::default();
        budget.set_time(Duration::from_millis(50));
        let hostile = budget.for_server();
        let (end, ended) = mpsc::channel::<()>();
        let ended = Arc::new(std::sync::Mutex::new(ended));
        // Each schema has its own share, and lists do without.
        for _ in 0..4 {
            let schema = hostile.share();
            for _ in 0..2 {
                let ended = Arc::clone(&ended);
                let stuck = schema.run(move || Ok(ended.lock().is_ok_and(|ended| ended.recv().is_err()))).await;
                assert!(stuck.is_err());
            }
            assert!(hostile.run(|| Ok(())).await.is_err() || hostile.own.available_permits() > 0);
        }
        assert_eq!(budget.permits.available_permits(), THREADS - PER_SERVER);
        budget.set_time(TIME);
        assert_eq!(budget.for_server().share().run(|| Ok(5)).await.ok(), Some(5));
        drop(end);
    }

    #[tokio::test]
    async fn a_panic_is_a_failure() {
        let failed = Budget::default().run(|| -> Result<(), SchemaError> { panic!("on purpose") }).await;
        assert!(failed.is_err());
    }
}
