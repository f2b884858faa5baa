//! Messages that wait for the check of their token, and the rights of those that have passed it.

use std::collections::BTreeMap;
use std::mem;
use std::time::Instant;

use protomcp_session::Extensions;

use crate::authorization::Authorization;
use crate::code;
use crate::fault::Fault;
use crate::message::McpMessage;
use crate::message::mcp_message::Payload;
use crate::session::BinarySession;
use crate::session::admission::AUTHORIZATION;
use crate::session::config::SessionConfig;
use crate::session::inbound::{BinaryCall, BinaryInbound};
use crate::session::request_kind::RequestKind;
use crate::session::token_verifier::Grant;

impl BinarySession {
    /// Continues with the message that waits for this outcome of [`BinaryInbound::Verify`]. Without effect if none waits,
    /// because the conversation is over for example.
    pub fn verified(&mut self, now: Instant, outcome: Result<Grant, Fault>) -> Option<BinaryInbound> {
        let message = self.waiting.take()?;
        let accepted = outcome.and_then(|grant| self.accept(now, grant));
        let inbound = match accepted {
            Ok(grant) => self.proceed(now, message, Some(&grant)),
            Err(fault) => {
                self.fail_waiting(&message, &fault);
                None
            }
        };
        self.settle();
        inbound
    }

    /// Notes the rights of a verified token. It holds for its request, and from then on for those without one, unless there
    /// is an earlier one that has not expired.
    fn accept(&mut self, now: Instant, grant: Grant) -> Result<Grant, Fault> {
        match &self.principal {
            Some(other) if *other != grant.principal => {
                return Err(Fault::new(code::PERMISSION_DENIED, "the connection belongs to another principal"));
            }
            _ => self.principal = Some(grant.principal.clone()),
        }
        if self.grant.as_ref().is_none_or(|earlier| is_over(earlier, now)) {
            self.grant = Some(grant.clone());
        }
        Ok(grant)
    }

    /// The facts about the bearer of the token that holds for a request without an answer; `None`: there is no verified
    /// one.
    #[must_use]
    pub fn known(&self, request: u64) -> Option<&Extensions> {
        self.in_flight.get(request)?.known.as_ref()
    }

    /// Checks that the token of a request permits it; for a request without one, the token of the conversation.
    pub(super) fn permit(&self, now: Instant, own: Option<&Grant>, call: &BinaryCall) -> Result<(), Fault> {
        let Some(grant) = own.or(self.grant.as_ref()) else { return Ok(()) };
        if is_over(grant, now) {
            return Err(Fault::new(code::UNAUTHENTICATED, "the token has expired"));
        }
        grant.permission.as_ref().map_or(Ok(()), |permission| permission.check(call))
    }

    /// Answers the waiting message, whose time is over.
    pub(super) fn give_up_waiting(&mut self, fault: &Fault) {
        if let Some(message) = self.waiting.take() {
            self.fail_waiting(&message, fault);
        }
    }

    fn fail_waiting(&mut self, message: &McpMessage, fault: &Fault) {
        let kind = match message.payload {
            Some(Payload::CallToolRequest(_)) => RequestKind::CallTool,
            _ => RequestKind::Other,
        };
        self.fail(message.id, kind, fault);
    }
}

fn is_over(grant: &Grant, now: Instant) -> bool {
    grant.valid_until.is_some_and(|end| end <= now)
}

/// Removes the token of a message, if it is one for the verifier. Several tokens are left for the error about them.
pub(super) fn unverified(config: &SessionConfig, message: &mut McpMessage) -> Option<Authorization> {
    config.verifier.as_ref()?;
    let metadata: &mut BTreeMap<String, String> = match message.payload.as_mut()? {
        Payload::InitializeRequest(request) => &mut request.metadata,
        Payload::CallToolRequest(request) => &mut request.metadata,
        Payload::GetPromptRequest(request) => &mut request.metadata,
        _ => return None,
    };
    let mut keys = metadata.keys().filter(|key| key.eq_ignore_ascii_case(AUTHORIZATION));
    let (key, None) = (keys.next()?.clone(), keys.next()) else { return None };
    let value = metadata.get_mut(&key)?;
    if config.tokens.as_ref().is_some_and(|tokens| tokens.principal(value).is_some()) {
        return None;
    }
    let authorization = Authorization::new(mem::take(value));
    metadata.remove(&key);
    Some(authorization)
}
