//! Who may use the server: secrets that each request must carry, or tokens of an issuer.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use http::header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use protomcp_auth::{Denial, Identity, Operation, PeerKey, ResourceServer, Scopes};
use protomcp_mcp::Sessions;
use protomcp_types::{ErrorObject, Listen, Method as _, Request, RequestId, SubscriptionFilter};
use subtle::ConstantTimeEq;

use crate::caller::{Caller, Principal};
use crate::config::Config;
use crate::headers::single;
use crate::modern;
use crate::reply::{self, Body, Refusal, TRANSPORT_ERROR};

/// The header of [`Credential::api_key`].
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// A secret that each request must carry. It is compared in constant time, and never shown.
#[derive(Clone)]
pub struct Credential {
    kind: Kind,
    secret: Box<[u8]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Token,
    ApiKey,
}

impl Credential {
    /// `Authorization: Bearer <secret>`
    #[must_use]
    pub fn token(secret: &str) -> Self {
        Self { kind: Kind::Token, secret: secret.as_bytes().into() }
    }

    /// `X-API-Key: <secret>`
    #[must_use]
    pub fn api_key(secret: &str) -> Self {
        Self { kind: Kind::ApiKey, secret: secret.as_bytes().into() }
    }

    /// Whether a request carries it.
    fn is_in(&self, headers: &HeaderMap) -> bool {
        let given = match self.kind {
            Kind::Token => single(headers, &AUTHORIZATION).and_then(bearer),
            Kind::ApiKey => single(headers, &API_KEY).map(HeaderValue::as_bytes),
        };
        given.is_some_and(|given| given.ct_eq(&self.secret).into())
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// What a request is told that lacks a credential.
#[derive(Debug, PartialEq, Eq)]
struct Unauthorized {
    why: &'static str,
    /// The value of `WWW-Authenticate`.
    challenge: &'static str,
}

/// Lets a request in, and notes whose it is.
pub(crate) async fn admit(config: &Config, parts: &mut Parts) -> Result<(), Refusal> {
    let shown = check(&config.credentials, &parts.headers);
    match (&config.oauth, shown) {
        // Without credentials everybody has shown all of them, which is worth nothing beside tokens.
        (Some(_), Ok(())) if !config.credentials.is_empty() => Ok(()),
        (Some(oauth), _) => match oauth.admit(&parts.headers, peer(parts)).await {
            Ok(identity) => {
                parts.extensions.insert(Principal(identity.principal()));
                parts.extensions.insert(identity);
                if oauth.has_policy() {
                    parts.extensions.insert(NeededScopes::default());
                }
                Ok(())
            }
            Err(denial) => Err(Box::new(deny(denial, None))),
        },
        (None, Ok(())) => Ok(()),
        (None, Err(Unauthorized { why, challenge })) => {
            let mut response = reply::error(StatusCode::UNAUTHORIZED, TRANSPORT_ERROR, why);
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
            Err(Box::new(response))
        }
    }
}

/// Whom a request counts for as long as its token is not known to be good.
fn peer(parts: &Parts) -> PeerKey {
    Caller::of(parts).address.map_or_else(PeerKey::default, PeerKey::of_address)
}

/// The scopes that requests have needed besides those that every request needs. Reading later what came of the requests
/// needs them as well: an owner may have tokens that allow less.
#[derive(Debug, Clone, Default)]
pub(crate) struct NeededScopes(Arc<Mutex<Scopes>>);

impl NeededScopes {
    pub(crate) fn add(&self, more: &Scopes) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(more);
    }

    pub(crate) fn get(&self) -> Scopes {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Those of the request with this head.
    pub(crate) fn of(parts: &Parts) -> Scopes {
        parts.extensions.get::<Self>().map_or_else(Scopes::default, Self::get)
    }
}

/// Whether the bearer of a token may make this request.
pub(crate) fn permit(config: &Config, parts: &Parts, request: &Request) -> Result<(), Refusal> {
    let Some(oauth) = config.oauth.as_ref().filter(|oauth| oauth.has_policy()) else { return Ok(()) };
    // A request that came in by secrets has no scopes that could be too few.
    let Some(identity) = parts.extensions.get::<Identity>() else { return Ok(()) };
    // A name that is missing or no text is an error of the request, whoever makes it.
    let name = modern::named_by(&request.method).and_then(|member| request.params.required::<String>(member).ok());
    let needed = oauth.needed(&Operation::new(&request.method, name.as_deref(), parts));
    let permitted = oauth.permit(identity, &needed).map_err(|denial| deny(denial, Some(request.id.clone())));
    if permitted.is_ok()
        && let Some(all) = parts.extensions.get::<NeededScopes>()
    {
        all.add(&needed);
    }
    permitted.map_err(Box::new)
}

/// Whether the bearer of a token may read what came of requests that needed these scopes. `id`: of the request that would
/// read it.
pub(crate) fn permit_reading(
    config: &Config,
    parts: &Parts,
    needed: &Scopes,
    id: Option<&RequestId>,
) -> Result<(), Refusal> {
    match (&config.oauth, parts.extensions.get::<Identity>()) {
        (Some(oauth), Some(identity)) => {
            oauth.permit(identity, needed).map_err(|denial| Box::new(deny(denial, id.cloned())))
        }
        _ => Ok(()),
    }
}

/// Whether the bearer of a token may make this request in a session that has needed these scopes, as far as it is about
/// tasks of the session.
pub(crate) fn permit_tasks(config: &Config, parts: &Parts, request: &Request, needed: &Scopes) -> Result<(), Refusal> {
    if !request.method.starts_with("tasks/") {
        return Ok(());
    }
    permit_reading(config, parts, needed, Some(&request.id))
}

/// The scopes that the tasks have needed which a request without a session is about.
pub(crate) fn needed_by_tasks(sessions: &Sessions, request: &Request) -> Scopes {
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

/// Until when the bearer of a token may listen without showing another one. `None`: there is no end.
pub(crate) fn valid_until(parts: &Parts) -> Option<SystemTime> {
    parts.extensions.get::<Identity>().and_then(Identity::valid_until)
}

/// What the server says about itself to those who look for its issuer, if that is what this request is for.
pub(crate) fn metadata(config: &Config, parts: &Parts) -> Option<Response<Body>> {
    let document = config.oauth.as_ref()?.metadata(parts.uri.path())?;
    match parts.method {
        Method::GET => Some(reply::json(StatusCode::OK, vec![document.to_string().into()])),
        Method::OPTIONS => None,
        _ => Some(reply::not_allowed("GET")),
    }
}

/// Whether a path is one of [`metadata`].
pub(crate) fn is_metadata(oauth: Option<&ResourceServer>, path: &str) -> bool {
    oauth.is_some_and(|oauth| oauth.metadata(path).is_some())
}

fn deny(denial: Denial, id: Option<RequestId>) -> Response<Body> {
    let mut response = reply::refuse(denial.status, id, ErrorObject::new(TRANSPORT_ERROR, denial.why));
    let headers = response.headers_mut();
    headers.extend(denial.challenge.map(|challenge| (WWW_AUTHENTICATE, challenge)));
    if denial.status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("5"));
    }
    response
}

/// Checks the credentials of a request.
fn check(credentials: &[Credential], headers: &HeaderMap) -> Result<(), Unauthorized> {
    // All are looked at, so that time does not tell which one was wrong.
    let missing = credentials.iter().filter(|credential| !credential.is_in(headers));
    match missing.map(|credential| credential.kind).fold(None, |first, kind| first.or(Some(kind))) {
        None => Ok(()),
        Some(Kind::Token) => Err(Unauthorized {
            why: "unauthorized: invalid or missing Bearer token",
            // RFC 6750, section 3.1: an error code is for those who have shown something.
            challenge: if headers.contains_key(AUTHORIZATION) {
                "Bearer realm=\"mcp\", error=\"invalid_token\""
            } else {
                "Bearer realm=\"mcp\""
            },
        }),
        Some(Kind::ApiKey) => Err(Unauthorized {
            why: "unauthorized: invalid or missing API key",
            challenge: "ApiKey realm=\"mcp\", header=\"X-API-Key\"",
        }),
    }
}

/// The token of `Bearer <token>`; the scheme is not case-sensitive (RFC 9110, section 11.1).
fn bearer(value: &HeaderValue) -> Option<&[u8]> {
    let (scheme, token) = value.as_bytes().split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::PeerAddr;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn every_credential_must_be_there() {
        let both = [Credential::token("t0ken"), Credential::api_key("k3y")];
        let check = |pairs| check(&both, &headers(pairs)).map_err(|refusal| refusal.why);
        let (token, key) =
            ("unauthorized: invalid or missing Bearer token", "unauthorized: invalid or missing API key");
        assert_eq!(check(&[]), Err(token));
        assert_eq!(check(&[("authorization", "Bearer t0ken")]), Err(key));
        assert_eq!(check(&[("x-api-key", "k3y")]), Err(token));
        assert_eq!(check(&[("authorization", "Bearer t0ken"), ("x-api-key", "k3")]), Err(key));
        assert_eq!(check(&[("authorization", "Bearer t0ken2"), ("x-api-key", "k3y")]), Err(token));
        assert_eq!(check(&[("authorization", "Basic t0ken"), ("x-api-key", "k3y")]), Err(token));
        assert_eq!(check(&[("authorization", "bearer t0ken"), ("x-api-key", "k3y")]), Ok(()));
    }

    #[test]
    fn without_credentials_everybody_may_come() {
        assert_eq!(check(&[], &headers(&[])), Ok(()));
    }

    #[test]
    fn a_credential_that_is_shown_twice_does_not_count() {
        for (credential, name, good) in [
            (Credential::token("t0ken"), "authorization", "Bearer t0ken"),
            (Credential::api_key("k3y"), "x-api-key", "k3y"),
        ] {
            let credentials = [credential];
            for others in [&[][..], &[good][..], &["other"][..]] {
                let mut headers = HeaderMap::new();
                for value in [good].iter().chain(others) {
                    headers.append(name, HeaderValue::from_static(value));
                }
                assert_eq!(check(&credentials, &headers).is_ok(), others.is_empty(), "{name} {others:?}");
            }
        }
    }

    #[test]
    fn a_request_counts_for_the_machine_it_comes_from() {
        let (mut parts, ()) = http::Request::new(()).into_parts();
        assert_eq!(peer(&parts), PeerKey::default());
        parts.extensions.insert(PeerAddr("192.0.2.1:1234".parse().unwrap()));
        assert_eq!(peer(&parts), PeerKey::of_address("192.0.2.1".parse().unwrap()));
    }

    #[test]
    fn a_secret_is_not_shown() {
        assert!(!format!("{:?}", Credential::token("hunter2")).contains("hunter2"));
    }
}
