//! Work on large values: on separate threads, a few pieces at a time, and users in turn.
//!
//! The conversion or the check of some MiB takes longer than all other steps of a request together. On the threads of
//! connections it would delay everyone; on any number of threads it would take the processors of all others.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::available_parallelism;

use protomcp_fair::Owner;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The threads for the large values of a server: as many as the machine has processors, and at least two. One owner gets
/// half of them. Cloning is cheap, and clones share.
///
/// ```
/// use protomcp_server::{LargeWork, Owner};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let threads = LargeWork::default();
/// let sum = threads.worker(Owner::Local).run(|| (1..=1_000_u64).sum::<u64>()).await;
/// assert_eq!(sum, 500_500);
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct LargeWork(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    threads: Arc<Semaphore>,
    /// The most threads of one owner.
    each: usize,
    owners: Mutex<HashMap<Owner, Weak<Turns>>>,
}

/// The turns of one owner, for all its connections.
#[derive(Debug)]
struct Turns {
    pool: Arc<Inner>,
    owner: Owner,
    own: Arc<Semaphore>,
}

/// Does the work of one owner.
#[derive(Debug, Clone)]
pub struct Worker(Arc<Turns>);

/// The right to work on one large value, until it is dropped.
#[derive(Debug)]
pub struct Turn {
    _own: Option<OwnedSemaphorePermit>,
    _thread: Option<OwnedSemaphorePermit>,
}

impl Default for LargeWork {
    fn default() -> Self {
        let threads = available_parallelism().map_or(2, |count| count.get().max(2));
        let inner = Inner { threads: Arc::new(Semaphore::new(threads)), each: threads / 2, owners: Mutex::default() };
        Self(Arc::new(inner))
    }
}

impl LargeWork {
    /// The worker of this owner.
    #[must_use]
    pub fn worker(&self, owner: Owner) -> Worker {
        let mut owners = self.0.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turns) = owners.get(&owner).and_then(Weak::upgrade) {
            return Worker(turns);
        }
        let own = Arc::new(Semaphore::new(self.0.each));
        let turns = Arc::new(Turns { pool: Arc::clone(&self.0), owner: owner.clone(), own });
        owners.insert(owner, Arc::downgrade(&turns));
        Worker(turns)
    }
}

impl Worker {
    /// Works on a large value, when it is the turn of this owner. Dropping the future does not stop work that has begun,
    /// which keeps its turn.
    ///
    /// # Panics
    /// The errors of the work.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let turn = self.turn().await;
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        match done.await {
            Ok(outcome) => outcome,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime is shutting down, and drops this future too.
            Err(_) => std::future::pending().await,
        }
    }

    /// Waits for a turn. Owners take turns, because each waits for its own threads first.
    pub async fn turn(&self) -> Turn {
        let own = Arc::clone(&self.0.own).acquire_owned().await;
        let thread = Arc::clone(&self.0.pool.threads).acquire_owned().await;
        Turn { _own: own.ok(), _thread: thread.ok() }
    }
}

impl Drop for Turns {
    fn drop(&mut self) {
        let mut owners = self.pool.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(known) = owners.entry(self.owner.clone())
            && known.get().strong_count() == 0
        {
            known.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn owner(name: &str) -> Owner {
        Owner::Principal(name.into())
    }

    #[tokio::test]
    async fn one_owner_leaves_threads_for_others() {
        let pool = LargeWork::default();
        let (ann, also_ann, bob) = (pool.worker(owner("ann")), pool.worker(owner("ann")), pool.worker(owner("bob")));
        let mut turns = Vec::new();
        for _ in 0..pool.0.each {
            turns.push(ann.turn().now_or_never().expect("a thread is free"));
        }
        let mut waiting = Box::pin(also_ann.turn());
        assert!(waiting.as_mut().now_or_never().is_none(), "she has her threads");
        assert_eq!(bob.run(|| 5).await, 5);
        drop(turns.pop());
        waiting.await;
    }

    #[tokio::test]
    async fn owners_that_are_gone_are_forgotten() {
        let pool = LargeWork::default();
        let (first, second) = (pool.worker(owner("ann")), pool.worker(owner("bob")));
        assert_eq!(first.run(|| 7).await, 7);
        drop(first);
        drop(pool.worker(owner("bob")));
        assert_eq!(pool.0.owners.lock().unwrap().keys().collect::<Vec<_>>(), [&owner("bob")]);
        drop(second);
        assert!(pool.0.owners.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_panic_of_the_work_reaches_its_caller() {
        let worker = LargeWork::default().worker(Owner::Local);
        let work = worker.run(|| panic!("on purpose"));
        let caught = std::panic::AssertUnwindSafe(work).catch_unwind().await;
        assert!(caught.is_err_and(|payload| payload.downcast_ref() == Some(&"on purpose")));
    }
}
