//! Any `Authorization` header: only the signed token opens the server, and a rejection is a well-formed challenge.

#![no_main]

use futures_util::FutureExt;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use libfuzzer_sys::fuzz_target;
use protomcp_auth::{Algorithm, Identity, KeySet, MAX_TOKEN, PeerKey, ResourceServer, TokenError, Verifier};
use protomcp_fuzz::auth::{KEY, RESOURCE, TOKEN, expected};

struct Signature(KeySet);

impl Verifier for Signature {
    async fn verify(&self, token: &str) -> Result<Identity, TokenError> {
        assert!(!token.is_empty() && token.len() <= MAX_TOKEN);
        assert!(token.bytes().all(|byte| byte.is_ascii_graphic() && !b"\",;\\".contains(&byte)), "{token:?}");
        let (expected, now) = expected();
        self.0.check(token, &Algorithm::ALL, &expected, now)
    }
}

fuzz_target!(|value: &[u8]| {
    let keys = KeySet::parse(format!("{{\"keys\":[{KEY}]}}").as_bytes()).expect("one good key");
    let server = ResourceServer::new(RESOURCE, "https://as", Signature(keys)).expect("two good URLs");
    let Ok(header) = HeaderValue::from_bytes(value) else { return };
    let headers = HeaderMap::from_iter([(AUTHORIZATION, header)]);
    let text = std::str::from_utf8(value).unwrap_or_default();
    let token = text.split_once(' ').map_or("", |(_, token)| token.trim_ascii());
    let outcome = server.authenticate(&headers, PeerKey::default()).now_or_never();
    match outcome.expect("there is nothing to wait for") {
        Ok(identity) => {
            // The signature may have another valid form (of an elliptic curve there are two); the signed text may not.
            assert_eq!(
                token.rsplit_once('.').map(|(signed, _)| signed),
                TOKEN.rsplit_once('.').map(|(signed, _)| signed)
            );
            assert_eq!((identity.subject(), identity.client()), (Some("ann"), Some("app")));
        }
        Err(rejection) => {
            let is_good = text.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer ")) && token == TOKEN;
            assert!(!is_good, "a good token was refused: {}", rejection.why);
            assert!(matches!(rejection.status.as_u16(), 400 | 401));
            let challenge = rejection.challenge.expect("a rejection has a challenge");
            let challenge = challenge.to_str().expect("it is ASCII");
            assert!(challenge.starts_with("Bearer ") && challenge.matches('"').count() % 2 == 0, "{challenge}");
        }
    }
});
