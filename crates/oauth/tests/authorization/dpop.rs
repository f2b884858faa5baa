//! Tokens that are bound to a key (official suite, `auth/dpop`, `auth/dpop-nonce`; RFC 9449).

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use protomcp_oauth::{Credentials, HttpRequest};
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::{Value, json};

use super::world::{
    SERVER, World, claims, config, demand, patched, reply, resource_metadata, server_metadata, token, unsupported,
    untrusted, with_header,
};

const TOKEN: &str = "POST https://login.example.com/token";

fn world() -> World {
    let members = json!({"dpop_signing_alg_values_supported": ["ES256"]});
    let mut world = World::with(&resource_metadata(), &patched(server_metadata(), &members));
    world.on(TOKEN, reply(200, &bound("t1")));
    world
}

fn bound(name: &str) -> Value {
    patched(token(name), &json!({"token_type": "DPoP"}))
}

/// Verifies a proof with the key in its header, and returns its claims.
fn verified(proof: &str) -> Value {
    let (header, claims) = claims(proof);
    assert_eq!((&header["typ"], &header["alg"]), (&json!("dpop+jwt"), &json!("ES256")));
    let part = |name: &str| URL_SAFE_NO_PAD.decode(header["jwk"][name].as_str().unwrap()).unwrap();
    assert_eq!(header["jwk"].get("d"), None);
    let point = [vec![4], part("x"), part("y")].concat();
    let (signed, signature) = proof.rsplit_once('.').unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed.as_bytes(), &signature).unwrap();
    claims
}

fn proof_of(request: &HttpRequest) -> Value {
    verified(request.headers["dpop"].to_str().unwrap())
}

fn presented(credentials: &Credentials, url: &str, nonce: Option<&str>) -> (String, Value) {
    let now = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_001);
    let headers = credentials.headers("POST", url, nonce, now);
    let value = |name: &str| headers.iter().find(|(known, _)| known == name).unwrap().1.to_str().unwrap();
    (value("authorization").to_owned(), verified(value("dpop")))
}

/// `auth/dpop`
#[test]
fn a_bound_token_is_presented_with_a_new_proof_each_time() {
    let mut world = world();
    let credentials = world.challenge(config(), demand(401, "DPoP algs=\"ES256\""), &[]).unwrap();
    let proof = proof_of(&world.sent[0]);
    assert_eq!((&proof["htm"], &proof["htu"]), (&json!("POST"), &json!("https://login.example.com/token")));
    assert_eq!((&proof["iat"], proof.get("ath"), proof.get("nonce")), (&json!(1_000_000), None, None));
    let (authorization, first) = presented(&credentials, &format!("{SERVER}?a=b#c"), None);
    assert_eq!(authorization, "DPoP t1");
    assert_eq!((&first["htu"], &first["htm"], &first["iat"]), (&json!(SERVER), &json!("POST"), &json!(1_000_001)));
    let hash = ring::digest::digest(&ring::digest::SHA256, b"t1");
    assert_eq!(first["ath"], URL_SAFE_NO_PAD.encode(hash));
    let ids: HashSet<_> = (0..8).map(|_| presented(&credentials, SERVER, None).1["jti"].to_string()).collect();
    assert_eq!(ids.len(), 8);
    assert_eq!(presented(&credentials, SERVER, Some("n1")).1["nonce"], "n1");
}

/// `auth/dpop-nonce`
#[test]
fn the_nonce_of_the_token_endpoint_is_used_once() {
    let asks = |nonce: &str| with_header(reply(400, &json!({"error": "use_dpop_nonce"})), "dpop-nonce", nonce);
    let mut world = world();
    world.on_each(TOKEN, [asks("n1"), reply(200, &bound("t1"))]);
    world.challenge(config(), demand(401, "DPoP"), &[]).unwrap();
    let proofs: Vec<_> = world.sent.iter().map(proof_of).collect();
    assert_eq!((proofs.len(), proofs[0].get("nonce"), &proofs[1]["nonce"]), (2, None, &json!("n1")));
    assert_ne!(proofs[0]["jti"], proofs[1]["jti"]);
    for endless in [vec![asks("n1"), asks("n2")], vec![asks("")], vec![asks(&"n".repeat(2000))]] {
        world.on_each(TOKEN, endless);
        world.sent.clear();
        assert!(world.challenge(config(), demand(401, "DPoP"), &[]).is_err());
        assert!(world.sent.len() <= 2);
    }
}

#[test]
fn tokens_are_bound_if_both_servers_support_it_or_one_insists() {
    let none = json!(null);
    for (challenge, resource, algorithms, is_bound) in [
        ("Bearer", json!({}), json!(["ES256"]), false),
        ("Bearer, DPoP", json!({}), json!(["ES256"]), true),
        ("Bearer, DPoP", json!({}), none.clone(), false),
        ("DPoP", json!({}), none.clone(), true),
        ("Bearer", json!({"dpop_signing_alg_values_supported": ["ES256"]}), json!(["ES256"]), true),
        ("Bearer", json!({"dpop_bound_access_tokens_required": true}), none.clone(), true),
        ("Bearer, DPoP", json!({}), json!(["RS256"]), false),
    ] {
        let server = patched(server_metadata(), &json!({"dpop_signing_alg_values_supported": algorithms}));
        let mut world = World::with(&patched(resource_metadata(), &resource), &server);
        world.on(TOKEN, reply(200, &if is_bound { bound("t") } else { token("t") }));
        world.challenge(config(), demand(401, challenge), &[]).unwrap();
        assert_eq!(world.sent[0].headers.contains_key("dpop"), is_bound, "{challenge} {resource} {algorithms}");
    }
    let server = patched(server_metadata(), &json!({"dpop_signing_alg_values_supported": ["RS256"]}));
    let mut world = World::with(&resource_metadata(), &server);
    unsupported(world.challenge(config(), demand(401, "DPoP"), &[]), "DPoP");
}

#[test]
fn an_unbound_token_is_rejected_where_a_bound_one_was_asked_for() {
    let mut world = world();
    world.on(TOKEN, reply(200, &token("t")));
    untrusted(world.challenge(config(), demand(401, "DPoP"), &[]), "Bearer");
}

#[test]
fn the_key_outlives_the_token() {
    let mut world = world();
    world.on(TOKEN, reply(200, &patched(bound("t1"), &json!({"refresh_token": "r1"}))));
    let known = world.challenge(config(), demand(401, "DPoP"), &[]).unwrap();
    let text = serde_json::to_string(&known).unwrap();
    let known: Credentials = serde_json::from_str(&text).unwrap();
    world.challenge(config(), demand(401, "DPoP"), &[&known]).unwrap();
    let key = |request: &HttpRequest| claims(request.headers["dpop"].to_str().unwrap()).0["jwk"].clone();
    assert_eq!(key(&world.sent[0]), key(&world.sent[1]));
    assert!(world.lines("grant_type=refresh_token").len() == 1);
}
