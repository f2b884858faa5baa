//! Requests that wait for the end of a handshake.
//!
//! They are encoded at once, so that their size is known and counted, and a request that is too large fails at once.

use std::collections::VecDeque;
use std::time::Duration;

use crate::id::CallId;

/// One request that has not been written.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) call: CallId,
    /// The kind of request.
    pub(crate) name: &'static str,
    /// Someone wants to hear of its progress.
    pub(crate) reports: bool,
    /// The time it will be given once it is written.
    pub(crate) patience: Duration,
    pub(crate) frame: Vec<u8>,
}

/// They leave in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct HeldCalls {
    calls: VecDeque<Held>,
    bytes: usize,
}

impl HeldCalls {
    pub(crate) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Bytes of all of them.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn push(&mut self, held: Held) {
        self.bytes += held.frame.len();
        self.calls.push_back(held);
    }

    pub(crate) fn pop(&mut self) -> Option<Held> {
        let held = self.calls.pop_front()?;
        self.bytes -= held.frame.len();
        Some(held)
    }

    pub(crate) fn remove(&mut self, call: CallId) -> Option<Held> {
        let at = self.calls.iter().position(|held| held.call == call)?;
        let held = self.calls.remove(at)?;
        self.bytes -= held.frame.len();
        Some(held)
    }
}
