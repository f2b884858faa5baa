//! Token checks by the issuer.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::FutureExt;
use http::header::AUTHORIZATION;
use protomcp_auth::{ClientCredentials, HttpClient, Introspection, PeerKey, TokenError, TokenPolicy, Url, Verifier};
use protomcp_testing::patience;
use serde_json::{Value, json};
use tokio::runtime;
use tokio::time::Instant;

use super::issuer::{Issuer, RESOURCE, Reply, later};

fn verifier(issuer: &Issuer, client: HttpClient) -> Introspection {
    let endpoint = Url::parse(&format!("{}/introspect?key=k3y", issuer.url)).unwrap();
    let credentials = ClientCredentials::new("tools", "s3cret");
    Introspection::new(endpoint, credentials, TokenPolicy::new(&issuer.url, RESOURCE), client)
}

fn claims(issuer: &Issuer, seconds: u64) -> Value {
    claims_of(&issuer.url, seconds)
}

fn claims_of(issuer: &str, seconds: u64) -> Value {
    let end = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(seconds);
    json!({"active": true, "aud": RESOURCE, "iss": issuer, "sub": "ann", "scope": "use", "exp": end.as_secs()})
}

#[tokio::test]
async fn the_issuer_is_asked_once_with_credentials() {
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
async fn an_answer_is_cached_until_the_token_ends() {
    let issuer = Issuer::start().await;
    for (valid, seconds) in [(3600, 60), (30, 30)] {
        // Its time begins with the answer.
        let url = issuer.url.clone();
        issuer.answers(move |_, _| Reply::Json(claims_of(&url, valid)));
        let verifier = verifier(&issuer, HttpClient::default());
        verifier.verify("opaque").await.unwrap();
        let before = issuer.requests();
        later(seconds).await;
        verifier.verify("opaque").await.unwrap();
        assert_eq!(issuer.requests(), before + 1, "{seconds}");
    }
}

#[tokio::test]
async fn a_refusal_elsewhere_ends_a_cached_answer() {
    let issuer = Issuer::start().await;
    let url = issuer.url.clone();
    issuer.answers(move |_, _| Reply::Json(claims_of(&url, 3600)));
    let here = Arc::new(verifier(&issuer, HttpClient::default()));
    here.verify("opaque").await.unwrap();
    here.verify("other").await.unwrap();

    let elsewhere = verifier(&issuer, HttpClient::default());
    let told = Arc::clone(&here);
    elsewhere.report_refusals(move |digest| assert!(told.forget(digest)));
    issuer.answers(|_, _| Reply::Json(json!({"active": false})));
    here.verify("opaque").await.expect("the answer is cached");
    for verifier in [&elsewhere, &*here] {
        assert_eq!(verifier.verify("opaque").await.unwrap_err(), TokenError::Invalid("the token is not active"));
    }
    here.verify("other").await.expect("the answer is cached");
}

#[tokio::test]
async fn refusals_are_reported_at_a_bounded_rate() {
    let issuer = Issuer::start().await;
    issuer.answers(|_, _| Reply::Json(json!({"active": false})));
    let verifier = verifier(&issuer, HttpClient::default());
    let reports = Arc::new(AtomicUsize::new(0));
    let (counted, begun) = (Arc::clone(&reports), Instant::now());
    verifier.report_refusals(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    for number in 0..250 {
        drop(verifier.verify(&number.to_string()).await);
    }
    // The second in which it began, and the later ones.
    let most = 100 * (usize::try_from(begun.elapsed().as_secs()).unwrap() + 1);
    let reports = reports.load(Ordering::Relaxed);
    assert!((100..=most.min(250)).contains(&reports), "{reports}");
}

#[tokio::test]
async fn inactive_and_foreign_tokens_are_rejected() {
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
        assert_eq!(verifier.verify(&shown).await.unwrap_err(), TokenError::Invalid(why), "{shown}");
    }
}

#[tokio::test]
async fn a_refusal_is_cached_for_a_few_seconds() {
    let issuer = Issuer::start().await;
    issuer.answers(|_, _| Reply::Json(json!({"active": false})));
    let verifier = verifier(&issuer, HttpClient::default());
    let refused = async |token: &str, requests: usize| {
        let outcome = verifier.verify(token).await;
        assert_eq!(outcome.unwrap_err(), TokenError::Invalid("the token is not active"));
        assert_eq!(issuer.requests(), requests);
    };
    // On a busy machine the answer may be old before the clock stops.
    let mut number = 0;
    let token = loop {
        assert!(number < 100, "each answer takes longer than a second");
        let (token, begun) = (format!("made up {number}"), Instant::now());
        number += 1;
        refused(&token, number).await;
        tokio::time::pause();
        if begun.elapsed() < Duration::from_secs(1) {
            break token;
        }
        tokio::time::resume();
    };
    // Nothing waits for the issuer while the clock stands still.
    refused(&token, number).await;
    tokio::time::advance(Duration::from_secs(4)).await;
    refused(&token, number).await;
    tokio::time::advance(Duration::from_secs(1)).await;
    tokio::time::resume();
    refused(&token, number + 1).await;
    refused(&token, number + 1).await;
}

#[tokio::test]
async fn requests_with_one_token_share_a_question_that_outlives_them() {
    let issuer = Issuer::start().await;
    let answer = claims(&issuer, 60);
    issuer.answers(move |_, _| Reply::Json(answer.clone()));
    issuer.is_answering(false);
    let verifier = Arc::new(verifier(&issuer, HttpClient::default()));
    let mut requests: Vec<_> = (0..50)
        .map(|_| {
            let verifier = Arc::clone(&verifier);
            tokio::spawn(async move { verifier.verify("opaque").await })
        })
        .collect();
    issuer.asked(1).await;
    // The request that has asked, and a later one.
    requests.remove(20).abort();
    requests.remove(0).abort();
    issuer.is_answering(true);
    for request in requests {
        assert_eq!(request.await.unwrap().unwrap().subject(), Some("ann"));
    }
    assert_eq!(issuer.requests(), 1);
}

#[tokio::test]
async fn invented_tokens_of_one_machine_do_not_delay_another() {
    let issuer = Issuer::start().await;
    let good = claims(&issuer, 60);
    issuer.answers(|_, _| Reply::Json(json!({"active": false})));
    issuer.is_answering(false);
    let verifier = Arc::new(verifier(&issuer, HttpClient::default()));
    let ask = |token: String, last: u8| {
        let (verifier, peer) = (Arc::clone(&verifier), PeerKey::of_address([192, 0, 2, last].into()));
        tokio::spawn(async move { verifier.verify_for(&token, peer).await })
    };
    let made_up: Vec<_> = (0..1500).map(|number| ask(format!("made-up-{number}"), 1)).collect();
    issuer.asked(26).await;
    let other = ask("opaque".to_owned(), 2);
    issuer.asked(27).await;
    assert_eq!(issuer.requests(), 27, "four fifths of 32 slots for one machine, and one for the other");
    issuer.answers(move |_, _| Reply::Json(good.clone()));
    issuer.is_answering(true);
    assert_eq!(other.await.unwrap().unwrap().subject(), Some("ann"));
    let mut refused = 0;
    for request in made_up {
        refused += usize::from(matches!(request.await.unwrap(), Err(TokenError::Unavailable(_))));
    }
    assert!(refused >= 1500 - 26 - 205, "four fifths of 256 may wait: {refused}");
}

#[tokio::test]
async fn waiting_requests_with_one_token_ask_once() {
    let issuer = Issuer::start().await;
    let answer = claims(&issuer, 60);
    issuer.answers(move |_, _| Reply::Json(answer.clone()));
    issuer.is_answering(false);
    let verifier = Arc::new(verifier(&issuer, HttpClient::default()));
    let ask = |token: String| {
        let verifier = Arc::clone(&verifier);
        tokio::spawn(async move { verifier.verify(&token).await })
    };
    let mut requests: Vec<_> = (0..26).map(|number| ask(format!("other-{number}"))).collect();
    issuer.asked(26).await;
    requests.extend((0..50).map(|_| ask("opaque".to_owned())));
    // They run until they wait, before the issuer answers.
    tokio::task::yield_now().await;
    issuer.is_answering(true);
    for request in requests {
        request.await.unwrap().unwrap();
    }
    assert_eq!(issuer.requests(), 27);
}

#[tokio::test]
async fn a_request_waits_for_a_slot_for_a_short_time() {
    let issuer = Issuer::start().await;
    issuer.is_answering(false);
    let verifier = Arc::new(verifier(&issuer, HttpClient::default()));
    for number in 0..26 {
        let verifier = Arc::clone(&verifier);
        tokio::spawn(async move { verifier.verify(&format!("made-up-{number}")).await });
    }
    issuer.asked(26).await;
    tokio::time::pause();
    let start = Instant::now();
    let outcome = verifier.verify("one more").await;
    assert!(matches!(outcome, Err(TokenError::Unavailable(_))), "{outcome:?}");
    assert_eq!(start.elapsed().as_secs(), 2);
}

#[tokio::test]
async fn tokens_are_unavailable_while_the_issuer_does_not_answer() {
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
        let Err(TokenError::Unavailable(why)) = outcome else { panic!("{number}: {outcome:?}") };
        assert!(why.contains("/introspect") && !why.contains("k3y"), "{number}: {why}");
    }
}

#[test]
fn a_question_in_a_runtime_that_is_gone_is_broken_off() {
    let runtime = runtime::Builder::new_current_thread().build().unwrap();
    let handle = runtime.handle().clone();
    drop(runtime);
    let (sender, outcomes) = mpsc::channel();
    thread::spawn(move || {
        let _entered = handle.enter();
        let endpoint = Url::parse("http://127.0.0.1:1/introspect").unwrap();
        let credentials = ClientCredentials::new("tools", "s3cret");
        let policy = TokenPolicy::new("http://127.0.0.1:1", RESOURCE);
        let verifier = Introspection::new(endpoint, credentials, policy, HttpClient::default());
        for _ in 0..2 {
            sender.send(verifier.verify("opaque").now_or_never()).unwrap();
        }
    });
    for _ in 0..2 {
        let outcome = outcomes.recv_timeout(patience()).expect("no lock is waited for");
        let is_broken_off =
            matches!(&outcome, Some(Err(TokenError::Unavailable(why))) if why.contains("was broken off"));
        assert!(is_broken_off, "{outcome:?}");
    }
}
