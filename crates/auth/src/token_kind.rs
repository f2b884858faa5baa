//! Tells access tokens from the other tokens of an issuer (RFC 9068, section 5; RFC 8725, section 3.12).
//!
//! An ID token is signed by the same issuer with the same keys, and describes a user to a client. It must be rejected,
//! although its audience, the client's id, may be one that this server accepts: some issuers know a server by that
//! alone. A current issuer writes `typ: at+jwt` in the header of access tokens. Other tokens are told apart by their
//! claims:
//!
//! | token | has |
//! |---|---|
//! | access token of Auth0, Okta, Entra, Keycloak, Ping, Cognito | `azp`, `cid`, `appid`, `client_id`, `scope`, `scp` |
//! | ID token (OpenID Connect Core, section 2) | `at_hash`, `c_hash` or `nonce`, or none of all these |
//! | token of Keycloak | its kind in `typ`: `Bearer`, `ID`, `Refresh`, `Offline`, `Logout` |
//! | token of Cognito | its kind in `token_use`: `access`, `id` |
//!
//! Keycloak before version 24 adds `nonce` to access tokens, too.

use serde_json::{Map, Value};

/// Kinds of tokens, as `typ` and `token_use` name them, that are not access tokens.
const OTHERS: [&str; 6] = ["id", "serialized-id", "refresh", "offline", "logout", "info"];

/// Claims that only an ID token has.
const ID_TOKEN: [&str; 3] = ["at_hash", "c_hash", "s_hash"];

/// Claims that an access token has: its scopes, or the client that it was issued to.
const ACCESS_TOKEN: [&str; 8] = ["scope", "scp", "client_id", "azp", "cid", "appid", "gty", "permissions"];

/// True if the claims name another kind of token, for any audience.
pub(crate) fn is_of_another_kind(claims: &Map<String, Value>) -> bool {
    let names_other =
        |name: &&Value| OTHERS.iter().any(|other| name.as_str().is_some_and(|name| name.eq_ignore_ascii_case(other)));
    ["typ", "token_use"].iter().filter_map(|name| claims.get(*name)).any(|name| names_other(&name))
        || ID_TOKEN.iter().any(|name| claims.contains_key(*name))
}

/// True if the claims belong to an access token, as far as they tell.
pub(crate) fn is_access_token(claims: &Map<String, Value>) -> bool {
    let has = |name: &&str| claims.contains_key(*name);
    let says = |name: &str, kind: &str| claims.get(name).and_then(Value::as_str) == Some(kind);
    if says("typ", "Bearer") || says("token_use", "access") {
        return true;
    }
    if claims.contains_key("nonce") { ["scope", "scp"].iter().any(has) } else { ACCESS_TOKEN.iter().any(has) }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use serde_json::json;

    use super::*;
    use crate::claims::{Kind, TokenPolicy};
    use crate::verifier::TokenError;

    const CLIENT: &str = "0oa1client";
    const REFUSED: Result<(), &str> = Err("the token is not an access token");

    /// Checks a token of this kind with these claims, besides the usual ones.
    fn check(kind: Kind, claims: &Value) -> Result<(), &'static str> {
        let mut all = json!({"iss": "https://as", "aud": CLIENT, "sub": "ann", "iat": 1000, "exp": 2000});
        all.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
        let expected = TokenPolicy::new("https://as", "https://rs/mcp").add_audience(CLIENT);
        let outcome = expected.check(kind, all.as_object().unwrap().clone(), UNIX_EPOCH + Duration::from_secs(1500));
        outcome.map(drop).map_err(|error| match error {
            TokenError::Invalid(why) => why,
            other => panic!("{other}"),
        })
    }

    #[test]
    fn access_tokens_of_well_known_issuers_are_accepted() {
        for (issuer, claims) in [
            ("Auth0", json!({"azp": "app", "scope": "openid use", "permissions": []})),
            ("Auth0, a machine", json!({"azp": "app", "gty": "client-credentials"})),
            ("Okta", json!({"ver": 1, "jti": "AT.1", "cid": "app", "uid": "1", "scp": ["use"], "auth_time": 1000})),
            ("Entra 2.0", json!({"ver": "2.0", "azp": "app", "azpacr": "0", "scp": "use", "tid": "t", "oid": "o"})),
            ("Entra 1.0", json!({"ver": "1.0", "appid": "app", "amr": ["pwd"], "scp": "use", "unique_name": "a"})),
            ("Entra, an application", json!({"ver": "2.0", "azp": "app", "roles": ["use"], "idtyp": "app"})),
            ("Entra, its own client", json!({"ver": "2.0", "azp": CLIENT, "scp": "use"})),
            ("Keycloak", json!({"typ": "Bearer", "azp": "app", "sid": "1", "acr": "1", "scope": "openid use"})),
            ("Keycloak 23", json!({"typ": "Bearer", "azp": "app", "nonce": "n", "session_state": "1"})),
            ("Keycloak, DPoP", json!({"typ": "DPoP", "azp": "app", "scope": "use"})),
            ("Cognito", json!({"token_use": "access", "client_id": "app", "username": "ann"})),
            ("Ping", json!({"client_id": "app", "scope": "use", "acr": "Single", "auth_time": 1000})),
            ("Authentik", json!({"azp": "app", "nonce": "n", "scope": "openid use", "auth_time": 1000})),
        ] {
            assert_eq!(check(Kind::Jwt, &claims), Ok(()), "{issuer}");
            assert_eq!(check(Kind::Introspection, &claims), Ok(()), "{issuer}");
        }
    }

    #[test]
    fn id_tokens_open_nothing() {
        for (issuer, claims) in [
            ("Auth0", json!({"nonce": "n", "sid": "1", "name": "Ann", "email": "ann@example.com"})),
            ("Auth0 without nonce", json!({"sid": "1", "name": "Ann"})),
            ("Okta", json!({"ver": 1, "jti": "ID.1", "amr": ["pwd"], "idp": "1", "auth_time": 1000, "at_hash": "h"})),
            ("Entra", json!({"ver": "2.0", "nonce": "n", "tid": "t", "oid": "o", "roles": ["use"]})),
            ("Entra without nonce", json!({"ver": "2.0", "preferred_username": "ann", "tid": "t", "oid": "o"})),
            ("Entra, hybrid", json!({"ver": "2.0", "c_hash": "h", "tid": "t"})),
            ("Keycloak", json!({"typ": "ID", "azp": CLIENT, "nonce": "n", "at_hash": "h", "acr": "1"})),
            ("Keycloak with scopes", json!({"typ": "ID", "azp": CLIENT, "scope": "use"})),
            ("Cognito", json!({"token_use": "id", "cognito:username": "ann", "scope": "use"})),
            ("Google", json!({"azp": CLIENT, "at_hash": "h", "email": "ann@example.com"})),
            ("with a client", json!({"azp": CLIENT, "nonce": "n"})),
        ] {
            assert_eq!(check(Kind::Jwt, &claims), REFUSED, "{issuer}");
        }
    }

    #[test]
    fn tokens_of_another_kind_are_rejected_for_any_audience() {
        for claims in [
            json!({"typ": "Refresh", "azp": "app", "scope": "use"}),
            json!({"typ": "Offline", "azp": "app", "scope": "use"}),
            json!({"typ": "Logout"}),
            json!({"typ": "id", "scope": "use"}),
            json!({"at_hash": "h", "scope": "use"}),
        ] {
            for kind in [Kind::Jwt, Kind::Introspection] {
                assert_eq!(check(kind, &claims), REFUSED, "{kind:?} {claims}");
                let mut here = claims.clone();
                here["aud"] = json!(["https://rs/mcp", CLIENT]);
                assert_eq!(check(kind, &here), REFUSED, "{kind:?} {here}");
            }
        }
    }

    #[test]
    fn the_type_or_the_audience_of_an_access_token_is_enough() {
        let bare = json!({"nonce": "n"});
        assert_eq!(check(Kind::Jwt, &bare), REFUSED);
        assert_eq!(check(Kind::AccessTokenJwt, &bare), Ok(()));
        assert_eq!(check(Kind::Introspection, &bare), Ok(()), "the issuer was asked about an access token");
        assert_eq!(check(Kind::Jwt, &json!({"aud": "https://rs/mcp"})), Ok(()), "no client has this id");
        assert_eq!(check(Kind::Jwt, &json!({"aud": [CLIENT, "https://rs/mcp/"], "nonce": "n"})), Ok(()));
    }
}
