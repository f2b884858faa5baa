//! The number of requests that listen to each resource.
//!
//! A server notifies its service of the first request that listens to a resource, and of the end of the last. A
//! [`ListenerStore`] counts them; [`MemoryListeners`], the default, counts the listeners of one process.

use std::collections::HashMap;
use std::fmt;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::records::store_future::StoreFuture;

/// Counts the requests that listen to each resource.
///
/// Processes share one if their services subscribe at the same place for all of them: then one process subscribes for
/// the clients of all, and the updates reach the others through the
/// [`NoticeBus`](crate::NoticeBus). Services that notice changes by themselves, each in its process, keep
/// the local default. A shared store forgets the counts of a process that has died.
///
/// Each method is one step: no other caller of the store sees or changes the count in between.
pub trait ListenerStore: fmt::Debug + Send + Sync + 'static {
    /// Counts one more request if others listen to this resource. Returns false, and counts none, if no other does.
    fn join<'a>(&'a self, uri: &'a str) -> StoreFuture<'a, bool>;

    /// Counts one more request.
    fn add<'a>(&'a self, uri: &'a str) -> StoreFuture<'a, ()>;

    /// Counts one request less. Returns true if it was the last.
    fn remove<'a>(&'a self, uri: &'a str) -> StoreFuture<'a, bool>;

    /// True if requests listen to this resource.
    fn contains<'a>(&'a self, uri: &'a str) -> StoreFuture<'a, bool>;
}

/// Counts in memory. The number of resources is bounded by the requests that listen.
#[derive(Debug, Default)]
pub struct MemoryListeners(Mutex<HashMap<Arc<str>, usize>>);

impl MemoryListeners {
    fn counts(&self) -> MutexGuard<'_, HashMap<Arc<str>, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_one(&self, uri: &str) -> bool {
        let mut counts = self.counts();
        let Some(count) = counts.get_mut(uri) else { return false };
        *count -= 1;
        let is_last = *count == 0;
        if is_last {
            counts.remove(uri);
        }
        is_last
    }
}

impl ListenerStore for MemoryListeners {
    fn join<'a>(&'a self, uri: &'a str) -> StoreFuture<'a, bool> {
        let has_joined = self.counts().get_mut(uri).map(|count| *count += 1).is_some();
        Box::pin(ready(has_joined))
    }

    fn add<'a>(&'a self, uri: &'a str) -> StoreFuture<'a, ()> {
        *self.counts().entry(uri.into()).or_default() += 1;
        Box::pin(ready(()))
    }

    fn remove<'a>(&'a self, uri: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(ready(self.take_one(uri)))
    }

    fn contains<'a>(&'a self, uri: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(ready(self.counts().contains_key(uri)))
    }
}
