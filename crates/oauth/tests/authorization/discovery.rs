//! Finding the authorization server (official suite, `auth/metadata-*`, `auth/resource-mismatch`, `auth/2025-03-26-*`).

use protomcp_oauth::HttpResponse;
use serde_json::json;

use super::world::{
    ISSUER, METADATA, PRM, SERVER, World, config, demand, metadata_of, patched, reply, resource_metadata,
    server_metadata, token, unavailable, untrusted, with_header,
};

/// The requests before the user signs in.
#[track_caller]
fn check(world: &World, expected: &[&str]) {
    let gets: Vec<_> = world.transcript.iter().map(String::as_str).filter(|line| line.starts_with("GET")).collect();
    assert_eq!(gets, expected);
}

#[test]
fn a_whole_authorization_in_order() {
    let mut world = World::new();
    let credentials = world.authorize().unwrap();
    assert_eq!((credentials.issuer(), credentials.resource()), (ISSUER, SERVER));
    assert_eq!(credentials.authorization(), "Bearer t1");
    assert_eq!(
        world.transcript,
        [
            &format!("GET {PRM}/mcp"),
            &format!("GET {METADATA}"),
            "POST https://login.example.com/register",
            "open https://login.example.com/authorize client_id=registered resource=https://tools.example.com/mcp",
            "POST https://login.example.com/token grant_type=authorization_code code=c0de \
             resource=https://tools.example.com/mcp client_id=registered",
            "store for https://login.example.com",
        ]
    );
}

#[test]
fn documents_may_begin_with_a_byte_order_mark() {
    let mut world = World::new();
    for (request, document) in [
        (format!("GET {PRM}/mcp"), resource_metadata()),
        (format!("GET {METADATA}"), server_metadata()),
        (format!("POST {ISSUER}/register"), json!({"client_id": "registered"})),
        (format!("POST {ISSUER}/token"), token("t1")),
    ] {
        let mut response = reply(200, &document);
        response.body = format!("\u{feff}{document}").into_bytes();
        world.on(&request, response);
    }
    assert_eq!(world.authorize().unwrap().authorization(), "Bearer t1");
}

/// `auth/metadata-default`
#[test]
fn the_metadata_url_of_the_challenge_comes_first() {
    let mut world = World::new();
    world.on("GET https://tools.example.com/custom.json", reply(200, &resource_metadata()));
    let named = demand(401, "Bearer resource_metadata=\"https://tools.example.com/custom.json\"");
    world.challenge(config(), named, &[]).unwrap();
    check(&world, &["GET https://tools.example.com/custom.json", &format!("GET {METADATA}")]);
}

/// `auth/metadata-var1`
#[test]
fn openid_metadata_is_the_second_choice() {
    let mut world = World::new();
    let openid = format!("{ISSUER}/.well-known/openid-configuration");
    world.on(&format!("GET {METADATA}"), reply(404, &json!({})));
    world.on(&format!("GET {openid}"), reply(200, &server_metadata()));
    world.authorize().unwrap();
    check(&world, &[&format!("GET {PRM}/mcp"), &format!("GET {METADATA}"), &format!("GET {openid}")]);
}

/// `auth/metadata-var2`, `auth/metadata-var3`
#[test]
fn the_root_describes_no_issuer_with_a_path() {
    let issuer = format!("{ISSUER}/tenant1");
    for (location, gets) in [
        ("/.well-known/oauth-authorization-server/tenant1", 1),
        ("/.well-known/openid-configuration/tenant1", 2),
        ("/tenant1/.well-known/openid-configuration", 3),
    ] {
        let mut world = World::empty();
        let resource = json!({"resource": "https://tools.example.com", "authorization_servers": [issuer]});
        world.on(&format!("GET {PRM}"), reply(200, &resource));
        world.on(&format!("GET {ISSUER}{location}"), reply(200, &metadata_of(&issuer)));
        world.authorization_server(&issuer);
        world.redirect = Box::new(|state| format!("code=c&state={state}&iss=https://login.example.com/tenant1"));
        world.authorize().unwrap();
        // The resource is sent as published.
        assert_eq!(world.param("resource"), Some("https://tools.example.com"));
        assert_eq!(world.lines("GET https://tools").len(), 2, "{:?}", world.transcript);
        assert_eq!(world.lines(&format!("GET {ISSUER}")).len(), gets, "{:?}", world.transcript);
        assert!(!world.transcript.contains(&format!("GET {METADATA}")));
    }
}

/// `auth/resource-mismatch`
#[test]
fn metadata_of_another_resource_stops_the_flow() {
    for resource in [
        "https://evil.example.com/mcp",
        "http://tools.example.com/mcp",
        "https://tools.example.com:8443/mcp",
        "https://tools.example.com/mcp/admin",
        "https://tools.example.com/mc",
        "tools.example.com/mcp",
    ] {
        let mut world = World::with(&patched(resource_metadata(), &json!({"resource": resource})), &server_metadata());
        untrusted(world.authorize(), "resource");
        assert_eq!(world.transcript.len(), 1, "{resource}: {:?}", world.transcript);
    }
}

/// `auth/metadata-issuer-mismatch`
#[test]
fn the_issuer_is_compared_as_a_text() {
    for issuer in [
        "https://attacker.example.com",
        "https://login.example.com//",
        "https://LOGIN.example.com",
        "https://login.example.com:443",
        "",
    ] {
        let mut world = World::with(&resource_metadata(), &patched(server_metadata(), &json!({"issuer": issuer})));
        untrusted(world.authorize(), "names another issuer");
        check(&world, &[&format!("GET {PRM}/mcp"), &format!("GET {METADATA}")]);
        assert_eq!(world.transcript.len(), 2, "no endpoint of the document is used");
    }
    // The spelling with a slash is right if the resource spells it so, too.
    let slash = format!("{ISSUER}/");
    let resource = patched(resource_metadata(), &json!({"authorization_servers": [slash]}));
    let mut world = World::with(&resource, &patched(server_metadata(), &json!({"issuer": slash})));
    world.redirect = Box::new(|state| format!("code=c&state={state}&iss=https://login.example.com/"));
    assert_eq!(world.authorize().unwrap().issuer(), slash);
}

/// `auth/2025-03-26-oauth-metadata-backcompat`
#[test]
fn a_server_without_resource_metadata_is_its_own_issuer() {
    for issuer in ["https://tools.example.com", "https://tools.example.com/"] {
        let mut world = World::empty();
        let metadata = patched(
            metadata_of("https://tools.example.com"),
            &json!({
                "issuer": issuer,
                "token_endpoint": "https://tools.example.com/oauth/token",
                "authorization_response_iss_parameter_supported": null,
            }),
        );
        world.on("GET https://tools.example.com/.well-known/oauth-authorization-server", reply(200, &metadata));
        world.authorization_server("https://tools.example.com");
        world.authorization_server("https://tools.example.com/oauth");
        world.redirect = Box::new(|state| format!("code=c&state={state}"));
        assert_eq!(world.authorize().unwrap().issuer(), issuer);
        assert_eq!(world.param("resource"), None, "the revision has no such parameter");
        assert_eq!(world.lines("POST https://tools.example.com/oauth/token").len(), 1);
    }
}

/// MCP 2025-06-18, "Resource Parameter Implementation": the parameter is sent if the issuer supports it or not.
#[test]
fn an_issuer_elsewhere_is_always_told_the_resource() {
    // The server hides its metadata; the issuer is configured.
    let mut world = World::empty();
    world.on(&format!("GET {METADATA}"), reply(200, &server_metadata()));
    world.authorization_server(ISSUER);
    let config = || config().issuer(protomcp_oauth::Url::parse(ISSUER).unwrap());
    let with_refresh = patched(token("t1"), &json!({"refresh_token": "r1"}));
    world.on("POST https://login.example.com/token", reply(200, &with_refresh));
    let known = world.challenge(config(), demand(401, "Bearer"), &[]).unwrap();
    assert_eq!(world.param("resource"), Some(SERVER));
    assert!(world.lines("/token")[0].contains(&format!("resource={SERVER}")), "{:?}", world.transcript);
    // A refresh is still possible, with metadata or without.
    for resource in [reply(404, &json!({})), reply(200, &resource_metadata())] {
        world.transcript.clear();
        world.on(&format!("GET {PRM}/mcp"), resource);
        world.challenge(config(), demand(401, "Bearer"), &[&known]).unwrap();
        assert_eq!(world.lines("grant_type=refresh_token").len(), 1, "{:?}", world.transcript);
        assert!(world.lines("open https").is_empty());
    }
    // The server names endpoints elsewhere in its own metadata.
    for endpoint in ["authorization_endpoint", "token_endpoint", "registration_endpoint"] {
        let mut world = World::empty();
        let own = "https://tools.example.com";
        let elsewhere = format!("{ISSUER}/{}", endpoint.split('_').next().unwrap());
        let metadata = patched(
            metadata_of(own),
            &json!({endpoint: elsewhere, "authorization_response_iss_parameter_supported": null}),
        );
        world.on(&format!("GET {own}/.well-known/oauth-authorization-server"), reply(200, &metadata));
        world.authorization_server(own);
        world.authorization_server(ISSUER);
        world.on(&format!("POST {ISSUER}/registration"), reply(201, &json!({"client_id": "registered"})));
        world.redirect = Box::new(|state| format!("code=c&state={state}"));
        world.authorize().unwrap();
        assert_eq!(world.param("resource"), Some(SERVER), "{endpoint}");
        assert!(world.lines("/token")[0].contains(&format!("resource={SERVER}")), "{endpoint}");
    }
}

/// `auth/2025-03-26-oauth-endpoint-fallback`
#[test]
fn a_server_without_any_metadata_has_the_default_endpoints() {
    let mut world = World::empty();
    world.authorization_server("https://tools.example.com");
    world.redirect = Box::new(|state| format!("code=c&state={state}"));
    world.authorize().unwrap();
    assert_eq!(world.lines("POST https://tools.example.com/register").len(), 1);
    assert_eq!(world.lines("open https://tools.example.com/authorize").len(), 1);
    assert_eq!(world.lines("POST https://tools.example.com/token").len(), 1);
}

#[test]
fn a_server_with_a_fixed_token_has_no_issuer() {
    let mut world = World::empty();
    world.on("POST https://tools.example.com/register", reply(404, &json!({})));
    assert_eq!(world.authorize().unwrap_err(), protomcp_oauth::AuthorizationError::NoIssuer);
    assert!(world.lines("open https").is_empty());
}

#[test]
fn a_named_issuer_without_metadata_has_no_default_endpoints() {
    let mut world = World::new();
    world.on(&format!("GET {METADATA}"), reply(404, &json!({})));
    untrusted(world.authorize(), "publishes no metadata");
    assert!(world.lines("open https").is_empty() && world.lines("POST").is_empty());
}

#[test]
fn a_failing_server_is_not_an_old_one() {
    for status in [408, 421, 425, 429, 500, 503] {
        let mut world = World::new();
        world.on(&format!("GET {PRM}/mcp"), reply(status, &json!({})));
        unavailable(&world.authorize());
        assert_eq!(world.transcript.len(), 1);
    }
}

/// Only the absence of all documents indicates a server of MCP 2025-03-26.
#[test]
fn a_document_that_is_kept_back_is_not_absent() {
    let own = "https://tools.example.com";
    for status in [401, 402, 403, 451] {
        for path in ["oauth-protected-resource/mcp", "oauth-protected-resource", "oauth-authorization-server"] {
            let mut world = World::empty();
            world.authorization_server(own);
            world.on(&format!("GET {own}/.well-known/{path}"), reply(status, &json!({})));
            unavailable(&world.authorize());
            assert!(world.lines("open https").is_empty() && world.lines("POST").is_empty(), "{status} {path}");
        }
        // Another URL may have it.
        let mut world = World::new();
        world.on(&format!("GET {PRM}/mcp"), reply(status, &json!({})));
        world.on(&format!("GET {PRM}"), reply(200, &resource_metadata()));
        world.on(&format!("GET {METADATA}"), reply(status, &json!({})));
        world.on(&format!("GET {ISSUER}/.well-known/openid-configuration"), reply(200, &server_metadata()));
        world.authorize().unwrap();
    }
    for status in [400, 404, 405, 410] {
        let mut world = World::empty();
        world.authorization_server(own);
        world.on(&format!("GET {PRM}/mcp"), reply(status, &json!({})));
        world.redirect = Box::new(|state| format!("code=c&state={state}"));
        world.authorize().unwrap();
    }
}

#[test]
fn a_document_that_cannot_be_read_stops_the_flow() {
    let text = |text: &str| HttpResponse { body: text.as_bytes().to_vec(), ..reply(200, &json!({})) };
    let huge = patched(resource_metadata(), &json!({"padding": "x".repeat(protomcp_oauth::MAX_DOCUMENT)}));
    for broken in [text("{\"resource\": "), text("[]"), text(""), reply(200, &huge)] {
        let mut world = World::new();
        world.on(&format!("GET {PRM}/mcp"), broken.clone());
        untrusted(world.authorize(), "cannot be read");
        assert_eq!(world.transcript.len(), 2, "the root has none: {:?}", world.transcript);
        let mut world = World::new();
        world.on(&format!("GET {METADATA}"), broken);
        untrusted(world.authorize(), "cannot be read");
        assert!(world.lines("open https").is_empty());
    }
}

/// The sites of single-page applications answer every path with their page.
#[test]
fn a_web_page_is_an_absent_document() {
    let page = HttpResponse { body: b" \n<!doctype html><p>Hello".to_vec(), ..reply(200, &json!({})) };
    let typed = with_header(reply(200, &json!("Hello")), "content-type", "Text/HTML; charset=utf-8");
    for page in [page, typed] {
        let mut world = World::new();
        world.on(&format!("GET {PRM}/mcp"), page.clone());
        world.on(&format!("GET {PRM}"), reply(200, &resource_metadata()));
        world.authorize().unwrap();
        // But not where the server itself has said that the document is.
        let mut world = World::new();
        world.on("GET https://tools.example.com/custom.json", page);
        let named = demand(401, "Bearer resource_metadata=\"https://tools.example.com/custom.json\"");
        untrusted(world.challenge(config(), named, &[]), "cannot be read");
    }
}

#[test]
fn a_server_that_had_metadata_is_not_an_old_one() {
    let own = "https://tools.example.com";
    let known = World::new().authorize().unwrap();
    let old = || {
        let mut world = World::empty();
        world.authorization_server(own);
        world.redirect = Box::new(|state| format!("code=c&state={state}"));
        world
    };
    let mut world = old();
    let named = demand(401, &format!("Bearer resource_metadata=\"{PRM}/mcp\""));
    untrusted(world.challenge(config(), named, &[]), "names its metadata");
    assert!(world.lines("open https").is_empty());
    let mut world = old();
    unavailable(&world.challenge(config(), demand(401, "Bearer"), &[&known]));
    assert!(world.lines("open https").is_empty());
    // The credentials of the old server itself change nothing.
    let mut world = old();
    let own_credentials = world.authorize().unwrap();
    world.challenge(config(), demand(401, "Bearer"), &[&own_credentials]).unwrap();
}

#[test]
fn redirects_stay_within_their_origin_and_end() {
    let moved = |to: &str| with_header(reply(307, &json!({})), "location", to);
    let mut world = World::new();
    world.on(&format!("GET {PRM}/mcp"), moved("/elsewhere"));
    world.on("GET https://tools.example.com/elsewhere", moved("https://tools.example.com/here"));
    world.on("GET https://tools.example.com/here", reply(200, &resource_metadata()));
    world.authorize().unwrap();
    for target in ["https://evil.example.com/", "//evil.example.com/", "http://tools.example.com/x", "/elsewhere", ""] {
        let mut world = World::new();
        world.on(&format!("GET {PRM}/mcp"), moved(target));
        world.on("GET https://tools.example.com/elsewhere", moved("/elsewhere"));
        assert!(world.authorize().is_err(), "{target}");
        assert!(world.transcript.len() <= 4, "{:?}", world.transcript);
        assert!(world.lines("evil").is_empty());
    }
}

#[test]
fn a_guess_that_redirects_elsewhere_is_none() {
    for target in ["https://evil.example.com/", "elsewhere", ""] {
        let moved = with_header(reply(307, &json!({})), "location", target);
        let mut world = World::new();
        world.on(&format!("GET {PRM}/mcp"), moved.clone());
        world.on(&format!("GET {PRM}"), reply(200, &resource_metadata()));
        world.authorize().unwrap();
        assert!(world.lines("evil").is_empty());
        // A URL that the challenge has named is not a guess.
        let demand = demand(401, &format!("Bearer resource_metadata=\"{PRM}/mcp\""));
        assert!(world.challenge(config(), demand, &[]).is_err());
    }
}

#[test]
fn a_remote_server_cannot_refer_to_this_machine() {
    for local in ["https://localhost./", "https://a.localhost/", "https://0.0.0.0/", "https://[::ffff:127.0.0.1]/"] {
        let metadata = patched(resource_metadata(), &json!({"authorization_servers": [local]}));
        let mut world = World::with(&metadata, &json!({}));
        untrusted(world.authorize(), "this machine");
        assert_eq!(world.transcript.len(), 1, "{local}");
    }
    let local = "https://127.0.0.1/";
    let mut world = World::new();
    untrusted(
        world.challenge(config(), demand(401, "Bearer resource_metadata=\"http://localhost:1/\""), &[]),
        "this machine",
    );
    assert!(world.transcript.is_empty());
    let mut world = World::with(&patched(resource_metadata(), &json!({"authorization_servers": [local]})), &json!({}));
    untrusted(world.authorize(), "this machine");
    for endpoint in ["token_endpoint", "authorization_endpoint", "registration_endpoint"] {
        for url in [local, "http://login.example.com/", "javascript:alert(1)", "file:///etc/passwd"] {
            let mut world = World::with(&resource_metadata(), &patched(server_metadata(), &json!({endpoint: url})));
            untrusted(world.authorize(), "");
            assert_eq!(world.transcript.len(), 2, "{endpoint} {url}");
        }
    }
}

#[test]
fn a_remote_server_cannot_refer_to_a_private_network() {
    for private in ["https://10.0.0.1/", "https://169.254.169.254/latest", "https://[fd00::1]/", "https://[fe80::1]/"] {
        let metadata = patched(resource_metadata(), &json!({"authorization_servers": [private]}));
        let mut world = World::with(&metadata, &json!({}));
        untrusted(world.authorize(), "private network");
        assert_eq!(world.transcript.len(), 1, "{private}");
        let metadata = patched(server_metadata(), &json!({"token_endpoint": private}));
        untrusted(World::with(&resource_metadata(), &metadata).authorize(), "private network");
    }
}

#[test]
fn a_configured_issuer_is_the_only_one() {
    let issuer = |text: &str| config().issuer(protomcp_oauth::Url::parse(text).unwrap());
    let two = patched(resource_metadata(), &json!({"authorization_servers": ["https://other.example.com", ISSUER]}));
    let mut world = World::with(&two, &server_metadata());
    let credentials = world.challenge(issuer(ISSUER), demand(401, "Bearer"), &[]).unwrap();
    assert_eq!(credentials.issuer(), ISSUER);
    let mut world = World::new();
    untrusted(
        world.challenge(issuer("https://third.example.com"), demand(401, "Bearer"), &[]),
        "does not use the issuer",
    );
}
