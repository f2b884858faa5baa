//! The redirect of a browser (official suite, `auth/iss-*`).

use protomcp_oauth::AuthorizationError;
use serde_json::{Value, json};

use super::world::{World, patched, resource_metadata, server_metadata, unsupported, untrusted};

/// `auth/iss-supported`, `-not-advertised`, `-supported-missing`, `-wrong-issuer`, `-unexpected`, `-normalized`
#[test]
fn the_issuer_of_a_redirect_is_compared_as_a_text() {
    for (advertised, iss, accepted) in [
        (json!(true), "&iss=https://login.example.com", true),
        (Value::Null, "", true),
        (Value::Null, "&iss=https://login.example.com", true),
        (json!(true), "", false),
        (json!(true), "&iss=https://evil.example.com", false),
        (Value::Null, "&iss=https://evil.example.com", false),
        (json!(true), "&iss=https://login.example.com/", false),
        (json!(true), "&iss=https://LOGIN.example.com", false),
        (json!(true), "&iss=https://login.example.com:443", false),
        (json!(true), "&iss=https://login.example.com&iss=https://evil.example.com", false),
    ] {
        let members = json!({"authorization_response_iss_parameter_supported": advertised});
        let mut world = World::with(&resource_metadata(), &patched(server_metadata(), &members));
        world.redirect = Box::new(move |state| format!("code=c&state={state}{iss}"));
        let outcome = world.authorize();
        assert_eq!(world.lines("open https").len(), 1);
        assert_eq!(world.lines("/token").len(), usize::from(accepted), "{advertised} {iss}");
        if !accepted {
            untrusted(outcome, "redirect");
        }
    }
}

#[test]
fn a_redirect_without_its_state_or_code_is_rejected() {
    for query in
        ["code=c", "code=c&state=guess", "code=c&state=guess&state=STATE", "state=STATE", "", "%", "state=STATE&code="]
    {
        let mut world = World::new();
        world.redirect =
            Box::new(move |state| format!("{}&iss=https://login.example.com", query.replace("STATE", state)));
        untrusted(world.authorize(), "redirect");
        assert!(world.lines("/token").is_empty(), "{query}");
    }
}

#[test]
fn the_refusal_of_a_user_is_an_error_with_its_code() {
    let mut world = World::new();
    world.redirect = Box::new(|state| {
        format!("error=access_denied&error_description=no+thanks&state={state}&iss=https://login.example.com")
    });
    let description = Some("no thanks".to_owned());
    assert_eq!(world.authorize(), Err(AuthorizationError::Refused { code: "access_denied".to_owned(), description }));
    // The error of another issuer is not its error.
    world.redirect = Box::new(|state| format!("error=access_denied&state={state}&iss=https://evil.example.com"));
    untrusted(world.authorize(), "evil");
}

#[test]
fn nothing_begins_without_pkce() {
    for methods in [json!(null), json!([]), json!(["plain"])] {
        let members = json!({"code_challenge_methods_supported": methods});
        let mut world = World::with(&resource_metadata(), &patched(server_metadata(), &members));
        unsupported(world.authorize(), "PKCE");
        assert!(world.lines("open https").is_empty() && world.lines("register").is_empty());
    }
}

#[test]
fn the_endpoint_keeps_its_own_query() {
    let members = json!({"authorization_endpoint": "https://login.example.com/authorize?tenant=a"});
    let mut world = World::with(&resource_metadata(), &patched(server_metadata(), &members));
    world.authorize().unwrap();
    assert_eq!((world.param("tenant"), world.param("client_id")), (Some("a"), Some("registered")));
}

#[test]
fn states_and_verifiers_are_new_each_time() {
    let mut world = World::new();
    let mut seen = std::collections::HashSet::new();
    for _ in 0..3 {
        world.authorize().unwrap();
        for name in ["state", "code_challenge"] {
            assert!(seen.insert(world.param(name).unwrap().to_owned()));
        }
    }
}
