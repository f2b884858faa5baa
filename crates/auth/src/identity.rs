//! The authenticated caller, as described by an issuer.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value};

use crate::scopes::Scopes;

/// The claims of a valid token about its bearer. Cloning is cheap.
///
/// Over HTTP it is in the extensions of the request. The token itself is not kept, so that it cannot be passed on.
#[derive(Clone)]
pub struct Identity(Arc<Inner>);

struct Inner {
    issuer: Option<Box<str>>,
    subject: Option<Box<str>>,
    client: Option<Box<str>>,
    scopes: Scopes,
    expires: Option<SystemTime>,
    valid_until: Option<SystemTime>,
    claims: Map<String, Value>,
    principal: Arc<str>,
}

impl Identity {
    /// Reads the claims of a valid token, under the names of RFC 9068 and RFC 7662. `None` if they name neither a
    /// subject nor a client: sessions could not be told apart.
    #[must_use]
    pub fn of(claims: Map<String, Value>, issuer: Option<&str>, expires: Option<SystemTime>) -> Option<Self> {
        Self::with_leeway(claims, issuer, expires, Duration::ZERO)
    }

    /// Like [`Identity::of`], for a token that stays valid for `leeway` after its end.
    #[must_use]
    pub fn with_leeway(
        claims: Map<String, Value>,
        issuer: Option<&str>,
        expires: Option<SystemTime>,
        leeway: Duration,
    ) -> Option<Self> {
        let text = |names: &[&str]| {
            let mut found = names.iter().filter_map(|name| claims.get(*name)?.as_str()).filter(|text| !text.is_empty());
            found.next().map(Box::<str>::from)
        };
        let subject = text(&["sub"]);
        // The other names are older than RFC 9068 and still in use.
        let client = text(&["client_id", "azp", "cid", "appid"]);
        if subject.is_none() && client.is_none() {
            return None;
        }
        let scopes = match claims.get("scope").or_else(|| claims.get("scp")) {
            Some(Value::String(text)) => Scopes::lenient([text.as_str()]),
            Some(Value::Array(list)) => Scopes::lenient(list.iter().filter_map(Value::as_str)),
            _ => Scopes::default(),
        };
        // JSON, so that the parts are unambiguous.
        let principal = Value::from(vec![issuer, subject.as_deref(), client.as_deref()]).to_string().into();
        let issuer = issuer.map(Box::from);
        let valid_until = expires.map(|expires| expires.checked_add(leeway).unwrap_or(expires));
        Some(Self(Arc::new(Inner { issuer, subject, client, scopes, expires, valid_until, claims, principal })))
    }

    /// The issuer of the token.
    #[must_use]
    pub fn issuer(&self) -> Option<&str> {
        self.0.issuer.as_deref()
    }

    /// The subject: a user, or the client itself. Unique for one issuer only.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.0.subject.as_deref()
    }

    /// The client that the token was issued to.
    #[must_use]
    pub fn client(&self) -> Option<&str> {
        self.0.client.as_deref()
    }

    /// The scopes that the token grants.
    #[must_use]
    pub fn scopes(&self) -> &Scopes {
        &self.0.scopes
    }

    /// The end of the token.
    #[must_use]
    pub fn expires(&self) -> Option<SystemTime> {
        self.0.expires
    }

    /// The time at which the token has expired by every clock within the leeway. Streams that it opened end then.
    #[must_use]
    pub fn valid_until(&self) -> Option<SystemTime> {
        self.0.valid_until
    }

    /// All claims.
    #[must_use]
    pub fn claims(&self) -> &Map<String, Value> {
        &self.0.claims
    }

    /// One text for issuer, subject and client together, to which sessions are bound. A new token of the same user and
    /// client has the same principal.
    #[must_use]
    pub fn principal(&self) -> Arc<str> {
        Arc::clone(&self.0.principal)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("issuer", &self.0.issuer)
            .field("subject", &self.0.subject)
            .field("client", &self.0.client)
            .field("scopes", &self.0.scopes.to_string())
            .finish_non_exhaustive()
    }
}
