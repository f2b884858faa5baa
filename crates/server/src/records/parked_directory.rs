//! The processes that hold parked calls.
//!
//! A parked call is a future, which cannot leave its process. A [`ParkedDirectory`] knows the process of each call, so
//! that a request that reaches another process can be sent to it. [`LocalParked`], the default, is for a server of one
//! process.

use std::fmt;
use std::future::ready;
use std::time::Duration;

use crate::records::node::NodeId;
use crate::records::store_future::StoreFuture;

/// A call that waits for answers of its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedRecord {
    /// Its number, which cannot be guessed.
    pub number: u128,
    /// The process that holds it.
    pub node: NodeId,
    /// The time for which it waits at most.
    pub ttl: Duration,
}

/// Knows the process that holds each parked call.
///
/// A call is resumed once: the process that holds it decides, and a directory that is late only has a client sent to a
/// process that refuses its request. `insert` and `remove` are called while clients are served and must not block: a
/// directory in another process needs a queue. A directory that processes share forgets a call when its time is up,
/// because its process may have died.
pub trait ParkedDirectory: fmt::Debug + Send + Sync + 'static {
    /// A call was parked in this process.
    fn insert(&self, call: &ParkedRecord);

    /// A call of this process was resumed or cancelled.
    fn remove(&self, number: u128);

    /// The process that holds a call. Asked only about calls that this process does not hold.
    fn find(&self, number: u128) -> StoreFuture<'_, Option<NodeId>>;
}

/// The directory of a server that shares its parked calls with no other process.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalParked;

impl ParkedDirectory for LocalParked {
    fn insert(&self, _: &ParkedRecord) {}

    fn remove(&self, _: u128) {}

    fn find(&self, _: u128) -> StoreFuture<'_, Option<NodeId>> {
        Box::pin(ready(None))
    }
}
