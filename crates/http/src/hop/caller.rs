//! The caller of a request, for the process that it is handed on to.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::request::Parts;
use protomcp_auth::Identity;
use serde_json::{Value, json};

use crate::caller::{Caller, Principal};

/// The caller of a request, as it was authenticated: its principal, its address, and the claims of its token with the
/// scopes.
#[derive(Debug, Clone, Default)]
pub(crate) struct HopCaller {
    pub(crate) principal: Option<Arc<str>>,
    pub(crate) address: Option<IpAddr>,
    pub(crate) identity: Option<Identity>,
}

impl HopCaller {
    /// The caller of the request with this head, which is authenticated.
    pub(crate) fn of(head: &Parts) -> Self {
        let Caller { principal, address, .. } = Caller::of(head);
        let identity = head.extensions.get().cloned();
        Self { principal: principal.map(|Principal(who)| who), address, identity }
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "principal": self.principal.as_deref(),
            "address": self.address.map(|address| address.to_string()),
            "token": self.identity.as_ref().map(token),
        })
    }

    /// `None`: it has not this form.
    pub(crate) fn from_json(caller: &Value) -> Option<Self> {
        let text = |name: &str| match caller.get(name)? {
            Value::Null => Some(None),
            value => value.as_str().map(Some),
        };
        let address = match text("address")? {
            Some(address) => Some(address.parse().ok()?),
            None => None,
        };
        let identity = match caller.get("token")? {
            Value::Null => None,
            token => Some(identity(token)?),
        };
        Some(Self { principal: text("principal")?.map(Arc::from), address, identity })
    }
}

/// The contents of a token, without the token.
fn token(identity: &Identity) -> Value {
    let since_1970 = |moment: Option<SystemTime>| {
        moment.map(|moment| moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64())
    };
    json!({
        "issuer": identity.issuer(),
        "claims": identity.claims(),
        "expires": since_1970(identity.expires()),
        "validUntil": since_1970(identity.valid_until()),
    })
}

fn identity(token: &Value) -> Option<Identity> {
    let time = |name: &str| match token.get(name)? {
        Value::Null => Some(None),
        value => Duration::try_from_secs_f64(value.as_f64()?).ok().map(Some),
    };
    let claims = token.get("claims")?.as_object()?.clone();
    let issuer = token.get("issuer")?.as_str();
    let (expires, valid_until) = (time("expires")?, time("validUntil")?);
    let leeway = valid_until.unwrap_or_default().saturating_sub(expires.unwrap_or_default());
    let expires = match expires {
        Some(expires) => Some(UNIX_EPOCH.checked_add(expires)?),
        None => None,
    };
    Identity::with_leeway(claims, issuer, expires, leeway)
}
