//! Requests that wait for the end of a handshake.
//!
//! They are encoded immediately, so that their size counts and a request that is too large fails immediately.

use std::collections::VecDeque;

use crate::id::CallId;
use crate::pending::Request;

/// One request that has not been written.
#[derive(Debug)]
pub(crate) struct DeferredCall {
    pub(crate) call: CallId,
    /// Its timeout begins when the request is written.
    pub(crate) request: Request,
    pub(crate) frame: Vec<u8>,
}

/// First in, first out.
#[derive(Debug, Default)]
pub(crate) struct DeferredCalls {
    calls: VecDeque<DeferredCall>,
    bytes: usize,
}

impl DeferredCalls {
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    /// The total size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn push(&mut self, deferred: DeferredCall) {
        self.bytes += deferred.frame.len();
        self.calls.push_back(deferred);
    }

    pub(crate) fn pop(&mut self) -> Option<DeferredCall> {
        let deferred = self.calls.pop_front()?;
        self.bytes -= deferred.frame.len();
        Some(deferred)
    }

    pub(crate) fn remove(&mut self, call: CallId) -> Option<DeferredCall> {
        let at = self.calls.iter().position(|deferred| deferred.call == call)?;
        let deferred = self.calls.remove(at)?;
        self.bytes -= deferred.frame.len();
        Some(deferred)
    }
}
