//! The client of a flow and its authentication (official suite, `auth/basic-cimd`, `auth/token-endpoint-auth-*`,
//! `auth/pre-registration`, `auth/authorization-server-migration`).

use protomcp_oauth::{ClientSecret, ConfiguredClient, OAuthConfig, Url};
use serde_json::{Value, json};

use super::world::{
    ISSUER, METADATA, PRM, REDIRECT, World, config, demand, metadata_of, patched, reply, resource_metadata,
    server_metadata, token, unsupported,
};

const CLIENT_URL: &str = "https://client.example.com/metadata.json";

fn with_secret(secret: ClientSecret) -> OAuthConfig {
    config().client(ConfiguredClient::new("my-id", secret)).trust_named_issuer()
}

/// `auth/basic-cimd`
#[test]
fn the_client_url_is_the_id_where_it_is_supported() {
    for (supported, id) in [(json!(true), CLIENT_URL), (Value::Null, "registered")] {
        let members = json!({"client_id_metadata_document_supported": supported});
        let mut world = World::with(&resource_metadata(), &patched(server_metadata(), &members));
        let config = config().client_url(Url::parse(CLIENT_URL).unwrap());
        world.challenge(config, demand(401, "Bearer"), &[]).unwrap();
        assert_eq!(world.param("client_id"), Some(id));
        assert!(world.lines(CLIENT_URL).iter().all(|line| !line.starts_with("GET")), "it is never fetched");
    }
}

/// `auth/pre-registration`
#[test]
fn a_configured_client_is_not_registered() {
    let members = json!({
        "registration_endpoint": null, "token_endpoint_auth_methods_supported": ["client_secret_basic"],
    });
    let mut world = World::with(&resource_metadata(), &patched(server_metadata(), &members));
    let config = with_secret(ClientSecret::Secret("s:cret".to_owned()));
    let credentials = world.challenge(config, demand(401, "Bearer"), &[]).unwrap();
    assert!(world.lines("register").is_empty());
    assert_eq!(world.lines("/token")[0].rsplit_once(' ').unwrap().1, "[my-id:s%3Acret]");
    let stored = serde_json::to_string(&credentials).unwrap();
    assert!(!stored.contains("s:cret"), "a configured secret stays in the configuration: {stored}");
}

/// `auth/token-endpoint-auth-basic`, `-post`, `-none`
#[test]
fn the_token_endpoint_gets_the_authentication_that_it_supports() {
    for (listed, secret, end) in [
        (json!(["none"]), None, "client_id=new"),
        (json!(["client_secret_basic"]), Some("s"), "[new:s]"),
        (json!(["client_secret_post"]), Some("s"), "client_id=new client_secret=s"),
        (json!(["client_secret_post", "client_secret_basic"]), Some("s"), "[new:s]"),
        (Value::Null, Some("s"), "[new:s]"),
        // A server may register a public client although it was asked for another.
        (json!(["client_secret_post"]), None, "client_id=new"),
    ] {
        let members = json!({"token_endpoint_auth_methods_supported": listed});
        let mut world = World::with(&resource_metadata(), &patched(server_metadata(), &members));
        let client = json!({"client_id": "new", "client_secret": secret});
        world.on("POST https://login.example.com/register", reply(201, &client));
        world.authorize().unwrap();
        assert!(world.lines("/token")[0].ends_with(end), "{:?}", world.lines("/token"));
        let resource = "resource=https://tools.example.com/mcp";
        assert!(world.lines("open https")[0].contains(resource) && world.lines("/token")[0].contains(resource));
    }
}

#[test]
fn the_method_of_the_registration_counts() {
    for (method, end) in [("none", "client_id=new"), ("client_secret_post", "client_secret=s")] {
        let mut world = World::new();
        let client = json!({"client_id": "new", "client_secret": "s", "token_endpoint_auth_method": method});
        world.on("POST https://login.example.com/register", reply(201, &client));
        world.authorize().unwrap();
        assert!(world.lines("/token")[0].ends_with(end), "{:?}", world.lines("/token"));
    }
}

#[test]
fn a_server_that_registers_no_clients_needs_a_configured_one() {
    let members = json!({"registration_endpoint": null});
    let mut world = World::with(&resource_metadata(), &patched(server_metadata(), &members));
    unsupported(world.authorize(), "configure its id");
    assert!(world.lines("open https").is_empty());
}

#[test]
fn a_refused_registration_is_an_error_with_its_code() {
    let mut world = World::new();
    let refusal = json!({"error": "invalid_redirect_uri", "error_description": "no\r\n\u{202e}loop\u{200b}back"});
    world.on("POST https://login.example.com/register", reply(400, &refusal));
    let error = world.authorize().unwrap_err().to_string();
    assert_eq!(error, "the authorization server refuses (invalid_redirect_uri): noloopback");
}

/// `auth/authorization-server-migration`
#[test]
fn credentials_of_an_issuer_that_is_no_longer_named_are_dropped() {
    const NEW: &str = "https://new.example.com";
    let mut world = World::new();
    let old = world.authorize().unwrap();
    world.on(
        &format!("GET {PRM}/mcp"),
        reply(200, &patched(resource_metadata(), &json!({"authorization_servers": [NEW]}))),
    );
    world.on(&format!("GET {NEW}/.well-known/oauth-authorization-server"), reply(200, &metadata_of(NEW)));
    world.authorization_server(NEW);
    world.on(&format!("POST {NEW}/register"), reply(201, &json!({"client_id": "second"})));
    world.redirect = Box::new(|state| format!("code=c&state={state}&iss={NEW}"));
    world.transcript.clear();
    let credentials = world.challenge(config(), demand(401, "Bearer"), &[&old]).unwrap();
    assert_eq!(credentials.issuer(), NEW);
    assert_eq!(world.lines("remove"), [format!("remove of {ISSUER}")]);
    assert_eq!(world.lines("/register").len(), 1);
    assert!(world.lines("registered").is_empty(), "the old id is never sent: {:?}", world.transcript);
    assert!(world.lines(ISSUER).len() == 1, "{:?}", world.transcript);
}

#[test]
fn a_configured_client_does_not_move_to_another_issuer() {
    const NEW: &str = "https://new.example.com";
    let members = json!({"token_endpoint_auth_methods_supported": ["client_secret_basic"]});
    let mut world = World::with(&resource_metadata(), &patched(server_metadata(), &members));
    let config = || with_secret(ClientSecret::Secret("s".to_owned()));
    let old = world.challenge(config(), demand(401, "Bearer"), &[]).unwrap();
    let moved = patched(resource_metadata(), &json!({"authorization_servers": [NEW]}));
    world.on(&format!("GET {PRM}/mcp"), reply(200, &moved));
    world.on(&format!("GET {NEW}/.well-known/oauth-authorization-server"), reply(200, &metadata_of(NEW)));
    world.transcript.clear();
    unsupported(world.challenge(config(), demand(401, "Bearer"), &[&old]), "belongs to https://login.example.com");
    assert!(world.lines("POST").is_empty() && world.lines("open https").is_empty());
}

#[test]
fn a_registration_is_used_until_the_server_forgets_it() {
    let mut world = World::new();
    let known = world.authorize().unwrap();
    world.transcript.clear();
    world.challenge(config(), demand(401, "Bearer"), &[&known]).unwrap();
    assert!(world.lines("register").is_empty() || world.lines("POST https://login.example.com/register").is_empty());
    world.transcript.clear();
    world.on_each(
        "POST https://login.example.com/token",
        [reply(401, &json!({"error": "invalid_client"})), reply(200, &token("t2"))],
    );
    world.on("POST https://login.example.com/register", reply(201, &json!({"client_id": "again"})));
    let credentials = world.challenge(config(), demand(401, "Bearer"), &[&known]).unwrap();
    assert_eq!(credentials.authorization(), "Bearer t2");
    assert_eq!(world.lines("open https").len(), 2);
    assert_eq!(world.param("client_id"), Some("again"));
    assert_eq!(world.param("redirect_uri"), Some(REDIRECT));
}

#[test]
fn a_secret_that_has_expired_is_registered_again() {
    let members = json!({"token_endpoint_auth_methods_supported": ["client_secret_basic"]});
    let mut world = World::with(&resource_metadata(), &patched(server_metadata(), &members));
    let client = json!({"client_id": "new", "client_secret": "s", "client_secret_expires_at": 1_000_500});
    world.on("POST https://login.example.com/register", reply(201, &client));
    let known = world.authorize().unwrap();
    for (later, registrations) in [(499, 0), (500, 1)] {
        world.transcript.clear();
        world.now = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000 + later);
        world.challenge(config(), demand(401, "Bearer"), &[&known]).unwrap();
        assert_eq!(world.lines("/register").len(), registrations, "after {later} s");
    }
}

#[test]
fn metadata_is_asked_for_again_after_each_challenge() {
    let mut world = World::new();
    let known = world.authorize().unwrap();
    world.transcript.clear();
    world.challenge(config(), demand(401, "Bearer"), &[&known]).unwrap();
    assert_eq!(world.transcript[..2], [format!("GET {PRM}/mcp"), format!("GET {METADATA}")]);
}
