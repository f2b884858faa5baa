//! The requests to the client that have no answer yet.

use std::collections::HashSet;

use protomcp_types::{JsonObject, Message, RawJson, RequestId, method};

/// Identifies a request to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(u64);

impl CallId {
    /// The call with this number, for callers that count their calls themselves.
    #[must_use]
    pub fn new(number: u64) -> Self {
        Self(number)
    }
}

/// The ids for each holder of a session, and the holders after which they begin anew. JSON numbers are exact up to 2^53.
const IDS: u64 = 1 << 32;
const HOLDERS: u64 = 1 << 20;

/// The open requests. The first holder of a session counts their ids from 1; the client's ids
/// are another space.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    open: HashSet<u64>,
    last: u64,
}

impl Outgoing {
    /// For the holder of a session with this number, from 1. Its ids differ from the ones of the holders before.
    pub(crate) fn of_holder(number: u64) -> Self {
        Self { last: number.saturating_sub(1) % HOLDERS * IDS, ..Self::default() }
    }

    pub(crate) fn ask(&mut self) -> (CallId, RequestId) {
        self.last += 1;
        self.open.insert(self.last);
        (CallId(self.last), RequestId::from(self.last))
    }

    pub(crate) fn answered(&mut self, id: &RequestId) -> Option<CallId> {
        let number = u64::try_from(id.as_integer()?).ok()?;
        self.open.remove(&number).then_some(CallId(number))
    }

    /// Cancels a request to the client (MCP 2025-11-25, basic/utilities/cancellation).
    pub(crate) fn abandon(&mut self, call: CallId) -> Option<Message> {
        let id = RawJson::of(&call.0).ok()?;
        let notice = || Message::notification(method::CANCELLED, JsonObject::new().with("requestId", id).into());
        self.open.remove(&call.0).then(notice)
    }
}
