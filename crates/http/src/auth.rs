//! Authentication and authorization: secrets that each request must carry, or tokens of an issuer.

use std::sync::Arc;
use std::time::SystemTime;

use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{Extensions, HeaderValue, Method, Response, StatusCode};
use protomcp_auth::{Identity, Operation, PeerKey, Rejection, ResourceServer, Scopes};
use protomcp_fair::LeftOut;
use protomcp_server::layer::lazy_tools::RequestTarget;
use protomcp_server::{CallerIdentity, ServerHandle};
use protomcp_types::{ErrorObject, Listen, Method as _, Request, RequestId, SubscriptionFilter};
use tokio::time::Instant;

use crate::caller::{Caller, ClientAddr, Principal};
use crate::config::Config;
use crate::credential::{self, Unauthorized};
use crate::hop::caller::HopCaller;
use crate::hop::{CHALLENGE, HOP, HopRefusal};
use crate::needed_scopes::NeededScopes;
use crate::reply::{self, Body, Refusal, TRANSPORT_ERROR};

/// Admits a request, and notes its principal. Only [`accept`] admits one that another process hands on.
pub(crate) async fn authenticate(config: &Config, parts: &mut Parts) -> Result<(), Refusal> {
    if parts.headers.contains_key(HOP) {
        return Err(refuse_hop(config, parts, HopRefusal::NotConfigured));
    }
    let shown = credential::check(&config.access.credentials, &parts.headers);
    match (&config.access.oauth, shown) {
        // Without configured credentials every request passes that check, which is worth nothing in addition to tokens.
        (Some(_), Ok(())) if !config.access.credentials.is_empty() => Ok(()),
        (Some(oauth), _) => match oauth.authenticate(&parts.headers, peer(parts)).await {
            Ok(identity) => {
                parts.extensions.insert(Principal(identity.principal()));
                note_identity(oauth, &mut parts.extensions, identity);
                Ok(())
            }
            Err(rejection) => Err(Box::new(deny(rejection, None))),
        },
        (None, Ok(())) => Ok(()),
        (None, Err(Unauthorized { why, challenge })) => {
            note(config, parts, why);
            let mut response = reply::error(StatusCode::UNAUTHORIZED, TRANSPORT_ERROR, why);
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
            Err(Box::new(response))
        }
    }
}

fn note_identity(oauth: &ResourceServer, extensions: &mut Extensions, identity: Identity) {
    extensions.insert(Arc::new(caller_identity(&identity)));
    extensions.insert(identity);
    if oauth.has_policy() {
        extensions.insert(NeededScopes::default());
    }
}

/// Takes the caller of a request from the process that hands the request on. Its credentials are not checked again.
pub(crate) fn accept(config: &Config, parts: &mut Parts, caller: HopCaller) {
    let HopCaller { principal, address, identity } = caller;
    let extensions = &mut parts.extensions;
    // The connection is the other process's.
    extensions.remove::<Principal>();
    extensions.remove::<ClientAddr>();
    if let Some(address) = address {
        extensions.insert(ClientAddr(address));
    }
    if let Some(principal) = principal {
        extensions.insert(Principal(principal));
    }
    if let (Some(oauth), Some(identity)) = (&config.access.oauth, identity) {
        note_identity(oauth, extensions, identity);
    }
}

/// The response to a request that another process should not have handed on, or that another process has not.
pub(crate) fn refuse_hop(config: &Config, parts: &Parts, refusal: HopRefusal) -> Refusal {
    note(config, parts, &format!("its header {HOP} is not accepted: {refusal}"));
    hop_refusal(refusal)
}

/// The response to a request that another process hands on and that is not carried out.
pub(crate) fn hop_refusal(refusal: HopRefusal) -> Refusal {
    let status = refusal.status();
    let mut response =
        reply::error(status, TRANSPORT_ERROR, format!("the header {HOP} is for processes of this server"));
    response.headers_mut().insert(WWW_AUTHENTICATE, CHALLENGE);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    Box::new(response)
}

/// Notes a refusal in the log, with its reason and without anything that the request shows.
fn note(config: &Config, parts: &Parts, why: &str) {
    let Some(LeftOut(left_out)) = config.refused_log.permit(Instant::now().into_std()) else { return };
    let from = Caller::of(parts).address.map(|address| format!(" from {address}")).unwrap_or_default();
    tracing::info!(left_out, "a request{from} was refused: {why}");
}

/// The bearer of a token, for services that know nothing of tokens.
#[must_use]
pub fn caller_identity(identity: &Identity) -> CallerIdentity {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    CallerIdentity {
        subject: text(identity.subject()),
        client_id: text(identity.client()),
        issuer: text(identity.issuer()),
        scopes: identity.scopes().iter().map(str::to_owned).collect(),
    }
}

/// The peer that a request counts for until its token is verified.
fn peer(parts: &Parts) -> PeerKey {
    Caller::of(parts).address.map_or_else(PeerKey::default, PeerKey::of_address)
}

/// Checks that the token of the request with this id grants the scopes that its target needs.
pub(crate) fn authorize(
    config: &Config,
    parts: &Parts,
    id: &RequestId,
    target: impl FnOnce() -> RequestTarget,
) -> Result<(), Refusal> {
    if !config.access.oauth.as_ref().is_some_and(ResourceServer::has_policy) {
        return Ok(());
    }
    // A name that is missing or not text is an error of the request, not of its scopes.
    let RequestTarget { method, name } = target();
    let permitted = permit(config, parts, &method, name.as_deref());
    permitted.map_err(|rejection| Box::new(deny(rejection, Some(id.clone()))))
}

/// Checks that the token of this request grants the scopes that a method needs for the tool, prompt or resource `name`.
pub(crate) fn permit(config: &Config, parts: &Parts, method: &str, name: Option<&str>) -> Result<(), Rejection> {
    let Some(oauth) = config.access.oauth.as_ref().filter(|oauth| oauth.has_policy()) else { return Ok(()) };
    // A request that was authenticated by secrets has no scopes to check.
    let Some(identity) = parts.extensions.get::<Identity>() else { return Ok(()) };
    let needed = oauth.needed(&Operation::new(method, name, parts));
    oauth.authorize(identity, &needed)?;
    if let Some(all) = parts.extensions.get::<NeededScopes>() {
        all.add(&needed);
    }
    Ok(())
}

/// Checks that a token may read the results of requests that needed these scopes. `id`: of the request that reads them.
pub(crate) fn authorize_reading(
    config: &Config,
    parts: &Parts,
    needed: &Scopes,
    id: Option<&RequestId>,
) -> Result<(), Refusal> {
    match (&config.access.oauth, parts.extensions.get::<Identity>()) {
        (Some(oauth), Some(identity)) => {
            oauth.authorize(identity, needed).map_err(|rejection| Box::new(deny(rejection, id.cloned())))
        }
        _ => Ok(()),
    }
}

/// Checks that a token may make this request in a session that has needed these scopes. Only requests about tasks of
/// the session need them again.
pub(crate) fn authorize_tasks(
    config: &Config,
    parts: &Parts,
    request: &Request,
    needed: &Scopes,
) -> Result<(), Refusal> {
    if !request.method.starts_with("tasks/") {
        return Ok(());
    }
    authorize_reading(config, parts, needed, Some(&request.id))
}

/// The scopes that were needed by the tasks that a request without a session names.
pub(crate) fn needed_by_tasks(sessions: &ServerHandle, request: &Request) -> Scopes {
    let ids = if request.method == Listen::NAME {
        let filter = request.params.member("notifications").and_then(|raw| raw.to::<SubscriptionFilter>().ok());
        filter.unwrap_or_default().task_ids
    } else if request.method.starts_with("tasks/") {
        request.params.required::<String>("taskId").into_iter().collect()
    } else {
        Vec::new()
    };
    let mut needed = Scopes::default();
    for known in ids.iter().filter_map(|id| sessions.task_extensions(id)) {
        needed.add(&known.find::<Parts>().map_or_else(Scopes::default, NeededScopes::of));
    }
    needed
}

/// The time at which the token of this request expires; `None`: never.
pub(crate) fn valid_until(parts: &Parts) -> Option<SystemTime> {
    parts.extensions.get::<Identity>().and_then(Identity::valid_until)
}

/// The metadata of the protected resource, if this request asks for it (RFC 9728).
pub(crate) fn metadata(config: &Config, parts: &Parts) -> Option<Response<Body>> {
    let document = config.access.oauth.as_ref()?.metadata(parts.uri.path())?;
    match parts.method {
        Method::GET => Some(reply::json(StatusCode::OK, vec![document.to_string().into()])),
        Method::OPTIONS => None,
        _ => Some(reply::not_allowed("GET")),
    }
}

/// True if the path is the path of [`metadata`].
pub(crate) fn is_metadata(oauth: Option<&ResourceServer>, path: &str) -> bool {
    oauth.is_some_and(|oauth| oauth.metadata(path).is_some())
}

fn deny(rejection: Rejection, id: Option<RequestId>) -> Response<Body> {
    let mut response = reply::refuse(rejection.status, id, ErrorObject::new(TRANSPORT_ERROR, rejection.why));
    let headers = response.headers_mut();
    headers.extend(rejection.challenge.map(|challenge| (WWW_AUTHENTICATE, challenge)));
    if rejection.status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::PeerAddr;

    #[test]
    fn a_request_counts_for_the_machine_it_comes_from() {
        let (mut parts, ()) = http::Request::new(()).into_parts();
        assert_eq!(peer(&parts), PeerKey::default());
        parts.extensions.insert(PeerAddr("192.0.2.1:1234".parse().unwrap()));
        assert_eq!(peer(&parts), PeerKey::of_address("192.0.2.1".parse().unwrap()));
    }
}
