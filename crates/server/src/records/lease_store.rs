//! The holders of the sessions that several processes can serve.
//!
//! A session of MCP may outlive the process that opened it, if another one takes it over. A [`LeaseStore`] keeps two
//! processes from serving one session: a process has a lease, which it renews, and a session has a holder. When the
//! lease of the holder has run out, the session is free. [`MemoryLeases`] is a store for servers of one process, and
//! for tests.

use std::fmt;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::records::claim::{Claim, FencingToken};
use crate::records::clock::now;
use crate::records::lease_name::LeaseName;
use crate::records::lease_table::LeaseTable;
use crate::records::session_snapshot::SessionSnapshot;
use crate::records::store_error::StoreError;
use crate::records::store_future::StoreFuture;

/// The answer of a store that may be out of reach.
pub type StoreAnswer<'a, T> = StoreFuture<'a, Result<T, StoreError>>;

/// Knows the leases of processes, and the holder of each session.
///
/// Each method is one step: no other caller of the store sees or changes the session or the lease in between. A method
/// without an answer may have had its effect, and is called again: a repetition grants a session with a new token. A
/// process claims only sessions that it does not serve, one claim of a session at a time, and ignores the answer if it
/// does not hold its [lease](crate::Lease) when the answer arrives.
///
/// A lease that [`LeaseStore::renew`] has not renewed in time is over for good: its process registers again, with another
/// name.
pub trait LeaseStore: fmt::Debug + Send + Sync + 'static {
    /// Grants a lease of this time, a year at most, under a new name. Returns false if the name has been used, or if
    /// the store has no room for another lease.
    fn register<'a>(&'a self, lease: &'a LeaseName, ttl: Duration) -> StoreAnswer<'a, bool>;

    /// Renews a lease, for this time from now on, a year at most. Returns false if it has run out.
    fn renew<'a>(&'a self, lease: &'a LeaseName, ttl: Duration) -> StoreAnswer<'a, bool>;

    /// The other processes reach the process with this lease at this URL, which replaces an earlier one. Its path comes before
    /// the path of each request: a server at `/mcp` of a host has the URL of the host. Returns false if
    /// the lease has run out. The store should not show the URL to those who can read it.
    fn announce<'a>(&'a self, lease: &'a LeaseName, address: &'a str) -> StoreAnswer<'a, bool>;

    /// The URL of the process with this lease; `None`: it has announced none, or the lease has run out.
    fn address<'a>(&'a self, lease: &'a LeaseName) -> StoreAnswer<'a, Option<Arc<str>>>;

    /// Ends a lease, which frees the sessions of its process.
    fn resign<'a>(&'a self, lease: &'a LeaseName) -> StoreAnswer<'a, ()>;

    /// The leases that run: the processes that serve.
    fn live(&self) -> StoreAnswer<'_, Vec<LeaseName>>;

    /// A process has opened a session: it is the first holder. The key of the session is a secret, which the store must
    /// not show to those who can read it.
    fn open<'a>(&'a self, session: &'a str, lease: &'a LeaseName) -> StoreAnswer<'a, Claim>;

    /// A process with a lease that runs wants to serve a session: it becomes the holder if the session is free.
    fn claim<'a>(&'a self, session: &'a str, lease: &'a LeaseName) -> StoreAnswer<'a, Claim>;

    /// The holder keeps the state of a session for the process that takes it over. The state replaces an earlier one, and
    /// is a secret of the session's user. Returns false if this token is not the latest one.
    fn save<'a>(
        &'a self,
        session: &'a str,
        token: FencingToken,
        snapshot: &'a SessionSnapshot,
    ) -> StoreAnswer<'a, bool>;

    /// The holder frees a session. Returns false if this token is not the latest one.
    fn release<'a>(&'a self, session: &'a str, token: FencingToken) -> StoreAnswer<'a, bool>;

    /// The session has ended, and is forgotten. Returns false if this token is not the latest one.
    fn close<'a>(&'a self, session: &'a str, token: FencingToken) -> StoreAnswer<'a, bool>;
}

/// 1,024 leases and a number of sessions in memory.
#[derive(Debug)]
pub struct MemoryLeases(Mutex<LeaseTable>);

impl MemoryLeases {
    /// For `max_sessions` sessions. One without a holder is kept for the time `keep`, a year at most.
    #[must_use]
    pub fn new(max_sessions: usize, keep: Duration) -> Self {
        Self(Mutex::new(LeaseTable::new(max_sessions, keep)))
    }

    fn table(&self) -> MutexGuard<'_, LeaseTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LeaseStore for MemoryLeases {
    fn register<'a>(&'a self, lease: &'a LeaseName, ttl: Duration) -> StoreAnswer<'a, bool> {
        answer(self.table().register(lease, ttl, now()))
    }

    fn renew<'a>(&'a self, lease: &'a LeaseName, ttl: Duration) -> StoreAnswer<'a, bool> {
        answer(self.table().renew(lease, ttl, now()))
    }

    fn announce<'a>(&'a self, lease: &'a LeaseName, address: &'a str) -> StoreAnswer<'a, bool> {
        answer(self.table().announce(lease, address, now()))
    }

    fn address<'a>(&'a self, lease: &'a LeaseName) -> StoreAnswer<'a, Option<Arc<str>>> {
        answer(self.table().address(lease, now()))
    }

    fn resign<'a>(&'a self, lease: &'a LeaseName) -> StoreAnswer<'a, ()> {
        self.table().resign(lease, now());
        answer(())
    }

    fn live(&self) -> StoreAnswer<'_, Vec<LeaseName>> {
        answer(self.table().live(now()))
    }

    fn open<'a>(&'a self, session: &'a str, lease: &'a LeaseName) -> StoreAnswer<'a, Claim> {
        answer(self.table().open(session, lease, now()))
    }

    fn claim<'a>(&'a self, session: &'a str, lease: &'a LeaseName) -> StoreAnswer<'a, Claim> {
        answer(self.table().claim(session, lease, now()))
    }

    fn save<'a>(
        &'a self,
        session: &'a str,
        token: FencingToken,
        snapshot: &'a SessionSnapshot,
    ) -> StoreAnswer<'a, bool> {
        answer(self.table().save(session, token, snapshot))
    }

    fn release<'a>(&'a self, session: &'a str, token: FencingToken) -> StoreAnswer<'a, bool> {
        answer(self.table().release(session, token, now()))
    }

    fn close<'a>(&'a self, session: &'a str, token: FencingToken) -> StoreAnswer<'a, bool> {
        answer(self.table().close(session, token))
    }
}

fn answer<'a, T: Send + 'a>(value: T) -> StoreAnswer<'a, T> {
    Box::pin(ready(Ok(value)))
}
