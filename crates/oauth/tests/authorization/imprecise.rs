//! Documents that are not quite right, and safe to pass over or to accept.

use protomcp_oauth::HttpResponse;
use serde_json::json;

use super::world::{ISSUER, PRM, World, config, demand, patched, reply, resource_metadata, server_metadata, untrusted};

#[test]
fn the_spellings_of_an_issuer_may_differ_by_a_slash() {
    let (plain, slash) = (ISSUER.to_owned(), format!("{ISSUER}/"));
    for (named, published) in [(&plain, &slash), (&slash, &plain)] {
        // The redirect has the spelling of either document.
        for iss in [&plain, &slash] {
            let resource = patched(resource_metadata(), &json!({"authorization_servers": [named]}));
            let server = patched(server_metadata(), &json!({"issuer": published}));
            let mut world = World::with(&resource, &server);
            let iss = iss.clone();
            world.redirect = Box::new(move |state| format!("code=c&state={state}&iss={iss}"));
            let known = world.authorize().unwrap();
            assert_eq!(known.issuer(), published);
            // The credentials belong to this issuer, and stay.
            world.transcript.clear();
            let again = world.challenge(config(), demand(401, "Bearer"), &[&known]).unwrap();
            assert_eq!(again.issuer(), published);
            assert!(world.lines("remove of").is_empty(), "{:?}", world.transcript);
            assert!(world.lines("/register").is_empty(), "{:?}", world.transcript);
            // So do the credentials of a configured issuer.
            for configured in [&plain, &slash] {
                let config = config().issuer(protomcp_oauth::Url::parse(configured).unwrap());
                world.challenge(config, demand(401, "Bearer"), &[&known]).unwrap();
            }
        }
    }
}

#[test]
fn a_guessed_document_that_says_nothing_is_passed_over() {
    let text = |text: &str| HttpResponse { body: text.as_bytes().to_vec(), ..reply(200, &json!({})) };
    let described = |members: &serde_json::Value| reply(200, &patched(resource_metadata(), members));
    let own = "https://tools.example.com";
    for (document, reason) in [
        (reply(200, &json!({})), "names no resource"),
        (reply(200, &json!({"error": "not found"})), "names no resource"),
        (described(&json!({"resource": ""})), "names no resource"),
        (described(&json!({"authorization_servers": null})), "names no authorization server"),
        (described(&json!({"authorization_servers": []})), "names no authorization server"),
        (described(&json!({"authorization_servers": ISSUER})), "names no authorization server"),
        (text("[]"), "cannot be read"),
        (text("{\"resource\": "), "cannot be read"),
        (text(""), "cannot be read"),
    ] {
        let mut world = World::new();
        world.on(&format!("GET {PRM}/mcp"), document.clone());
        world.on(&format!("GET {PRM}"), reply(200, &resource_metadata()));
        world.authorize().unwrap();
        // Without another the first reason counts: the server is not one without metadata.
        for root in [reply(404, &json!({})), reply(200, &json!({"x": 1})), reply(403, &json!({}))] {
            let mut world = World::empty();
            world.authorization_server(own);
            world.on(&format!("GET {PRM}/mcp"), document.clone());
            world.on(&format!("GET {PRM}"), root);
            untrusted(world.authorize(), reason);
            assert_eq!(world.transcript.len(), 2, "{:?}", world.transcript);
        }
        // The server itself has said that this is the document.
        let mut world = World::new();
        world.on(&format!("GET {PRM}/mcp"), document);
        let named = demand(401, &format!("Bearer resource_metadata=\"{PRM}/mcp\""));
        untrusted(world.challenge(config(), named, &[]), reason);
        assert_eq!(world.transcript.len(), 1, "{:?}", world.transcript);
    }
    let mut world = World::new();
    let other = json!({"resource": "https://evil.example.com/mcp"});
    world.on(&format!("GET {PRM}/mcp"), reply(200, &other));
    untrusted(world.authorize(), "another resource");
    assert_eq!(world.transcript.len(), 1);
}
