//! The checks at the beginning: of a request, and of a conversation.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use crate::code;
use crate::extensions::{NOTIFICATIONS, PROMPTS, SUBSCRIPTIONS, WKT_BUILTIN};
use crate::fault::Fault;
use crate::message::{
    InitializeRequest, InitializeResponse, PromptCapabilities, ResourceCapabilities, ServerCapabilities,
    ToolCapabilities,
};
use crate::schemas::Imports;
use crate::session::agreement::{Agreement, Declared};
use crate::session::config::{Changes, Features, SessionConfig, Streaming};
use crate::session::inbound::BinaryCall;

/// Checks the token of a request, removes the metadata that is not for the tool, and returns the time that the request
/// has. `principal`: of the connection, as far as it is known; a token may name it.
pub(crate) fn admit(
    config: &SessionConfig,
    principal: &mut Option<Arc<str>>,
    client_resolves_refs: bool,
    call: &mut BinaryCall,
) -> Result<Duration, Fault> {
    let limits = config.limits;
    let timeout = match call {
        BinaryCall::CallTool(call) => {
            let token = take_token(&mut call.metadata)?;
            authenticate(config, principal, token.as_deref())?;
            match call.metadata.remove(TIMEOUT_MS) {
                Some(text) => {
                    let wanted = text
                        .trim()
                        .parse()
                        .map_err(|_| Fault::new(code::INVALID_PARAMS, "timeout_ms must be a number of milliseconds"))?;
                    Duration::from_millis(wanted).min(limits.max_call_timeout)
                }
                None => limits.call_timeout,
            }
        }
        BinaryCall::ListTools(request) => {
            request.include_schemas |= !client_resolves_refs;
            limits.request_timeout
        }
        BinaryCall::GetPrompt(request) => {
            let token = take_token(&mut request.metadata)?;
            authenticate(config, principal, token.as_deref())?;
            limits.request_timeout
        }
        BinaryCall::ListResources(_)
        | BinaryCall::ReadResource(_)
        | BinaryCall::ListPrompts(_)
        | BinaryCall::Complete(_)
        | BinaryCall::ListTemplates(_)
        | BinaryCall::Subscribe(_)
        | BinaryCall::Unsubscribe(_) => limits.request_timeout,
    };
    require_principal(config, principal.as_ref())?;
    Ok(timeout)
}

/// Checks that the principal is known where a token is required.
pub(crate) fn require_principal(config: &SessionConfig, principal: Option<&Arc<str>>) -> Result<(), Fault> {
    if !config.requires_token() || principal.is_some() {
        return Ok(());
    }
    if let Some(tokens) = &config.tokens {
        tokens.note_refusal("a token is required");
    }
    Err(Fault::new(code::UNAUTHENTICATED, "a token is required"))
}

/// Removes the token from metadata. Its key may have capital letters, as the name of a header may.
fn take_token(metadata: &mut BTreeMap<String, String>) -> Result<Option<String>, Fault> {
    let mut tokens = Vec::new();
    metadata.retain(|key, value| {
        let is_token = key.eq_ignore_ascii_case(AUTHORIZATION);
        if is_token {
            tokens.push(mem::take(value));
        }
        !is_token
    });
    let token = tokens.pop();
    if tokens.is_empty() {
        Ok(token)
    } else {
        Err(Fault::new(code::INVALID_PARAMS, "the metadata has more than one authorization"))
    }
}

/// Checks a token, if there is one. The first one decides about the principal of the connection.
fn authenticate(
    config: &SessionConfig,
    principal: &mut Option<Arc<str>>,
    authorization: Option<&str>,
) -> Result<(), Fault> {
    let (Some(tokens), Some(authorization)) = (&config.tokens, authorization) else { return Ok(()) };
    let Some(found) = tokens.principal(authorization) else {
        let why = "the token is not accepted";
        tokens.note_refusal(why);
        return Err(Fault::new(code::UNAUTHENTICATED, why));
    };
    match principal {
        Some(other) if *other != found => {
            Err(Fault::new(code::PERMISSION_DENIED, "the connection belongs to another principal"))
        }
        _ => {
            *principal = Some(found);
            Ok(())
        }
    }
}

/// The outcome of the first request of a conversation: its version, and the features of both sides.
pub(crate) fn agree(
    config: &SessionConfig,
    principal: &mut Option<Arc<str>>,
    mut request: InitializeRequest,
) -> Result<(Agreement, InitializeResponse), Fault> {
    let version = config.versions.negotiate(&request.protocol_version)?;
    let client = request.capabilities.unwrap_or_default();
    if !client.encodings.is_empty() && !client.encodings.iter().any(|encoding| encoding == ENCODING) {
        let fault = Fault::new(code::INVALID_PARAMS, "no common encoding; the server has \"protobuf\"");
        return Err(fault.with("reason", "no_common_encoding").with("supported", vec![ENCODING.to_owned()]));
    }
    let token = take_token(&mut request.metadata)?;
    authenticate(config, principal, token.as_deref())?;
    let size: usize = request.metadata.iter().map(|(key, value)| key.len() + value.len()).sum();
    if size > MAX_METADATA {
        // It is kept as long as the conversation.
        let message = format!("the metadata has {size} bytes, and may have {MAX_METADATA}");
        return Err(Fault::new(code::TOO_LARGE, message).with("limit", MAX_METADATA));
    }
    let features = config.features;
    let declares = |name: &str| client.experimental.get(name).copied().unwrap_or_default();
    let declared = Declared {
        notifications: declares(NOTIFICATIONS),
        prompts: declares(PROMPTS),
        subscriptions: declares(SUBSCRIPTIONS),
        streaming: client.supports_streaming && features.streaming != Streaming::Unsupported,
    };
    let agreement = Agreement {
        version,
        client_resolves_refs: client.supports_bsr_refs,
        bsr_refs: client.supports_bsr_refs && features.bsr_refs,
        declared,
        imports: if declares(WKT_BUILTIN) { Imports::WithoutWellKnown } else { Imports::Complete },
        metadata: request.metadata,
    };
    let response = InitializeResponse {
        protocol_version: agreement.version.to_string(),
        capabilities: Some(capabilities(features, &agreement)),
        metadata: config.metadata.clone(),
    };
    Ok((agreement, response))
}

/// The capabilities of a server, as far as the client has them, too.
fn capabilities(features: Features, agreement: &Agreement) -> ServerCapabilities {
    let Declared { notifications, prompts, subscriptions, streaming } = agreement.declared;
    let announced = |changes: Changes| changes == Changes::Announced && notifications;
    ServerCapabilities {
        supports_bsr_refs: agreement.bsr_refs,
        supports_streaming: streaming,
        tools: features.tools.map(|tools| ToolCapabilities { supports_list_changed: announced(tools) }),
        resources: features.resources.map(|resources| ResourceCapabilities {
            supports_subscribe: features.subscriptions && subscriptions,
            supports_list_changed: announced(resources),
            supports_templates: prompts,
        }),
        prompts: features
            .prompts
            .filter(|_| prompts)
            .map(|prompts| PromptCapabilities { supports_list_changed: announced(prompts) }),
        supports_completion: features.completion && prompts,
        supports_logging: streaming && features.streaming.has_logs(),
    }
}

/// Keys of metadata that are for the session.
pub(super) const AUTHORIZATION: &str = "authorization";
const TIMEOUT_MS: &str = "timeout_ms";

/// The encoding of all messages here.
const ENCODING: &str = "protobuf";

/// The most bytes of the metadata of a client, without its token.
const MAX_METADATA: usize = 16 << 10;
