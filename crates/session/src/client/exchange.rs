//! Requests on the wire that are owed an answer.

use std::borrow::Cow;
use std::collections::HashMap;

use protomcp_types::{Params, RequestId};

use crate::outgoing::CallId;

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// `server/discover` or `initialize`
    Open,
    /// `ping`
    Ping,
    /// `subscriptions/listen`
    Listen,
    /// The request of a call.
    Call(CallId),
    /// `tasks/get` for the task of a call.
    TaskState(CallId),
    /// `tasks/result` for the task of a call.
    TaskResult(CallId),
    /// `tasks/update` for the task of a call.
    TaskUpdate(CallId),
}

impl Purpose {
    /// The call that it belongs to.
    pub(super) fn call(self) -> Option<CallId> {
        match self {
            Self::Call(id) | Self::TaskState(id) | Self::TaskResult(id) | Self::TaskUpdate(id) => Some(id),
            Self::Open | Self::Ping | Self::Listen => None,
        }
    }
}

/// A request that is about to be sent.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) purpose: Purpose,
    pub(super) method: Cow<'static, str>,
    pub(super) params: Params,
    pub(super) fields: Vec<(String, String)>,
    pub(super) wants_progress: bool,
}

impl Draft {
    pub(super) fn new(purpose: Purpose, method: impl Into<Cow<'static, str>>, params: Params) -> Self {
        Self { purpose, method: method.into(), params, fields: Vec::new(), wants_progress: false }
    }
}

/// The requests without an answer. Ids count from 1 and are never used twice.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    open: HashMap<u64, Purpose>,
    last: u64,
}

impl Exchanges {
    pub(super) fn begin(&mut self, purpose: Purpose) -> u64 {
        self.last += 1;
        self.open.insert(self.last, purpose);
        self.last
    }

    /// The exchange that is answered by a response with this id. A response without one belongs to the only exchange.
    pub(super) fn answered(&mut self, id: Option<&RequestId>) -> Option<(u64, Purpose)> {
        let number = match id {
            Some(id) => u64::try_from(id.as_integer()?).ok()?,
            None if self.open.len() == 1 => *self.open.keys().next()?,
            None => return None,
        };
        self.open.remove(&number).map(|purpose| (number, purpose))
    }

    pub(super) fn purpose(&self, id: &RequestId) -> Option<(u64, Purpose)> {
        let number = u64::try_from(id.as_integer()?).ok()?;
        self.open.get(&number).map(|purpose| (number, *purpose))
    }

    /// Forgets all of them. Ids go on, so that a late answer belongs to none.
    pub(super) fn clear(&mut self) {
        self.open.clear();
    }

    /// True if the exchange had no answer.
    pub(super) fn forget(&mut self, number: u64) -> bool {
        self.open.remove(&number).is_some()
    }
}
