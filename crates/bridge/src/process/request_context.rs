//! The context of a request for a process that has asked for it.

use std::time::Duration;

use protomcp_envelope::{Principal, RequestContext};
use protomcp_server::{CallerIdentity, Context, Owner};
use protomcp_types::RawJson;

use crate::process::sdk::SdkFeatures;

/// The context of a request that has this much time left; `None` if the process has not asked for it.
pub(crate) fn for_process(sdk: SdkFeatures, context: &Context, left: Duration) -> Option<RequestContext> {
    sdk.wants_context.then(|| of(context, left))
}

fn of(context: &Context, left: Duration) -> RequestContext {
    let client = context.client();
    let capabilities = RawJson::of(context.capabilities()).map(RawJson::into_bytes).unwrap_or_default();
    RequestContext {
        timeout_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
        session: if context.is_stateless() { String::new() } else { context.session().to_string() },
        protocol_version: context.protocol_version().to_string(),
        client_name: client.name.clone(),
        client_version: client.version.clone(),
        client_capabilities_json: capabilities,
        principal: principal(context),
    }
}

/// The caller that the transport has authenticated. A principal without an identity is the name of the caller.
fn principal(context: &Context) -> Option<Principal> {
    if let Some(CallerIdentity { subject, client_id, issuer, scopes }) = context.extension().cloned() {
        return Some(Principal { subject, client_id, issuer, scopes });
    }
    let Owner::Principal(name) = &context.caller().owner else { return None };
    Some(Principal { subject: name.to_string(), ..Principal::default() })
}
