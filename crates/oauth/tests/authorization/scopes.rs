//! The scopes of a flow (official suite, `auth/scope-*`, `auth/offline-access-*`).

use std::sync::Arc;

use protomcp_oauth::{AuthorizationError, AuthorizationFlow};
use serde_json::json;

use super::world::{World, config, demand, patched, reply, resource_metadata, server_metadata, token};

#[test]
fn scopes_come_from_the_challenge_or_the_metadata_or_nowhere() {
    for (challenge, published, expected) in [
        // `auth/scope-from-www-authenticate`
        ("Bearer scope=\"mcp:basic\"", json!(["a"]), Some("mcp:basic")),
        // `auth/scope-from-scopes-supported`
        ("Bearer", json!(["mcp:write", "mcp:read"]), Some("mcp:read mcp:write")),
        // `auth/scope-omitted-when-undefined`
        ("Bearer", json!(null), None),
        ("Bearer", json!([]), None),
    ] {
        let resource = patched(resource_metadata(), &json!({"scopes_supported": published}));
        let mut world = World::with(&resource, &server_metadata());
        world.challenge(config(), demand(401, challenge), &[]).unwrap();
        assert_eq!(world.param("scope"), expected, "{challenge}");
    }
}

/// `auth/scope-step-up`
#[test]
fn a_step_up_asks_for_the_union() {
    let mut world = World::new();
    let granted = |scope: &str| patched(token("t"), &json!({"scope": scope, "refresh_token": "r"}));
    world.on("POST https://login.example.com/token", reply(200, &granted("mcp:basic")));
    let known = world.challenge(config(), demand(401, "Bearer scope=\"mcp:basic\""), &[]).unwrap();
    world.transcript.clear();
    let more = demand(403, "Bearer scope=\"mcp:write\", error=\"insufficient_scope\"");
    world.challenge(config(), more, &[&known]).unwrap();
    assert_eq!(world.param("scope"), Some("mcp:basic mcp:write"));
    assert!(world.lines("grant_type=refresh_token").is_empty(), "a refresh brings no more scopes");
}

/// `auth/scope-retry-limit`
#[test]
fn a_step_up_to_scopes_that_are_granted_ends() {
    let mut world = World::new();
    let known = world.challenge(config(), demand(401, "Bearer scope=\"mcp:admin\""), &[]).unwrap();
    world.transcript.clear();
    for challenge in ["Bearer error=\"insufficient_scope\", scope=\"mcp:admin\"", "Bearer error=\"insufficient_scope\""]
    {
        let outcome = world.challenge(config(), demand(403, challenge), &[&known]);
        assert_eq!(outcome, Err(AuthorizationError::InsufficientScope("mcp:admin".to_owned())));
    }
    assert!(world.lines("open https").is_empty());
}

#[test]
fn a_step_up_to_scopes_that_were_not_granted_asks_again() {
    let mut world = World::new();
    let partly = patched(token("t"), &json!({"scope": "a"}));
    world.on("POST https://login.example.com/token", reply(200, &partly));
    let known = world.challenge(config(), demand(401, "Bearer scope=\"a b\""), &[]).unwrap();
    assert_eq!(known.scopes().to_string(), "a");
    let more = demand(403, "Bearer scope=\"b\", error=\"insufficient_scope\"");
    world.challenge(config(), more, &[&known]).unwrap();
    assert_eq!(world.param("scope"), Some("a b"));
}

/// An authorization server may grant less than it is asked for, and does so again.
#[test]
fn a_step_up_after_a_grant_asks_for_something_else() {
    let mut world = World::new();
    world.on("POST https://login.example.com/token", reply(200, &patched(token("t"), &json!({"scope": "a"}))));
    let known = world.challenge(config(), demand(401, "Bearer scope=\"a b\""), &[]).unwrap();
    let mut step_up = |scope: &str| {
        world.transcript.clear();
        let demand = demand(403, &format!("Bearer scope=\"{scope}\", error=\"insufficient_scope\""));
        let (flow, action) = AuthorizationFlow::challenged(Arc::new(config()), demand, vec![known.clone()]);
        let outcome = world.run(flow.after_grant(), action);
        (outcome, world.lines("open https").len())
    };
    assert_eq!(step_up("b"), (Err(AuthorizationError::InsufficientScope("a b".to_owned())), 0));
    assert_eq!(step_up("c").1, 1);
}

#[test]
fn offline_access_is_not_a_scope_that_a_step_up_lacks() {
    let server = patched(server_metadata(), &json!({"scopes_supported": ["a", "offline_access"]}));
    let mut world = World::with(&resource_metadata(), &server);
    world.on("POST https://login.example.com/token", reply(200, &patched(token("t"), &json!({"scope": "a"}))));
    let known = world.challenge(config(), demand(401, "Bearer scope=\"a\""), &[]).unwrap();
    world.transcript.clear();
    let more = demand(403, "Bearer scope=\"a\", error=\"insufficient_scope\"");
    let outcome = world.challenge(config(), more, &[&known]);
    assert_eq!(outcome, Err(AuthorizationError::InsufficientScope("a".to_owned())));
    assert!(world.lines("open https").is_empty());
}

/// `auth/offline-access-scope`, `auth/offline-access-not-supported`
#[test]
fn offline_access_is_asked_for_only_where_it_is_supported() {
    for (supported, scope, prompt) in [
        (json!(["a", "offline_access"]), "a offline_access", Some("consent")),
        (json!(["a"]), "a", None),
        (json!(null), "a", None),
    ] {
        let server = patched(server_metadata(), &json!({"scopes_supported": supported}));
        let mut world = World::with(&resource_metadata(), &server);
        world.challenge(config(), demand(401, "Bearer scope=\"a\""), &[]).unwrap();
        assert_eq!((world.param("scope"), world.param("prompt")), (Some(scope), prompt));
    }
}
