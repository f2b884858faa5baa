//! The client that a server sees: the client of the session, or one that can do everything that any client may be able
//! to.

use protomcp_client::{Client, ClientLimits};
use protomcp_server::{Context, Owner, SessionId};
use protomcp_types::{ClientCapabilities, Implementation, JsonObject, RawJson, TASKS_EXTENSION};

use crate::limits::GatewayLimits;

/// The only client of a session with a server.
#[derive(Debug, Clone)]
pub(crate) struct SessionClient {
    pub(crate) session: SessionId,
    pub(crate) owner: Owner,
    implementation: Implementation,
    capabilities: ClientCapabilities,
}

/// The capabilities of the client side that a gateway can pass on.
const PASSED_ON: [(&str, &str); 3] = [
    ("roots", r#"{"listChanged":true}"#),
    ("sampling", r#"{"tools":{},"context":{}}"#),
    ("elicitation", r#"{"form":{},"url":{}}"#),
];

impl SessionClient {
    /// The client of a call.
    pub(crate) fn of(context: &Context) -> Self {
        Self {
            session: context.session(),
            owner: context.caller().owner.clone(),
            implementation: context.client().clone(),
            capabilities: context.capabilities().clone(),
        }
    }
}

/// True if the client of a call answers some kind of question.
pub(crate) fn can_be_asked(context: &Context) -> bool {
    PASSED_ON.iter().any(|(name, _)| context.capabilities().capability(name).is_some())
}

/// The capabilities of a client for a stateless server. The session with the server polls tasks for clients that have a
/// session; others say if they can.
pub(crate) fn passed_on(context: &Context) -> ClientCapabilities {
    let given = context.capabilities();
    // MCP 2026-07-28, client/roots: no notification announces a change.
    let value = |name: &str, value: &RawJson| if name == "roots" { RawJson::EMPTY_OBJECT } else { value.clone() };
    let known = PASSED_ON.iter().filter_map(|(name, _)| Some((*name, value(name, given.capability(name)?))));
    let capabilities = known.fold(ClientCapabilities::new(), |all, (name, value)| all.with(name, value));
    if context.is_stateless() && !given.has_extension(TASKS_EXTENSION) {
        return capabilities;
    }
    let extensions = JsonObject::new().with(TASKS_EXTENSION, RawJson::EMPTY_OBJECT);
    capabilities.with("extensions", extensions.to_body().into_raw())
}

/// A client with the identity of `session`, or with the identity of the gateway for a session that clients share.
pub(crate) fn client(session: Option<&SessionClient>, gateway: &Implementation, limits: &GatewayLimits) -> Client {
    let identity = session.map_or(gateway, |client| &client.implementation);
    let can = |name: &str, all: &'static str| match session {
        Some(client) => client.capabilities.capability(name).cloned(),
        None => RawJson::parse(all).ok(),
    };
    let mut capabilities = ClientCapabilities::new();
    for (name, all) in PASSED_ON {
        if let Some(value) = can(name, all) {
            capabilities = capabilities.with(name, value);
        }
    }
    let limits = ClientLimits {
        open_timeout: limits.open_timeout,
        timeout: limits.timeout,
        total_timeout: limits.total_timeout,
        max_pending: MAX_PENDING,
        max_incoming: MAX_QUESTIONS,
        ..ClientLimits::default()
    };
    Client::with_implementation(identity.clone())
        .capabilities(&capabilities)
        .limits(limits)
        // Clients have their own deadline for each question.
        .answer_timeout(limits.total_timeout)
}

/// The requests in one session with a server that have no answer. The sessions of clients have their own bounds.
pub(crate) const MAX_PENDING: usize = 16 * 1024;

/// The questions in one session with a server that have no answer.
const MAX_QUESTIONS: usize = 1024;
