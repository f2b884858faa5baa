//! Challenges of the server, and the authorizer that answers them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use protomcp_http_client::{HeaderError, HttpTransport};
use protomcp_oauth::{AuthorizationError, Authorizer, BoxFuture, Challenge};
use protomcp_testing::in_time;
use protomcp_transport::{NoAnswer, RequestStreams, Sink, Transport};
use tokio::sync::Notify;

use super::peer::{Peer, params, quick};
use super::script::{Part, Script, json, response, result};

/// Has the tokens `t0`, `t1` and so on, one for each challenge.
#[derive(Default)]
struct Tokens {
    number: AtomicU32,
    challenges: Mutex<Vec<Challenge>>,
    nonces: Mutex<Vec<String>>,
    /// The reaction to a challenge.
    reaction: Option<Result<bool, AuthorizationError>>,
}

impl Authorizer for Tokens {
    fn headers<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(HeaderName, HeaderValue)>, AuthorizationError>> {
        let token = format!("Bearer t{}", self.number.load(Ordering::SeqCst));
        Box::pin(async move { Ok(vec![(AUTHORIZATION, HeaderValue::try_from(token).unwrap())]) })
    }

    fn challenged<'a>(&'a self, challenge: Challenge) -> BoxFuture<'a, Result<bool, AuthorizationError>> {
        self.challenges.lock().unwrap().push(challenge);
        self.number.fetch_add(1, Ordering::SeqCst);
        let reaction = self.reaction.clone().unwrap_or(Ok(true));
        Box::pin(async move { reaction })
    }

    fn nonce(&self, _: &str, nonce: &str) {
        self.nonces.lock().unwrap().push(nonce.to_owned());
    }

    fn context(&self) -> u64 {
        self.number.load(Ordering::SeqCst).into()
    }
}

fn peer(script: &Script, tokens: &Arc<Tokens>) -> Peer {
    let tokens = Arc::clone(tokens);
    Peer::with(HttpTransport::new(&script.url()).unwrap().limits(quick()).authorizer(tokens))
}

#[tokio::test]
async fn a_challenge_is_answered_and_the_request_repeated() {
    let script = Script::new(|request| match request.headers["authorization"].as_str() {
        "Bearer t2" => response(200, "content-type: application/json\r\ndpop-nonce: n2\r\n", &result(1, "{}")),
        "Bearer t1" => response(403, "www-authenticate: Bearer error=\"insufficient_scope\"\r\n", ""),
        _ => response(401, "www-authenticate: Bearer a=b\r\nwww-authenticate: DPoP\r\ndpop-nonce: n1\r\n", ""),
    })
    .await;
    let tokens = Arc::new(Tokens::default());
    let mut peer = peer(&script, &tokens);
    peer.request(1, "tools/list", params("{}")).await;
    assert_eq!(peer.result(1).await, "{}");
    let challenges = tokens.challenges.lock().unwrap().clone();
    assert_eq!(challenges.len(), 2);
    let first = &challenges[0];
    assert_eq!((first.status.as_u16(), first.attempt, first.url.as_str()), (401, 1, script.url().as_str()));
    assert_eq!(first.www_authenticate, ["Bearer a=b", "DPoP"]);
    assert_eq!(first.dpop_nonce.as_deref(), Some("n1"));
    assert_eq!(first.authorization, Some(HeaderValue::from_static("Bearer t0")));
    assert_eq!((challenges[1].status.as_u16(), challenges[1].attempt), (403, 2));
    assert_eq!(*tokens.nonces.lock().unwrap(), ["n2"]);
}

#[tokio::test]
async fn endless_challenges_end_after_three() {
    for (status, reason) in [(401, NoAnswer::Unauthorized), (403, NoAnswer::Status(403))] {
        let script = Script::new(move |_| response(status, "", "")).await;
        let tokens = Arc::new(Tokens::default());
        let (found, _) = peer(&script, &tokens).fails(1, "tools/list").await;
        assert_eq!(found, reason);
        assert_eq!((tokens.challenges.lock().unwrap().len(), script.requests().len()), (3, 4));
    }
}

#[tokio::test]
async fn a_challenge_without_a_token_is_the_answer() {
    let refused = AuthorizationError::SignInRequired("open the browser".to_owned());
    for (reaction, expected) in [
        (Ok(false), "the server replied with 401 Unauthorized"),
        (Err(refused), "a user has to sign in: open the browser"),
    ] {
        let script = Script::new(move |_| response(401, "", "")).await;
        let tokens = Arc::new(Tokens { reaction: Some(reaction), ..Tokens::default() });
        let failure = peer(&script, &tokens).fails(1, "tools/list").await;
        assert_eq!(failure, (NoAnswer::Unauthorized, expected.to_owned()));
        assert_eq!(script.requests().len(), 1);
    }
}

#[tokio::test]
async fn configured_fields_are_sent_with_every_request() {
    let script = Script::new(super::script::in_session(|_| json(&result(1, "{}")))).await;
    let transport = HttpTransport::new(&script.url()).unwrap().header("X-Api-Key", "k").unwrap();
    let mut peer = Peer::with(transport);
    peer.initialize(protomcp_types::ProtocolVersion::V2025_11_25).await;
    peer.request(1, "tools/list", params("{}")).await;
    peer.result(1).await;
    // The handshake, its end, GET, and the request.
    assert!(script.seen(4).await.iter().all(|request| request.headers["x-api-key"] == "k"));
}

/// Two tokens in a request are an error (RFC 6750, section 2), or one of them is chosen by the server.
#[tokio::test]
async fn the_fields_of_the_authorizer_replace_configured_ones() {
    let script = Script::new(|_| json(&result(1, "{}"))).await;
    let transport = HttpTransport::new(&script.url()).unwrap().header("Authorization", "Bearer fixed").unwrap();
    let mut peer = Peer::with(transport.limits(quick()).authorizer(Arc::new(Tokens::default())));
    peer.request(1, "tools/list", params("{}")).await;
    peer.result(1).await;
    assert_eq!(script.requests()[0].headers["authorization"], "Bearer t0");
}

#[tokio::test]
async fn a_client_can_tell_the_tokens_apart() {
    let transport = || HttpTransport::new("http://127.0.0.1:1/").unwrap();
    let (_source, mut sink) = transport().split();
    assert_eq!(sink.request_streams().unwrap().authorization().number(), 0);
    let tokens = Arc::new(Tokens::default());
    let (_source, mut sink) = transport().authorizer(Arc::clone(&tokens) as Arc<dyn Authorizer>).split();
    let context = sink.request_streams().unwrap().authorization();
    assert_eq!(context.number(), 0);
    tokens.number.store(7, Ordering::SeqCst);
    assert_eq!(context.number(), 7);
}

#[test]
fn fields_of_the_transport_are_not_configurable() {
    let header = |name: &str, value: &str| HttpTransport::new("http://a/").unwrap().header(name, value).map(drop);
    assert_eq!(header("x-key", "k"), Ok(()));
    for name in ["accept", "Content-Type", "mcp-session-id", "host", "connection"] {
        assert_eq!(header(name, "x"), Err(HeaderError::Reserved(name.to_owned())));
    }
    assert_eq!(header("a b", "x"), Err(HeaderError::Name("a b".to_owned())));
    let error = header("x-key", "s3cret\n").unwrap_err();
    assert!(!error.to_string().contains("s3cret"));
}

/// Waits for its user each time that it is asked.
#[derive(Default)]
struct Patient {
    asked: Notify,
    signed_in: Notify,
}

impl Patient {
    async fn wait(&self) {
        self.asked.notify_one();
        self.signed_in.notified().await;
    }
}

impl Authorizer for Patient {
    fn headers<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(HeaderName, HeaderValue)>, AuthorizationError>> {
        Box::pin(async move {
            self.wait().await;
            Ok(Vec::new())
        })
    }

    fn challenged<'a>(&'a self, _: Challenge) -> BoxFuture<'a, Result<bool, AuthorizationError>> {
        Box::pin(async move {
            self.wait().await;
            Ok(true)
        })
    }

    fn nonce(&self, _: &str, _: &str) {}

    fn context(&self) -> u64 {
        0
    }
}

#[tokio::test]
async fn the_time_of_a_request_begins_after_a_sign_in() {
    let go = Arc::new(Notify::new());
    let waiting = Arc::clone(&go);
    let script = Script::new(move |request| match request.index {
        0 => response(401, "", ""),
        _ => [vec![Part::Wait(Arc::clone(&waiting))], json(&result(1, "{}"))].concat(),
    })
    .await;
    let patient = Arc::new(Patient::default());
    let authorizer = Arc::clone(&patient);
    let transport = HttpTransport::new(&script.url()).unwrap().limits(quick()).authorizer(authorizer);
    let mut peer = Peer::with(transport);
    let later = Instant::now() + Duration::from_secs(3600);
    peer.request(1, "tools/call", params("{}")).await;
    // The fields of the request, the challenge, and the fields again.
    for _ in 0..3 {
        in_time(patient.asked.notified()).await.expect("the user is not asked");
        assert_eq!(peer.sink.turn(&1.into(), later), Some(later), "it waits");
        patient.signed_in.notify_one();
    }
    script.seen(2).await;
    assert!(peer.sink.turn(&1.into(), later).unwrap() < later);
    go.notify_one();
    assert_eq!(peer.result(1).await, "{}");
}
