//! The first request: the version of the conversation, and what both sides can do.

use std::sync::Arc;

use crate::code;
use crate::fault::Fault;
use crate::message::{
    InitializeRequest, InitializeResponse, McpMessage, Payload, ResourceCapabilities, ServerCapabilities,
    ToolCapabilities,
};
use crate::session::agreement::Agreement;
use crate::session::config::Changes;
use crate::session::inbound::BinaryInbound;
use crate::session::{AUTHORIZATION, BinarySession};

impl BinarySession {
    pub(super) fn initialize(
        &mut self,
        mut request: InitializeRequest,
    ) -> Result<(Agreement, InitializeResponse), Fault> {
        if self.agreement.is_some() {
            return Err(Fault::new(code::INVALID_REQUEST, "the conversation is initialized already"));
        }
        let version = self.config.versions.negotiate(&request.protocol_version)?;
        let client = request.capabilities.unwrap_or_default();
        if !client.encodings.is_empty() && !client.encodings.iter().any(|encoding| encoding == ENCODING) {
            let fault = Fault::new(code::INVALID_PARAMS, "no common encoding; the server has \"protobuf\"");
            return Err(fault.with("reason", "no_common_encoding").with("supported", vec![ENCODING.to_owned()]));
        }
        let token = request.metadata.remove(AUTHORIZATION);
        self.authenticate(token.as_deref())?;
        let features = self.config.features;
        let agreement = Agreement {
            version,
            client_resolves_refs: client.supports_bsr_refs,
            bsr_refs: client.supports_bsr_refs && features.bsr_refs,
            notifications: client.experimental.get(NOTIFICATIONS).copied().unwrap_or_default(),
            metadata: request.metadata,
        };
        let announced = |changes: Changes| changes == Changes::Announced && agreement.notifications;
        let capabilities = ServerCapabilities {
            supports_bsr_refs: agreement.bsr_refs,
            // Neither streams nor prompts have messages in version 1.0.
            supports_streaming: false,
            tools: features.tools.map(|tools| ToolCapabilities { supports_list_changed: announced(tools) }),
            resources: features.resources.map(|resources| ResourceCapabilities {
                supports_subscribe: false,
                supports_list_changed: announced(resources),
            }),
            prompts: None,
        };
        let response = InitializeResponse {
            protocol_version: agreement.version.to_string(),
            capabilities: Some(capabilities),
            metadata: self.config.metadata.clone(),
        };
        Ok((agreement, response))
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

/// The encoding of all messages here.
const ENCODING: &str = "protobuf";

/// The extension with `ListChanged`.
const NOTIFICATIONS: &str = "notifications";
