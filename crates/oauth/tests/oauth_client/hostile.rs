//! Servers that break the rules.

use std::time::Duration;

use axum::response::IntoResponse;
use http::StatusCode;
use protomcp_oauth::{AuthorizationError, HttpClient};
use serde_json::json;

use super::servers::{World, challenge, json_reply, redirect};

#[tokio::test(flavor = "multi_thread")]
async fn the_metadata_of_another_issuer_is_not_used() {
    let world = World::start().await;
    let mut metadata = world.metadata();
    metadata["issuer"] = format!("{}/other", world.issuer.url).into();
    metadata["token_endpoint"] = format!("{}/token", world.stranger.url).into();
    world.issuer.on(move |_| json_reply(200, &metadata));
    let outcome = world.call(&world.client()).await;
    assert!(matches!(outcome, Err(AuthorizationError::Untrusted(_))), "{outcome:?}");
    assert_eq!((world.issuer.log().len(), world.browser.count()), (1, 0));
    world.check_destinations();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_step_up_ends() {
    // Once with the same scope, once with another each time.
    for grows in [false, true] {
        let world = World::start().await;
        let (mut answer, mut number) = (world.mcp_script(), 0);
        world.mcp.on(move |request| {
            let reply = answer(request);
            if reply.status() != StatusCode::OK || request.target != "/mcp" {
                return reply;
            }
            number += u32::from(grows);
            challenge(403, &format!("Bearer error=\"insufficient_scope\", scope=\"s{number}\""))
        });
        let client = world.client();
        for _ in 0..5 {
            let outcome = world.call(&client).await;
            let is_ended =
                matches!(outcome, Err(AuthorizationError::InsufficientScope(_) | AuthorizationError::Rejected(_)));
            assert!(is_ended, "{outcome:?}");
        }
        assert!(world.browser.count() <= 3, "{} authorizations", world.browser.count());
        world.check_destinations();
    }
}

/// The authorization server grants less than it is asked for, each time.
#[tokio::test(flavor = "multi_thread")]
async fn a_step_up_that_is_not_granted_ends() {
    let world = World::start().await;
    let mut answer = world.issuer_script();
    world.issuer.on(move |request| {
        let reply = answer(request);
        if request.target != "/token" || reply.status() != StatusCode::OK {
            return reply;
        }
        let token = json!({"access_token": "t1", "token_type": "Bearer", "scope": "a", "expires_in": 3600});
        json_reply(200, &token)
    });
    let mut answer = world.mcp_script();
    world.mcp.on(move |request| match request.target.as_str() {
        "/mcp" if request.authorization().is_some() => {
            challenge(403, "Bearer error=\"insufficient_scope\", scope=\"a b\"")
        }
        _ => answer(request),
    });
    let client = world.client();
    let outcome = world.call(&client).await;
    assert_eq!(outcome, Err(AuthorizationError::InsufficientScope("a b".to_owned())));
    for _ in 0..4 {
        let outcome = world.call(&client).await;
        let is_ended =
            matches!(outcome, Err(AuthorizationError::InsufficientScope(_) | AuthorizationError::Rejected(_)));
        assert!(is_ended, "{outcome:?}");
    }
    assert_eq!(world.browser.count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_rejects_every_token_ends() {
    let world = World::start().await;
    let mut answer = world.mcp_script();
    world.mcp.on(move |request| if request.target == "/mcp" { challenge(401, "Bearer") } else { answer(request) });
    let client = world.client();
    for _ in 0..5 {
        let outcome = world.call(&client).await;
        assert!(matches!(outcome, Err(AuthorizationError::Rejected(_))), "{outcome:?}");
    }
    assert!(world.browser.count() <= 2, "{}", world.browser.count());
    assert!(world.issuer.count("/token") <= 3, "{}", world.issuer.count("/token"));
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_lead_no_secret_away() {
    for path in ["/.well-known/oauth-authorization-server", "/register", "/token"] {
        let world = World::start().await;
        let (mut answer, target) = (world.issuer_script(), format!("{}{path}", world.stranger.url));
        world.issuer.on(move |request| if request.target == path { redirect(&target) } else { answer(request) });
        let outcome = world.call(&world.client()).await;
        assert!(outcome.is_err(), "{path}: {outcome:?}");
        world.check_destinations();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_loop_ends() {
    let world = World::start().await;
    let mut answer = world.mcp_script();
    world.mcp.on(move |request| if request.target == "/mcp" { answer(request) } else { redirect(&request.target) });
    let outcome = world.call(&world.client()).await;
    assert!(matches!(outcome, Err(AuthorizationError::Untrusted(_))), "{outcome:?}");
    assert_eq!(world.mcp.count("/.well-known"), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_server_is_given_up() {
    let world = World::start().await;
    let pending = futures_util::stream::pending::<Result<axum::body::Bytes, std::io::Error>>;
    world.issuer.on(move |_| axum::body::Body::from_stream(pending()).into_response());
    let client = world.builder().http(HttpClient::default().timeout(Duration::from_millis(200))).build();
    let outcome = world.call(&client).await;
    assert!(matches!(outcome, Err(AuthorizationError::Unavailable(_))), "{outcome:?}");
    assert_eq!(world.issuer.log().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_document_is_cut() {
    let world = World::start().await;
    let piece = axum::body::Bytes::from(vec![b' '; 64 * 1024]);
    let endless = move || {
        futures_util::stream::repeat_with({
            let piece = piece.clone();
            move || Ok::<_, std::io::Error>(piece.clone())
        })
    };
    world.issuer.on(move |_| axum::body::Body::from_stream(endless()).into_response());
    let outcome = world.call(&world.client()).await;
    assert!(matches!(outcome, Err(AuthorizationError::Untrusted(_))), "{outcome:?}");
    assert_eq!(world.issuer.log().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nonce_that_never_fits_ends() {
    let world = World::start().await;
    let mut answer = world.issuer_script();
    world.issuer.on(move |request| match request.target.as_str() {
        "/token" => json_reply(200, &json!({"access_token": "bound", "token_type": "DPoP"})),
        _ => answer(request),
    });
    let (mut answer, mut number) = (world.mcp_script(), 0);
    world.mcp.on(move |request| {
        if request.target != "/mcp" {
            return answer(request);
        }
        number += 1;
        let nonce = ("dpop-nonce", format!("n{number}"));
        let value = ("www-authenticate", "DPoP error=\"use_dpop_nonce\"".to_owned());
        (StatusCode::UNAUTHORIZED, [nonce, value]).into_response()
    });
    let outcome = world.call(&world.client()).await;
    assert!(matches!(outcome, Err(AuthorizationError::Rejected(_))), "{outcome:?}");
    assert_eq!((world.browser.count(), world.issuer.count("/token")), (1, 1));
    assert!(world.mcp.count("/mcp") <= 6, "{}", world.mcp.count("/mcp"));
    // Each request has carried its own proof.
    let proofs: Vec<_> = world.mcp.log().iter().filter_map(|request| request.headers.get("dpop").cloned()).collect();
    assert!(proofs.len() >= 2 && proofs.windows(2).all(|pair| pair[0] != pair[1]));
}
