//! Refreshing (RFC 6749, section 6).

use std::sync::Arc;
use std::time::Duration;

use protomcp_oauth::{
    AuthorizationError, AuthorizationFlow, ClientSecret, ConfiguredClient, Credentials, FlowAction, FlowEvent, Url,
};
use serde_json::{Value, json};

use super::world::{
    ISSUER, METADATA, Outcome, World, config, demand, patched, reply, resource_metadata, server_metadata, token,
};

const TOKEN: &str = "POST https://login.example.com/token";

/// A world with a token and the refresh token `r1`.
fn signed_in() -> (World, Credentials) {
    let mut world = World::new();
    world.on(TOKEN, reply(200, &patched(token("t1"), &json!({"refresh_token": "r1", "scope": "a"}))));
    let known = world.authorize().unwrap();
    world.transcript.clear();
    (world, known)
}

fn refresh(world: &mut World, known: &Credentials) -> Outcome {
    let (flow, action) = AuthorizationFlow::due(Arc::new(config()), known.clone(), world.now);
    world.run(flow, action)
}

fn stored(credentials: &Credentials) -> Value {
    serde_json::to_value(credentials).unwrap()["token"].clone()
}

#[test]
fn a_due_token_is_refreshed_without_discovery() {
    let (mut world, known) = signed_in();
    world.on(TOKEN, reply(200, &patched(token("t2"), &json!({"refresh_token": "r2"}))));
    let new = refresh(&mut world, &known).unwrap();
    assert_eq!(
        world.transcript,
        [
            "POST https://login.example.com/token grant_type=refresh_token refresh_token=r1 \
             resource=https://tools.example.com/mcp client_id=registered",
            "store for https://login.example.com",
        ]
    );
    assert_eq!((new.authorization(), &stored(&new)["refresh_token"]), ("Bearer t2".parse().unwrap(), &json!("r2")));
    assert_eq!(new.scopes().to_string(), "a", "a response without scopes leaves them as they are");
}

#[test]
fn a_response_without_a_refresh_token_keeps_the_old_one() {
    let (mut world, known) = signed_in();
    world.on(TOKEN, reply(200, &token("t2")));
    let new = refresh(&mut world, &known).unwrap();
    assert_eq!(stored(&new)["refresh_token"], "r1");
}

#[test]
fn the_new_token_is_stored_before_the_flow_is_done() {
    let (world, known) = signed_in();
    let (mut flow, action) = AuthorizationFlow::due(Arc::new(config()), known, world.now);
    assert!(matches!(action, FlowAction::Send(_)));
    let response = reply(200, &patched(token("t2"), &json!({"refresh_token": "r2"})));
    let action = flow.handle(FlowEvent::Response(response), world.now);
    let FlowAction::Store(new) = action else { panic!("{action:?}") };
    assert_eq!(stored(&new)["refresh_token"], "r2");
    // A store that fails does not lose the token.
    let failed = FlowEvent::Failed(AuthorizationError::Store("disk full".to_owned()));
    let action = flow.handle(failed, world.now);
    assert!(matches!(action, FlowAction::Done(done) if done == new));
}

#[test]
fn a_server_that_fails_leaves_the_refresh_token() {
    for failure in [
        reply(500, &json!({})),
        reply(503, &json!({"error": "invalid_grant"})),
        reply(429, &json!({})),
        reply(400, &json!({"error": "temporarily_unavailable"})),
        reply(400, &json!({"error": "server_error"})),
        // The answers of a proxy.
        reply(403, &json!("<!doctype html>")),
        reply(403, &json!({"message": "Forbidden"})),
        reply(408, &json!({})),
    ] {
        let (mut world, known) = signed_in();
        world.on(TOKEN, failure);
        let error = refresh(&mut world, &known).unwrap_err();
        assert!(matches!(error, AuthorizationError::Unavailable(_)), "{error}");
        assert!(world.lines("store").is_empty() && world.lines("remove").is_empty());
    }
}

/// RFC 6749, section 5.2: `invalid_grant` alone speaks of the refresh token.
#[test]
fn the_other_errors_leave_the_refresh_token() {
    for code in ["invalid_client", "unauthorized_client", "invalid_scope", "invalid_request", "invalid_target"] {
        let (mut world, known) = signed_in();
        let refused = reply(400, &json!({"error": code}));
        world.on(TOKEN, refused.clone());
        let error = refresh(&mut world, &known).unwrap_err();
        assert!(matches!(&error, AuthorizationError::Refused { code: found, .. } if found == code), "{error}");
        assert!(world.lines("store").is_empty() && world.lines("remove").is_empty());
        // A challenge lets the user sign in, and replaces the credentials only then.
        world.transcript.clear();
        world.redirect = Box::new(|state| format!("error=access_denied&state={state}&iss={ISSUER}"));
        assert!(world.challenge(config(), demand(401, "Bearer"), &[&known]).is_err());
        assert_eq!((world.lines("refresh_token=r1").len(), world.lines("open https").len()), (1, 1));
        let registrations = usize::from(code == "invalid_client");
        assert_eq!(world.lines("POST https://login.example.com/register").len(), registrations, "{code}");
        assert!(world.lines("store").is_empty() && world.lines("remove").is_empty());
    }
}

#[test]
fn a_rejected_refresh_token_is_not_tried_again() {
    let (mut world, known) = signed_in();
    world.on(TOKEN, reply(400, &json!({"error": "invalid_grant"})));
    let left = refresh(&mut world, &known).unwrap();
    assert_eq!(stored(&left)["refresh_token"], Value::Null);
    let error = refresh(&mut world, &left).unwrap_err();
    assert!(matches!(error, AuthorizationError::SignInRequired(_)), "{error}");
}

/// The secret of a configured client belongs to the issuer that is configured with it.
#[test]
fn credentials_of_another_issuer_or_client_are_not_refreshed() {
    let with_client = |id: &str| {
        let secret = ClientSecret::Secret("s3cret".to_owned());
        config().client(ConfiguredClient::new(id, secret)).issuer(Url::parse(ISSUER).unwrap())
    };
    let members = json!({"token_endpoint_auth_methods_supported": ["client_secret_basic"]});
    let mut world = World::with(&resource_metadata(), &patched(server_metadata(), &members));
    world.on(TOKEN, reply(200, &patched(token("t1"), &json!({"refresh_token": "r1"}))));
    let own = world.challenge(with_client("my-id"), demand(401, "Bearer"), &[]).unwrap();
    let registered = signed_in().1;
    let patch = |members: &Value| {
        let known = patched(serde_json::to_value(&own).unwrap(), members);
        serde_json::from_value::<Credentials>(known).unwrap()
    };
    let elsewhere = json!({"issuer": "https://other.example.com", "token_endpoint": "https://other.example.com/token"});
    for (known, id) in [
        (patch(&elsewhere), "my-id"),
        (patch(&json!({"issuer": "https://login.example.com/other"})), "my-id"),
        (own.clone(), "another-id"),
        (registered, "my-id"),
    ] {
        let (mut flow, action) = AuthorizationFlow::due(Arc::new(with_client(id)), known.clone(), world.now);
        assert!(matches!(action, FlowAction::Fail(AuthorizationError::Unsupported(_))), "{known:?} {action:?}");
        let after = flow.handle(FlowEvent::Stored, world.now);
        assert!(matches!(after, FlowAction::Fail(_)));
        world.transcript.clear();
        world.challenge(with_client(id), demand(401, "Bearer"), &[&known]).unwrap();
        assert!(
            world.lines("refresh_token").is_empty() && world.lines("other.example").is_empty(),
            "{:?}",
            world.transcript
        );
        assert_eq!(world.lines("open https").len(), 1);
        assert!(world.lines("remove").is_empty(), "they may belong to another program");
    }
    world.transcript.clear();
    world.challenge(with_client("my-id"), demand(401, "Bearer"), &[&own]).unwrap();
    assert!(world.lines("open https").is_empty(), "{:?}", world.transcript);
}

#[test]
fn a_challenge_refreshes_before_it_asks_the_user() {
    let (mut world, known) = signed_in();
    world.on(TOKEN, reply(200, &token("t2")));
    world.challenge(config(), demand(401, "Bearer error=\"invalid_token\""), &[&known]).unwrap();
    assert!(world.lines("open https").is_empty());
    // With the token of the refresh rejected as well, the user signs in.
    let (flow, action) = AuthorizationFlow::challenged(Arc::new(config()), demand(401, "Bearer"), vec![known.clone()]);
    world.run(flow.without_refresh(), action).unwrap();
    assert_eq!(world.lines("open https").len(), 1);
}

#[test]
fn a_discovered_token_endpoint_replaces_the_stored_one() {
    let (mut world, known) = signed_in();
    let moved = patched(server_metadata(), &json!({"token_endpoint": "https://login.example.com/v2/token"}));
    world.on(&format!("GET {METADATA}"), reply(200, &moved));
    let rotated = patched(token("t2"), &json!({"refresh_token": "r2"}));
    world.on("POST https://login.example.com/v2/token", reply(200, &rotated));
    let new = world.challenge(config(), demand(401, "Bearer"), &[&known]).unwrap();
    world.transcript.clear();
    refresh(&mut world, &new).unwrap();
    assert!(world.transcript[0].starts_with("POST https://login.example.com/v2/token"), "{:?}", world.transcript);
}

#[test]
fn a_challenge_signs_in_when_the_refresh_is_refused() {
    let (mut world, known) = signed_in();
    world.on_each(TOKEN, [reply(400, &json!({"error": "invalid_grant"})), reply(200, &token("t3"))]);
    let new = world.challenge(config(), demand(401, "Bearer"), &[&known]).unwrap();
    assert_eq!(new.authorization(), "Bearer t3");
    assert_eq!((world.lines("refresh_token").len(), world.lines("open https").len()), (1, 1));
}

#[test]
fn a_refresh_that_lacks_scopes_is_not_tried() {
    let (mut world, known) = signed_in();
    world.challenge(config(), demand(401, "Bearer scope=\"b\""), &[&known]).unwrap();
    assert!(world.lines("refresh_token").is_empty());
    assert_eq!(world.lines("open https").len(), 1);
}

#[test]
fn a_token_is_due_a_minute_or_a_tenth_of_its_life_early() {
    for (life, due, expired) in [(json!(3600), 3540, 3600), (json!("100"), 90, 100), (json!(0), 0, 0)] {
        let mut world = World::new();
        world.on(TOKEN, reply(200, &patched(token("t"), &json!({"expires_in": life}))));
        let known = world.authorize().unwrap();
        let at = |seconds: u64| world.now + Duration::from_secs(seconds);
        assert!(known.is_due(at(due)) && (due == 0 || !known.is_due(at(due - 1))), "{life}");
        assert!(known.has_expired(at(expired)) && (expired == 0 || !known.has_expired(at(expired - 1))), "{life}");
        // A clock that was set back makes a token older, not invalid.
        assert!(expired == 0 || !known.is_due(std::time::UNIX_EPOCH));
    }
    let mut world = World::new();
    world.on(TOKEN, reply(200, &patched(token("t"), &json!({"expires_in": null}))));
    let known = world.authorize().unwrap();
    assert!(!known.is_due(world.now + Duration::from_secs(1 << 32)));
}

#[test]
fn stored_credentials_are_read_back_and_show_no_secret() {
    let (_, known) = signed_in();
    let text = serde_json::to_string(&known).unwrap();
    assert_eq!(serde_json::from_str::<Credentials>(&text).unwrap(), known);
    let shown = format!("{known:?}");
    assert!(!shown.contains("t1") && !shown.contains("r1"), "{shown}");
}

#[test]
fn odd_token_responses_are_errors() {
    let long = "x".repeat(protomcp_auth::MAX_TOKEN + 1);
    for (status, body) in [
        (302, token("t")),
        (200, json!({})),
        (200, json!([])),
        (200, json!({"error": "bad_verification_code"})),
        (200, patched(token("t"), &json!({"token_type": null}))),
        (200, patched(token("t"), &json!({"token_type": "mac"}))),
        (200, patched(token("t"), &json!({"token_type": "DPoP"}))),
        (200, token("")),
        (200, token("a b")),
        (200, token("a\r\nx: y")),
        (200, token(&long)),
        (200, patched(token("t"), &json!({"refresh_token": long}))),
        (404, json!({})),
    ] {
        let mut world = World::new();
        world.on(TOKEN, reply(status, &body));
        assert!(world.authorize().is_err(), "{status}");
        assert!(world.lines("store").is_empty());
    }
}
