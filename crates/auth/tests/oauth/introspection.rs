//! Asking the issuer what a token means.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::header::AUTHORIZATION;
use protomcp_auth::{ClientCredentials, Expected, HttpClient, Introspection, TokenError, Url, Verifier};
use serde_json::{Value, json};

use crate::issuer::{Issuer, RESOURCE, Reply};

fn verifier(issuer: &Issuer, client: HttpClient) -> Introspection {
    let endpoint = Url::parse(&format!("{}/introspect", issuer.url)).unwrap();
    let credentials = ClientCredentials::new("tools", "s3cret");
    Introspection::new(endpoint, credentials, Expected::new(&issuer.url, RESOURCE), client)
}

fn claims(issuer: &Issuer, seconds: u64) -> Value {
    let end = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(seconds);
    json!({"active": true, "aud": RESOURCE, "iss": issuer.url, "sub": "ann", "scope": "use", "exp": end.as_secs()})
}

#[tokio::test]
async fn the_issuer_is_asked_once_by_who_we_are() {
    let issuer = Issuer::start().await;
    let answer = claims(&issuer, 60);
    issuer.answers(move |path, request| {
        // tools:s3cret
        let is_known = request.headers().get(AUTHORIZATION).is_some_and(|value| value == "Basic dG9vbHM6czNjcmV0");
        let is_form = request.headers()["content-type"] == "application/x-www-form-urlencoded";
        match (path, request.method().as_str()) {
            ("/introspect", "POST") if is_known && is_form => Reply::Json(answer.clone()),
            _ => Reply::Status(401),
        }
    });
    let verifier = verifier(&issuer, HttpClient::default());
    for _ in 0..3 {
        let identity = verifier.verify("opaque").await.unwrap();
        assert_eq!((identity.subject(), identity.scopes().to_string().as_str()), (Some("ann"), "use"));
    }
    assert_eq!(issuer.requests(), 1);
}

#[tokio::test]
async fn an_answer_is_believed_no_longer_than_the_token_lives() {
    let issuer = Issuer::start().await;
    let (long, short) = (claims(&issuer, 3600), claims(&issuer, 5));
    for (answer, seconds) in [(long, 60), (short, 5)] {
        issuer.answers(move |_, _| Reply::Json(answer.clone()));
        let verifier = verifier(&issuer, HttpClient::default());
        verifier.verify("opaque").await.unwrap();
        let before = issuer.requests();
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(seconds)).await;
        tokio::time::resume();
        verifier.verify("opaque").await.unwrap();
        assert_eq!(issuer.requests(), before + 1, "{seconds}");
    }
}

#[tokio::test]
async fn what_is_not_active_or_not_for_us_is_refused() {
    let issuer = Issuer::start().await;
    let verifier = verifier(&issuer, HttpClient::default());
    let good = claims(&issuer, 60);
    let with = |name: &str, value: Value| {
        let mut claims = good.clone();
        claims[name] = value;
        claims
    };
    for (answer, why) in [
        (json!({"active": false}), "the token is not active"),
        (json!({}), "the token is not active"),
        (with("active", json!("true")), "the token is not active"),
        (with("aud", json!("https://other.example.com")), "the token is for another audience"),
        (with("aud", Value::Null), "the token is for another audience"),
        (with("iss", json!("https://evil.example.com")), "the token is from another issuer"),
        (with("exp", json!(1)), "the token has expired"),
    ] {
        let shown = answer.to_string();
        issuer.answers(move |_, _| Reply::Json(answer.clone()));
        assert_eq!(verifier.verify("opaque").await.unwrap_err(), TokenError::Invalid(why), "{shown}");
    }
}

#[tokio::test]
async fn an_issuer_that_does_not_answer_lets_nobody_in() {
    let issuer = Issuer::start().await;
    let verifier = verifier(&issuer, HttpClient::default().timeout(Duration::from_millis(50)));
    for number in 0..4 {
        issuer.answers(move |_, _| match number {
            0 => Reply::Status(401),
            1 => Reply::Status(302),
            2 => Reply::Text("nonsense".to_owned()),
            _ => Reply::Silence,
        });
        let outcome = verifier.verify("opaque").await;
        assert!(matches!(outcome, Err(TokenError::Unavailable(_))), "{number}: {outcome:?}");
    }
}
