//! Requests of the server that the client owes an answer.

use std::collections::BTreeMap;

use protomcp_types::RequestId;

use crate::pending::{Era, OnSuccess, Pending, RequestKey};

/// The open requests of a server, bounded in number and in bytes.
#[derive(Debug)]
pub(super) struct AskedRequests {
    open: Pending,
    /// The bytes of each, by its number.
    weights: BTreeMap<u64, usize>,
    max_bytes: usize,
}

impl AskedRequests {
    pub(super) fn new(max: usize, max_bytes: usize) -> Self {
        Self { open: Pending::new(max), weights: BTreeMap::new(), max_bytes }
    }

    pub(super) fn has(&self, id: &RequestId) -> bool {
        self.open.has(id)
    }

    /// Takes a request in; gives the id back if there is no room.
    pub(super) fn open(&mut self, id: RequestId, weight: usize) -> Result<RequestKey, RequestId> {
        let taken: usize = self.weights.values().sum();
        if taken.saturating_add(weight) > self.max_bytes {
            return Err(id);
        }
        let key = self.open.open(id, OnSuccess::Nothing, Era::Stateful)?;
        self.weights.insert(key.number, weight);
        Ok(key)
    }

    /// True if the request was open.
    pub(super) fn close(&mut self, key: &RequestKey) -> bool {
        self.weights.remove(&key.number);
        self.open.close(key).is_some()
    }

    pub(super) fn cancel(&mut self, id: &RequestId) -> Option<RequestKey> {
        let (key, _) = self.open.cancel(id)?;
        self.weights.remove(&key.number);
        Some(key)
    }

    /// Forgets all of them.
    pub(super) fn drain(&mut self) -> Vec<RequestKey> {
        let open: Vec<_> = self.open.iter().collect();
        for key in &open {
            self.close(key);
        }
        open
    }
}
