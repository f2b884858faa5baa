//! Grants without a user (official suite, `auth/client-credentials-*`, `auth/enterprise-managed-authorization`,
//! `auth/wif-jwt-bearer`).

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protomcp_oauth::{
    AuthorizationError, AuthorizationFlow, ClientSecret, ConfiguredClient, Es256Key, Grant, IdentityProvider,
    OAuthConfig, Url,
};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::json;

use super::world::{
    ISSUER, World, claims, config, demand, pairs, patched, reply, resource_metadata, server_metadata, unsupported,
};

const RESOURCE: &str = "resource=https://tools.example.com/mcp";

fn machine(secret: ClientSecret, grant: Grant) -> OAuthConfig {
    unpinned(secret, grant).issuer(Url::parse(ISSUER).unwrap())
}

/// A client that takes the issuer from the MCP server.
fn unpinned(secret: ClientSecret, grant: Grant) -> OAuthConfig {
    config().client(ConfiguredClient::new("workload", secret)).grant(grant)
}

fn world(auth_method: &str) -> World {
    let members = json!({
        "token_endpoint_auth_methods_supported": [auth_method],
        "registration_endpoint": null,
        "authorization_endpoint": null,
        "code_challenge_methods_supported": null,
    });
    World::with(&resource_metadata(), &patched(server_metadata(), &members))
}

/// `auth/client-credentials-basic`
#[test]
fn client_credentials_with_a_secret() {
    let mut world = world("client_secret_basic");
    let config = machine(ClientSecret::Secret("s".to_owned()), Grant::ClientCredentials);
    world.challenge(config, demand(401, "Bearer scope=\"a\""), &[]).unwrap();
    let expected = format!("/token grant_type=client_credentials {RESOURCE} scope=a [workload:s]");
    assert!(world.lines("/token")[0].ends_with(&expected), "{:?}", world.transcript);
    assert!(world.lines("open https").is_empty());
}

/// `auth/client-credentials-jwt`
#[test]
fn client_credentials_with_a_key() {
    let mut world = world("private_key_jwt");
    let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", STANDARD.encode(der));
    let key = Es256Key::from_pem(&pem).unwrap();
    world.challenge(machine(ClientSecret::Key(key), Grant::ClientCredentials), demand(401, "Bearer"), &[]).unwrap();
    let form = pairs(&world.sent[0].body);
    let value = |name: &str| form.iter().find(|(known, _)| known == name).unwrap().1.as_str();
    assert_eq!(value("client_assertion_type"), "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    let (header, claims) = claims(value("client_assertion"));
    assert_eq!(header, json!({"alg": "ES256", "typ": "JWT"}));
    // The audience is the issuer, and not the endpoint, so that no other server can use the assertion.
    assert_eq!((&claims["iss"], &claims["sub"]), (&json!("workload"), &json!("workload")));
    assert_eq!(claims["aud"], "https://login.example.com");
    assert_eq!((&claims["iat"], &claims["exp"]), (&json!(1_000_000), &json!(1_000_300)));
    assert!(claims["jti"].as_str().unwrap().len() >= 22);
}

/// `auth/wif-jwt-bearer`
#[test]
fn a_workload_shows_its_assertion_once() {
    let mut world = world("none");
    world.subject = Ok("workload-jwt".to_owned());
    world.challenge(machine(ClientSecret::None, Grant::JwtBearer), demand(401, "Bearer"), &[]).unwrap();
    assert_eq!(world.lines("identify"), ["identify for https://login.example.com"]);
    let line = format!(
        "/token grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer assertion=workload-jwt {RESOURCE} client_id=workload"
    );
    assert!(world.lines("/token")[0].ends_with(&line), "{:?}", world.transcript);
    for code in ["invalid_grant", "invalid_scope", "unauthorized_client", "invalid_client"] {
        world.transcript.clear();
        world.on("POST https://login.example.com/token", reply(400, &json!({"error": code})));
        let outcome = world.challenge(machine(ClientSecret::None, Grant::JwtBearer), demand(401, "Bearer"), &[]);
        assert_eq!(outcome, Err(AuthorizationError::Refused { code: code.to_owned(), description: None }));
        assert_eq!(world.lines("/token").len(), 1, "neither a second request nor another grant");
    }
}

/// `auth/enterprise-managed-authorization`
#[test]
fn an_enterprise_exchanges_the_id_token_first() {
    let mut world = world("client_secret_basic");
    world.subject = Ok("id-token".to_owned());
    let exchanged = json!({
        "access_token": "jag", "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag", "token_type": "N_A",
    });
    world.on("POST https://idp.example.com/token", reply(200, &exchanged));
    let idp = Url::parse("https://idp.example.com/token").unwrap();
    let idp = IdentityProvider::new(idp, ConfiguredClient::new("idp-client", ClientSecret::None));
    let config = || machine(ClientSecret::Secret("s".to_owned()), Grant::EnterpriseManaged(idp.clone()));
    world.challenge(config(), demand(401, "Bearer"), &[]).unwrap();
    let posts = world.lines("POST");
    assert_eq!(
        posts,
        [
            format!(
                "POST https://idp.example.com/token grant_type=urn:ietf:params:oauth:grant-type:token-exchange \
                 requested_token_type=urn:ietf:params:oauth:token-type:id-jag audience=https://login.example.com \
                 subject_token=id-token subject_token_type=urn:ietf:params:oauth:token-type:id_token {RESOURCE} \
                 client_id=idp-client"
            ),
            format!(
                "POST https://login.example.com/token grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer \
                 assertion=jag {RESOURCE} [workload:s]"
            ),
        ]
    );
    // Another type of token is not an assertion, and is sent to no one.
    let other = patched(exchanged, &json!({"issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}));
    world.on("POST https://idp.example.com/token", reply(200, &other));
    world.transcript.clear();
    assert!(world.challenge(config(), demand(401, "Bearer"), &[]).is_err());
    assert!(world.lines("POST https://login").is_empty());
}

#[test]
fn a_missing_subject_token_ends_the_flow() {
    let mut world = world("none");
    let error = AuthorizationError::Unavailable("no metadata service".to_owned());
    world.subject = Err(error.clone());
    let outcome = world.challenge(machine(ClientSecret::None, Grant::JwtBearer), demand(401, "Bearer"), &[]);
    assert_eq!(outcome, Err(error));
}

#[test]
fn machines_do_not_register_themselves() {
    let mut world = World::new();
    let outcome = world.challenge(config().grant(Grant::ClientCredentials), demand(401, "Bearer"), &[]);
    unsupported(outcome, "registered by hand");
    assert!(world.lines("POST").is_empty());
}

/// An MCP server could name its own issuer and collect secrets and assertions.
#[test]
fn secrets_and_assertions_go_to_a_configured_issuer_alone() {
    let secret = || ClientSecret::Secret("s3cret".to_owned());
    let idp = Url::parse("https://idp.example.com/token").unwrap();
    let idp = IdentityProvider::new(idp, ConfiguredClient::new("idp-client", ClientSecret::None));
    for config in [
        unpinned(secret(), Grant::ClientCredentials),
        unpinned(secret(), Grant::AuthorizationCode),
        unpinned(ClientSecret::None, Grant::JwtBearer),
        unpinned(ClientSecret::None, Grant::EnterpriseManaged(idp)),
    ] {
        let mut world = World::with(
            &resource_metadata(),
            &patched(server_metadata(), &json!({"token_endpoint_auth_methods_supported": ["client_secret_basic"]})),
        );
        unsupported(world.challenge(config.clone(), demand(401, "Bearer"), &[]), "names the issuer https://login");
        assert_eq!(world.transcript.len(), 2, "{:?}", world.transcript);
        // The refresh of a token from before, too.
        let mut known = World::new().authorize().unwrap();
        let mut patch = serde_json::to_value(&known).unwrap();
        patch["client"] = json!({"id": "workload", "source": "configured", "auth_method": "client_secret_basic"});
        patch["token"]["refresh_token"] = json!("r");
        known = serde_json::from_value(patch).unwrap();
        let (flow, action) = AuthorizationFlow::due(Arc::new(config), known, world.now);
        unsupported(world.run(flow, action), "names the issuer");
    }
    let trusting = unpinned(secret(), Grant::ClientCredentials).trust_named_issuer();
    world("client_secret_basic").challenge(trusting, demand(401, "Bearer"), &[]).unwrap();
}
