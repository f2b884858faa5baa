//! Tokens with real signatures, by keys that are made for each test.

use std::time::{Duration, UNIX_EPOCH};

use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair,
};
use serde_json::json;

use super::*;
use crate::key_set::KeySetError;

pub(crate) const NOW: u64 = 1_900_000_000;

pub(crate) enum Signer {
    Ec(&'static str, EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl Signer {
    pub(crate) fn p256() -> Self {
        Self::ec("P-256", &ECDSA_P256_SHA256_FIXED_SIGNING)
    }

    fn p384() -> Self {
        Self::ec("P-384", &ECDSA_P384_SHA384_FIXED_SIGNING)
    }

    fn ec(curve: &'static str, algorithm: &'static ring::signature::EcdsaSigningAlgorithm) -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self::Ec(curve, EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap())
    }

    fn ed25519() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap())
    }

    pub(crate) fn jwk(&self) -> Value {
        match self {
            Self::Ec(curve, pair) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                json!({"kty": "EC", "crv": curve, "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y)})
            }
            Self::Ed(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": URL_SAFE_NO_PAD.encode(pair.public_key().as_ref())})
            }
        }
    }

    fn sign(&self, message: &str) -> Vec<u8> {
        match self {
            Self::Ec(_, pair) => pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap().as_ref().to_vec(),
            Self::Ed(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
        }
    }

    pub(crate) fn token(&self, header: &Value) -> String {
        let claims = json!({"iss": "https://as", "aud": "https://rs", "sub": "ann", "exp": NOW + 60});
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(header), part(&claims));
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(self.sign(&message)))
    }
}

fn key_set(keys: &[Value]) -> Result<KeySet, KeySetError> {
    KeySet::parse(json!({"keys": keys}).to_string().as_bytes())
}

/// A key with these additional members.
fn with(mut key: Value, more: &Value) -> Value {
    key.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    key
}

fn verify(keys: &KeySet, token: &str) -> Result<(), &'static str> {
    let expected = TokenPolicy::new("https://as", "https://rs");
    let now = UNIX_EPOCH + Duration::from_secs(NOW);
    keys.check(token, &Algorithm::ALL, &expected, now).map(drop).map_err(|error| match error {
        TokenError::Invalid(why) => why,
        TokenError::Unavailable(_) => "unavailable",
    })
}

#[test]
fn a_signature_is_valid_only_under_the_algorithm_of_its_key() {
    for (signer, names) in
        [(Signer::p256(), &["ES256"][..]), (Signer::p384(), &["ES384"]), (Signer::ed25519(), &["EdDSA", "Ed25519"])]
    {
        let keys = key_set(&[signer.jwk()]).unwrap();
        for name in ["RS256", "PS256", "ES256", "ES384", "EdDSA", "Ed25519"] {
            let outcome = verify(&keys, &signer.token(&json!({"alg": name})));
            assert_eq!(outcome.is_ok(), names.contains(&name), "{name}: {outcome:?}");
        }
    }
}

#[test]
fn no_token_vouches_for_itself() {
    let signer = Signer::p256();
    let keys = key_set(&[signer.jwk()]).unwrap();
    let not_allowed = Err("the token is signed in a way that is not allowed");
    for name in ["none", "None", "HS256", "HS384", "HS512", "RSA1_5", "es256", "ES256K", "ES512", ""] {
        assert_eq!(verify(&keys, &signer.token(&json!({"alg": name}))), not_allowed, "{name}");
    }
    let stranger = Signer::p256();
    let forged =
        stranger.token(&json!({"alg": "ES256", "jwk": stranger.jwk(), "jku": "https://evil", "x5u": "https://evil"}));
    assert_eq!(verify(&keys, &forged), Err("the signature of the token is wrong"));
}

#[test]
fn only_allowed_algorithms_count() {
    let signer = Signer::p256();
    let keys = key_set(&[signer.jwk()]).unwrap();
    let (token, expected) = (signer.token(&json!({"alg": "ES256"})), TokenPolicy::new("https://as", "https://rs"));
    let check = |allowed: &[Algorithm]| keys.check(&token, allowed, &expected, UNIX_EPOCH + Duration::from_secs(NOW));
    assert!(check(&[Algorithm::Rs256, Algorithm::Es256]).is_ok());
    let not_allowed = TokenError::Invalid("the token is signed in a way that is not allowed");
    assert_eq!(check(&[Algorithm::Rs256, Algorithm::EdDsa]).unwrap_err(), not_allowed);
    assert_eq!(check(&[]).unwrap_err(), not_allowed);
}

#[test]
fn a_public_key_does_not_verify_a_shared_secret() {
    let signer = Signer::ed25519();
    let secret = with(signer.jwk(), &json!({"kty": "oct", "k": "c2VjcmV0"}));
    assert_eq!(key_set(&[secret]).unwrap_err(), KeySetError::NoKeys);
}

#[test]
fn every_part_of_a_token_is_signed() {
    let signer = Signer::p256();
    let keys = key_set(&[signer.jwk()]).unwrap();
    let token = signer.token(&json!({"alg": "ES256", "kid": "a"}));
    assert_eq!(verify(&keys, &token), Ok(()));
    for at in 0..token.len() {
        let mut bytes = token.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let other = String::from_utf8(bytes).unwrap();
        assert!(verify(&keys, &other).is_err(), "byte {at}");
    }
}

#[test]
fn a_malformed_token_is_rejected() {
    let signer = Signer::p256();
    let keys = key_set(&[signer.jwk()]).unwrap();
    let good = signer.token(&json!({"alg": "ES256"}));
    let parts: Vec<_> = good.split('.').collect();
    let (header, claims, signature) = (parts[0], parts[1], parts[2]);
    let twice = URL_SAFE_NO_PAD.encode(r#"{"alg":"ES256","alg":"none"}"#);
    let list = URL_SAFE_NO_PAD.encode("[]");
    for bad in [
        String::new(),
        "a".into(),
        "..".into(),
        format!("{header}.{claims}"),
        format!("{header}.{claims}.{signature}."),
        format!("{header}.{claims}.{signature}="),
        format!("{header}.{claims}.{signature}+"),
        format!("{list}.{claims}.{signature}"),
        format!("{twice}.{claims}.{signature}"),
    ] {
        assert_eq!(verify(&keys, &bad), Err("the token is not a JSON Web Token"), "{bad}");
    }
    assert_eq!(verify(&keys, &format!("{header}.{claims}.")), Err("the signature of the token is wrong"));
    let message = format!("{header}.{list}");
    let odd = format!("{message}.{}", URL_SAFE_NO_PAD.encode(signer.sign(&message)));
    assert_eq!(verify(&keys, &odd), Err("the token is not a JSON Web Token"));
}

#[test]
fn a_token_of_another_type_is_rejected() {
    let signer = Signer::p256();
    let keys = key_set(&[signer.jwk()]).unwrap();
    for (header, expected) in [
        (json!({"alg": "ES256", "typ": "at+jwt"}), Ok(())),
        (json!({"alg": "ES256", "typ": "application/AT+JWT"}), Ok(())),
        (json!({"alg": "ES256", "typ": "JWT"}), Ok(())),
        (json!({"alg": "ES256", "typ": "dpop+jwt"}), Err("the token is of another type")),
        (json!({"alg": "ES256", "typ": "logout+jwt"}), Err("the token is of another type")),
        (json!({"alg": "ES256", "crit": ["b64"], "b64": false}), Err("the token has an extension that is not known")),
    ] {
        assert_eq!(verify(&keys, &signer.token(&header)), expected, "{header}");
    }
}

#[test]
fn a_token_names_its_key() {
    let (first, second) = (Signer::p256(), Signer::p256());
    let keys = key_set(&[with(first.jwk(), &json!({"kid": "1"})), with(second.jwk(), &json!({"kid": "2"}))]).unwrap();
    let unknown = Err("the token is signed with a key that is not known");
    let wrong = Err("the signature of the token is wrong");
    for (signer, header, expected) in [
        (&first, json!({"alg": "ES256", "kid": "1"}), Ok(())),
        (&second, json!({"alg": "ES256", "kid": "2"}), Ok(())),
        (&second, json!({"alg": "ES256"}), Ok(())),
        (&second, json!({"alg": "ES256", "kid": "1"}), wrong),
        (&first, json!({"alg": "ES256", "kid": "3"}), unknown),
        (&first, json!({"alg": "EdDSA", "kid": "1"}), unknown),
    ] {
        assert_eq!(verify(&keys, &signer.token(&header)), expected, "{header}");
    }
}

#[test]
fn all_keys_that_fit_are_tried_up_to_a_bound() {
    let (signer, header) = (Signer::p256(), json!({"alg": "ES256"}));
    let named = with(signer.jwk(), &json!({"kid": "1"}));
    let others = |count: usize| (0..count).map(|_| Signer::p256().jwk()).collect::<Vec<_>>();
    let keys = |others: Vec<Value>| key_set(&[others, vec![named.clone()]].concat()).unwrap();
    let wrong = Err("the signature of the token is wrong");
    let stranger = Signer::p256();
    assert_eq!(verify(&keys(others(15)), &signer.token(&header)), Ok(()));
    assert_eq!(verify(&keys(others(15)), &stranger.token(&header)), wrong);
    assert_eq!(verify(&keys(others(16)), &signer.token(&header)), Err("unavailable"));
    // Keys of other kinds do not count, and a key that is named comes first.
    let other_kinds = (0..40).map(|_| Signer::ed25519().jwk()).collect();
    assert_eq!(verify(&keys(other_kinds), &signer.token(&header)), Ok(()));
    assert_eq!(verify(&keys(others(30)), &signer.token(&json!({"alg": "ES256", "kid": "1"}))), Ok(()));
}

#[test]
fn keys_of_an_issuer_beyond_the_limit_are_ignored() {
    let (first, last) = (Signer::ed25519(), Signer::p256());
    let keys = |count: usize| {
        let others = vec![first.jwk(); count];
        key_set(&[others, vec![last.jwk()]].concat()).unwrap()
    };
    let token = last.token(&json!({"alg": "ES256"}));
    assert_eq!(verify(&keys(63), &token), Ok(()));
    assert_eq!(verify(&keys(64), &token), Err("the token is signed with a key that is not known"));
}

#[test]
fn a_key_is_used_only_for_its_declared_purpose() {
    let signer = Signer::p256();
    for (more, is_used) in [
        (json!({"use": "sig"}), true),
        (json!({"use": "enc"}), false),
        (json!({"key_ops": ["verify"]}), true),
        (json!({"key_ops": ["sign"]}), false),
        (json!({"alg": "ES256"}), true),
        (json!({"alg": "ES384"}), true),
        (json!({"alg": "HS256"}), false),
        (json!({"y": "AAAA"}), false),
        (json!({"crv": "P-521"}), false),
        (json!({"kty": 7}), false),
    ] {
        let keys = key_set(&[with(signer.jwk(), &more)]);
        assert_eq!(keys.is_ok(), is_used, "{more}");
        let verified = keys.is_ok_and(|keys| verify(&keys, &signer.token(&json!({"alg": "ES256"}))).is_ok());
        assert_eq!(verified, is_used && more["alg"] != "ES384", "{more}");
    }
}

#[test]
fn a_key_set_may_begin_with_a_byte_order_mark() {
    let keys = json!({"keys": [Signer::p384().jwk()]});
    assert!(KeySet::parse(format!("\u{feff}{keys}").as_bytes()).is_ok());
    assert!(KeySet::parse(format!("\u{feff}\u{feff}{keys}").as_bytes()).is_err());
}

#[test]
fn a_malformed_key_set_is_rejected() {
    for bad in ["", "[]", "{}", r#"{"keys": 7}"#, "<html>"] {
        assert!(matches!(KeySet::parse(bad.as_bytes()), Err(KeySetError::Malformed(_))), "{bad}");
    }
    assert_eq!(key_set(&[]).unwrap_err(), KeySetError::NoKeys);
    let short = json!({"kty": "RSA", "n": URL_SAFE_NO_PAD.encode([0xff; 128]), "e": "AQAB"});
    assert_eq!(key_set(&[short]).unwrap_err(), KeySetError::NoKeys);
    let odd_and_good = [json!(7), json!({"kty": "future"}), Signer::p384().jwk()];
    assert!(key_set(&odd_and_good).is_ok());
}
