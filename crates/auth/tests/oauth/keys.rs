//! Keys are found, kept, and fetched again when that helps.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::FutureExt;

use protomcp_auth::{HttpClient, JwtVerifier, KeySource, TokenError, TokenPolicy, Url, Verifier};
use serde_json::json;
use tokio::time::Instant;

use super::issuer::{Issuer, Key, RESOURCE, Reply, later};

fn verifier(issuer: &Issuer) -> JwtVerifier {
    let source = KeySource::Issuer(Url::parse(&issuer.url).unwrap());
    JwtVerifier::new(TokenPolicy::new(&issuer.url, RESOURCE), source, HttpClient::default())
}

#[tokio::test]
async fn keys_are_found_by_the_description_of_the_issuer_and_cached() {
    let (issuer, key) = (Issuer::start().await, Key::new("1"));
    issuer.shows(&[&key]);
    let verifier = verifier(&issuer);
    verifier.prepare().await.unwrap();
    for user in ["ann", "bob"] {
        let identity = verifier.verify(&key.token(&issuer.url, user, "use")).await.unwrap();
        assert_eq!((identity.subject(), identity.client()), (Some(user), Some("app")));
        assert_eq!(identity.issuer(), Some(issuer.url.as_str()));
    }
    assert_eq!(issuer.requests(), 2, "the description and the keys, once");
}

#[tokio::test]
async fn a_new_key_is_fetched_and_invented_ones_are_limited() {
    let (issuer, old, new) = (Issuer::start().await, Key::new("old"), Key::new("new"));
    issuer.shows(&[&old]);
    let verifier = verifier(&issuer);
    verifier.verify(&old.token(&issuer.url, "ann", "")).await.unwrap();
    issuer.shows(&[&old, &new]);
    for name in ["x", "y", "z"] {
        let outcome = verifier.verify(&Key::new(name).token(&issuer.url, "eve", "")).await;
        assert!(matches!(outcome, Err(TokenError::Unavailable(_))), "{outcome:?}");
    }
    assert_eq!(issuer.requests(), 2, "the issuer was asked a moment ago");
    later(10).await;
    verifier.verify(&new.token(&issuer.url, "ann", "")).await.unwrap();
    assert_eq!(issuer.requests(), 4);
    later(10).await;
    let outcome = verifier.verify(&Key::new("x").token(&issuer.url, "eve", "")).await;
    assert_eq!(outcome.unwrap_err(), TokenError::Invalid("the token is signed with a key that is not known"));
}

#[tokio::test]
async fn a_token_older_than_the_keys_is_rejected_without_a_fetch() {
    let (issuer, key) = (Issuer::start().await, Key::new("1"));
    issuer.shows(&[&key]);
    let verifier = verifier(&issuer);
    verifier.prepare().await.unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    for (age, is_older) in [(0, false), (20, false), (40, true), (4000, true)] {
        let token = Key::new("removed").token_of(&issuer.url, &json!({"sub": "bob", "iat": now - age}));
        match verifier.verify(&token).await.unwrap_err() {
            TokenError::Invalid(why) => assert!(is_older && why.contains("not known"), "{age}: {why}"),
            TokenError::Unavailable(why) => assert!(!is_older, "{age}: {why}"),
            other => panic!("{other}"),
        }
    }
    assert_eq!(issuer.requests(), 2);
}

#[tokio::test]
async fn a_dropped_request_does_not_stop_a_renewal() {
    let (issuer, old, new) = (Issuer::start().await, Key::new("old"), Key::new("new"));
    issuer.shows(&[&old]);
    let verifier = Arc::new(verifier(&issuer));
    verifier.prepare().await.unwrap();
    later(10).await;
    issuer.is_answering(false);
    issuer.shows(&[&new]);
    let (made_up, asks) = (Key::new("made up").token(&issuer.url, "eve", ""), Arc::clone(&verifier));
    let broken_off = tokio::spawn(async move { asks.verify(&made_up).await });
    issuer.asked(3).await;
    broken_off.abort();
    assert!(broken_off.await.unwrap_err().is_cancelled());
    let token = new.token(&issuer.url, "ann", "");
    let mut waiting = pin!(verifier.verify(&token));
    assert!(waiting.as_mut().now_or_never().is_none(), "it waits for the keys");
    issuer.is_answering(true);
    assert_eq!(waiting.await.unwrap().subject(), Some("ann"));
    assert_eq!(issuer.requests(), 4, "the attempt of the dropped request has been used");
}

#[tokio::test]
async fn only_a_request_with_an_unknown_key_waits_for_new_keys() {
    let (issuer, old, new) = (Issuer::start().await, Key::new("old"), Key::new("new"));
    issuer.shows(&[&old]);
    let verifier = verifier(&issuer);
    verifier.prepare().await.unwrap();
    later(10).await;
    issuer.is_answering(false);
    issuer.shows(&[&old, &new]);
    tokio::time::pause();
    let start = Instant::now();
    let outcome = verifier.verify(&new.token(&issuer.url, "ann", "")).await;
    assert!(matches!(outcome, Err(TokenError::Unavailable(_))), "{outcome:?}");
    assert_eq!(start.elapsed().as_secs(), 3);
    verifier.verify(&old.token(&issuer.url, "bob", "")).await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 3);
    tokio::time::resume();
    issuer.is_answering(true);
    verifier.verify(&new.token(&issuer.url, "ann", "")).await.unwrap();
    assert_eq!(issuer.requests(), 4);
}

#[tokio::test]
async fn keys_without_ids_are_renewed_when_none_of_them_fits() {
    let (issuer, old, new) = (Issuer::start().await, Key::unnamed(), Key::unnamed());
    issuer.shows(&[&old]);
    let verifier = verifier(&issuer);
    verifier.verify(&old.token(&issuer.url, "ann", "")).await.unwrap();
    issuer.shows(&[&new]);
    let token = new.token(&issuer.url, "ann", "");
    assert!(matches!(verifier.verify(&token).await, Err(TokenError::Unavailable(_))));
    later(10).await;
    verifier.verify(&token).await.unwrap();
    later(10).await;
    let wrong = TokenError::Invalid("the signature of the token is wrong");
    assert_eq!(verifier.verify(&old.token(&issuer.url, "bob", "")).await.unwrap_err(), wrong);
}

#[tokio::test]
async fn known_keys_outlast_an_issuer_that_is_away() {
    let (issuer, key) = (Issuer::start().await, Key::new("1"));
    issuer.shows(&[&key]);
    let verifier = verifier(&issuer);
    verifier.prepare().await.unwrap();
    issuer.answers(|_, _| Reply::Silence);
    later(700).await;
    // The future of the unanswered request is not awaited.
    let identity = verifier.verify(&key.token(&issuer.url, "ann", "")).await.unwrap();
    assert_eq!(identity.subject(), Some("ann"));
    later(25 * 3600).await;
    issuer.answers(|_, _| Reply::Status(500));
    let outcome = verifier.verify(&key.token(&issuer.url, "bob", "")).await;
    assert!(matches!(outcome, Err(TokenError::Unavailable(_))), "{outcome:?}");
}

#[tokio::test]
async fn an_old_key_set_is_renewed_while_it_serves() {
    let (issuer, key) = (Issuer::start().await, Key::new("1"));
    issuer.shows(&[&key]);
    let verifier = verifier(&issuer);
    verifier.prepare().await.unwrap();
    later(700).await;
    verifier.verify(&key.token(&issuer.url, "ann", "")).await.unwrap();
    issuer.asked(4).await;
}

#[tokio::test]
async fn tokens_are_unavailable_without_the_keys_of_the_issuer() {
    let key = Key::new("1");
    for (number, part) in [
        "answers with 500",
        "does not describe an authorization server",
        "describes the issuer \"https://evil.example.com\"",
        "names no key set (jwks_uri)",
        "is not https",
        "not a JSON Web Key Set",
        "none of its keys can check a signature",
        "sends more than 1048576 bytes",
        "does not answer within",
    ]
    .into_iter()
    .enumerate()
    {
        let issuer = Issuer::start().await;
        let url = issuer.url.clone();
        issuer.answers(move |path, _| match (number, path) {
            (0, _) => Reply::Status(500),
            (1, _) => Reply::Text("<html>".to_owned()),
            (2, "/.well-known/oauth-authorization-server") => {
                Reply::Json(json!({"issuer": "https://evil.example.com", "jwks_uri": format!("{url}/keys")}))
            }
            (3, _) => Reply::Json(json!({"issuer": url})),
            (4, _) => Reply::Json(json!({"issuer": url, "jwks_uri": "http://evil.example.com/keys"})),
            (_, "/.well-known/oauth-authorization-server") => {
                Reply::Json(json!({"issuer": url, "jwks_uri": format!("{url}/keys")}))
            }
            (5, _) => Reply::Text("[]".to_owned()),
            (6, _) => Reply::Json(json!({"keys": [{"kty": "oct", "k": "AAAA"}]})),
            (7, _) => Reply::Text("x".repeat(2 << 20)),
            _ => Reply::Silence,
        });
        let source = KeySource::Issuer(Url::parse(&issuer.url).unwrap());
        let client =
            if number == 8 { HttpClient::default().timeout(Duration::from_millis(50)) } else { HttpClient::default() };
        let verifier = JwtVerifier::new(TokenPolicy::new(&issuer.url, RESOURCE), source, client);
        match verifier.verify(&key.token(&issuer.url, "ann", "")).await {
            Err(TokenError::Unavailable(why)) => assert!(why.contains(part), "{part}: {why}"),
            outcome => panic!("{part}: {outcome:?}"),
        }
    }
}

#[tokio::test]
async fn a_file_of_keys_is_read_again() {
    let (old, new) = (Key::new("old"), Key::new("new"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    std::fs::write(&path, json!({"keys": [old.jwk()]}).to_string()).unwrap();
    let (issuer, source) = ("https://login.example.com", KeySource::File(path.clone()));
    let verifier = JwtVerifier::new(TokenPolicy::new(issuer, RESOURCE), source, HttpClient::default());
    verifier.verify(&old.token(issuer, "ann", "")).await.unwrap();
    std::fs::write(&path, json!({"keys": [new.jwk()]}).to_string()).unwrap();
    later(10).await;
    verifier.verify(&new.token(issuer, "ann", "")).await.unwrap();
    assert!(verifier.verify(&old.token(issuer, "bob", "")).await.is_err());
    std::fs::remove_file(&path).unwrap();
    later(10).await;
    assert!(verifier.verify(&new.token(issuer, "bob", "")).await.is_ok());
}
