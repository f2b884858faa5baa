//! Any claims, of a token or of the answer of an issuer: accepted claims are from the issuer, for this server, current,
//! and name their bearer.
//!
//! The first byte selects the origin of the claims; the rest is JSON.

#![no_main]

use std::time::{Duration, UNIX_EPOCH};

use libfuzzer_sys::fuzz_target;
use protomcp_auth::Kind;
use protomcp_fuzz::auth::{ISSUER, NOW, OTHER_AUDIENCE, RESOURCE, expected};
use serde_json::{Map, Value};

const LEEWAY: u64 = 30;

fuzz_target!(|input: &[u8]| {
    let Some((first, text)) = input.split_first() else { return };
    let kind = [Kind::Jwt, Kind::AccessTokenJwt, Kind::Introspection][usize::from(*first) % 3];
    let Ok(claims) = serde_json::from_slice::<Map<String, Value>>(text) else { return };
    let (expected, now) = expected();
    let Ok(identity) = expected.check(kind, claims.clone(), now) else { return };
    let may_be_missing = kind == Kind::Introspection;
    assert!(claims.get("iss").map_or(may_be_missing, |issuer| issuer == ISSUER));
    let audiences = match &claims["aud"] {
        Value::Array(audiences) => audiences.clone(),
        audience => vec![audience.clone()],
    };
    let is_for = |known: &str| audiences.iter().any(|audience| audience == known || *audience == format!("{known}/"));
    assert!(is_for(RESOURCE) || is_for(OTHER_AUDIENCE));
    assert!(
        claims
            .get("exp")
            .map_or(may_be_missing, |end| end.as_f64().is_some_and(|end| end + LEEWAY as f64 > NOW as f64))
    );
    assert!(
        claims.get("nbf").is_none_or(|start| start.as_f64().is_some_and(|start| start < (NOW + LEEWAY + 1) as f64))
    );
    assert!(identity.subject().is_some() || identity.client().is_some());
    assert!(identity.scopes().iter().all(|scope| scope.bytes().all(|byte| byte.is_ascii_graphic())));
    if let (Some(expires), Some(until)) = (identity.expires(), identity.valid_until()) {
        assert_eq!(until.duration_since(expires).ok(), Some(Duration::from_secs(LEEWAY)));
        assert!(until > UNIX_EPOCH + Duration::from_secs(NOW));
    }
    if kind == Kind::Jwt {
        assert!(
            is_for(RESOURCE)
                || !claims.contains_key("nonce")
                || claims.contains_key("scope")
                || claims.contains_key("scp")
                || claims.get("typ").is_some_and(|typ| typ == "Bearer")
                || claims.get("token_use").is_some_and(|usage| usage == "access")
        );
    }
    if kind != Kind::AccessTokenJwt {
        assert!(!claims.contains_key("at_hash") && claims.get("typ").is_none_or(|typ| typ != "ID"));
    }
});
