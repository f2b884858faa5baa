//! The two kinds of requests, by the message that carries their failure: a tool call has its own.

use std::collections::BTreeMap;
use std::time::Duration;

use protomcp_server::Limits;

use crate::code;
use crate::fault::Fault;
use crate::message::mcp_message::Payload;
use crate::message::{CallToolResponse, call_tool_response};
use crate::session::config::SessionLimits;
use crate::session::inbound::BinaryCall;

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    CallTool,
    Other,
}

impl RequestKind {
    pub(crate) fn of(call: &BinaryCall) -> Self {
        match call {
            BinaryCall::CallTool(_) => Self::CallTool,
            BinaryCall::ListTools(_)
            | BinaryCall::ListResources(_)
            | BinaryCall::ReadResource(_)
            | BinaryCall::ListPrompts(_)
            | BinaryCall::GetPrompt(_)
            | BinaryCall::Complete(_)
            | BinaryCall::ListTemplates(_)
            | BinaryCall::Subscribe(_)
            | BinaryCall::Unsubscribe(_) => Self::Other,
        }
    }

    /// The requests in flight at which another one of this kind is refused. Calls do not keep other requests out.
    pub(crate) fn max_in_flight(self, limits: &SessionLimits) -> usize {
        match self {
            Self::CallTool => limits.max_in_flight,
            Self::Other => limits.max_in_flight.saturating_add(Limits::CONTROL_ROOM),
        }
    }

    /// The payload with a failure of such a request.
    pub(crate) fn failure(self, fault: &Fault) -> Payload {
        match self {
            Self::CallTool => Payload::CallToolResponse(CallToolResponse {
                result: Some(call_tool_response::Result::Error(fault.to_error())),
                metadata: BTreeMap::new(),
            }),
            Self::Other => Payload::ErrorResponse(fault.to_response()),
        }
    }

    /// The failure of a request that was not answered within this time.
    pub(crate) fn late(self, time: Duration) -> Fault {
        let code = match self {
            Self::CallTool => code::TIMED_OUT,
            Self::Other => code::INTERNAL_ERROR,
        };
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Fault::new(code, format!("no answer within {millis} ms")).with("timeout_ms", millis)
    }
}

impl Payload {
    /// Notes the time that a tool call has taken.
    pub(crate) fn note_time(&mut self, taken: Duration) {
        if let Self::CallToolResponse(response) = self {
            response.metadata.insert(EXECUTION_TIME_MS.to_owned(), taken.as_millis().to_string());
        }
    }
}

/// The key of the time that a call has taken.
const EXECUTION_TIME_MS: &str = "execution_time_ms";
