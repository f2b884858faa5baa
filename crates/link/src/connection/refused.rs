//! Rejects frames: too large, with too many entries, or malformed.
//!
//! The sender may wait for an answer, and so may a local caller. Both get one if the frame identifies them, so that a
//! rejected frame ends only its own call or request.

use std::collections::HashMap;

use protomcp_codec::{DecodeError, TooLarge, TooLargeKind};
use protomcp_envelope::{
    ElicitationResponse, GetActiveToolsRequest, ListRootsResponse, ListToolsRequest, Msg, Pong,
    RegisterMiddlewareResponse, Rpc, SamplingResponse, ToolError,
};

use crate::connection::Connection;
use crate::error::CallError;
use crate::event::{Event, Notice, QuestionFields};
use crate::kind::{is_list_control, may_answer};

/// The number of rejected frames of each kind. The set of kinds is fixed.
#[derive(Debug, Default)]
pub(super) struct Refused(HashMap<&'static str, u64>);

impl Refused {
    /// Counts one more. Returns the number if it should be reported: 1, 10, 100 and so on.
    fn count(&mut self, message: &'static str) -> Option<u64> {
        let count = self.0.entry(message).or_default();
        *count += 1;
        let is_power = 10_u64.checked_pow(count.ilog10()) == Some(*count);
        is_power.then_some(*count)
    }
}

impl Connection {
    pub(super) fn handle_too_large(&mut self, frame: TooLarge) {
        let TooLarge { size, request_id, message, kind } = frame;
        let limit = match kind {
            TooLargeKind::Envelope => self.config.limits.max_frame as u64,
            TooLargeKind::Payload => self.config.limits.max_payload,
        };
        let reason = match kind {
            TooLargeKind::Envelope => format!("a {message} of {size} bytes is larger than the limit of {limit}"),
            TooLargeKind::Payload => format!("a payload of {size} bytes is larger than the limit of {limit}"),
        };
        self.refuse(
            request_id,
            message,
            reason,
            CallError::AnswerTooLarge { size, limit, is_of_frame: kind == TooLargeKind::Envelope },
        );
    }

    pub(super) fn handle_undecoded(&mut self, error: DecodeError) {
        let (id, message, reason) = (error.request_id().to_owned(), error.message(), error.to_string());
        let error = match error {
            DecodeError::TooManyEntries { message, limit, .. } => CallError::TooManyEntries { message, limit },
            other => CallError::Malformed(other),
        };
        self.refuse(id, message, reason, error);
    }

    fn refuse(&mut self, id: String, message: &'static str, reason: String, error: CallError) {
        let call = match message {
            "tool_list" => self.pending.find_named(&id, ListToolsRequest::NAME),
            _ if may_answer(message) => self.pending.find(&id),
            _ => None,
        };
        if let Some(call) = call {
            return self.answer(call, Err(error));
        }
        if let Some(count) = self.refused.count(message) {
            self.notice(Notice::Undecoded { reason: reason.clone(), count });
        }
        if message == "tool_list" {
            // Otherwise the call would wait for its timeout.
            if let Some(outcome) = self.handshake.list_refused(reason) {
                self.settle(outcome);
            }
        } else if is_list_control(message) {
            // The change is not applied. The process waits for the current list.
            let message = GetActiveToolsRequest {}.into();
            self.events.push_back(Event::Request {
                id,
                message,
                for_call: String::new(),
                question: QuestionFields::default(),
            });
        } else if let Some(answer) = refusal(message, &reason) {
            self.reply(&id, answer);
        }
    }
}

/// The answer to a refused request of the tool process, which may wait for one.
fn refusal(message: &str, reason: &str) -> Option<Msg> {
    let error = format!("the bridge refused the request: {reason}");
    Some(match message {
        "sampling_request" => SamplingResponse { error, ..Default::default() }.into(),
        "elicitation_request" => ElicitationResponse { error, ..Default::default() }.into(),
        "list_roots_request" => {
            let error = Some(ToolError { message: error, ..Default::default() });
            ListRootsResponse { error, ..Default::default() }.into()
        }
        "register_middleware" => RegisterMiddlewareResponse { success: false }.into(),
        "ping" => Pong {}.into(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_ten_of_refusals_are_reported() {
        let mut refused = Refused::default();
        let notified: Vec<_> = (0..2000).filter_map(|_| refused.count("log")).collect();
        assert_eq!(notified, [1, 10, 100, 1000]);
        assert_eq!(refused.count("tool_list"), Some(1));
        refused.0.insert("log", u64::MAX - 1);
        assert_eq!(refused.count("log"), None);
    }
}
