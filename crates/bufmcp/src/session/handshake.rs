//! The first request: the version of the conversation, and what both sides can do.

use std::sync::Arc;

use crate::code;
use crate::fault::Fault;
use crate::message::mcp_message::Payload;
use crate::message::{InitializeRequest, InitializeResponse, McpMessage};
use crate::session::BinarySession;
use crate::session::admission::agree;
use crate::session::agreement::Agreement;
use crate::session::inbound::BinaryInbound;

impl BinarySession {
    pub(super) fn initialize(&mut self, request: InitializeRequest) -> Result<(Agreement, InitializeResponse), Fault> {
        if self.agreement.is_some() {
            return Err(Fault::new(code::INVALID_REQUEST, "the conversation is initialized already"));
        }
        agree(&self.config, &mut self.principal, request)
    }

    pub(super) fn initialized(
        &mut self,
        id: u64,
        outcome: Result<(Agreement, InitializeResponse), Fault>,
    ) -> Option<BinaryInbound> {
        let outcome = if self.in_flight.contains(id) {
            Err(Fault::new(code::INVALID_REQUEST, format!("request {id} has not been answered yet")))
        } else {
            outcome
        };
        match outcome {
            Ok((agreement, response)) => {
                let sent = self.send(&McpMessage { id, payload: Some(Payload::InitializeResponse(response)) });
                if let Err(error) = sent {
                    self.refuse(id, &Fault::new(code::TOO_LARGE, error.to_string()));
                    return None;
                }
                let agreement = Arc::new(agreement);
                self.agreement = Some(Arc::clone(&agreement));
                Some(BinaryInbound::Initialized(agreement))
            }
            Err(fault) => {
                self.refuse(id, &fault);
                None
            }
        }
    }
}
