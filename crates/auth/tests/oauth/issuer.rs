//! An authorization server with scripted answers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::State;
use axum::response::IntoResponse;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{Request, StatusCode};
use protomcp_testing::until;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use tokio::sync::watch;

/// The server that tokens are for.
pub(crate) const RESOURCE: &str = "https://tools.example.com/mcp";

type Answer = Box<dyn Fn(&str, &Request<axum::body::Body>) -> Reply + Send + Sync>;

/// The answer to a request.
pub(crate) enum Reply {
    Json(Value),
    Status(u16),
    Text(String),
    /// The request stays unanswered.
    Silence,
}

struct Inner {
    answer: Mutex<Arc<Answer>>,
    requests: AtomicUsize,
    /// False while requests must wait for their answer.
    answering: watch::Sender<bool>,
}

/// A server on this machine.
pub(crate) struct Issuer {
    pub(crate) url: String,
    inner: Arc<Inner>,
}

impl Issuer {
    pub(crate) async fn start() -> Self {
        let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", socket.local_addr().unwrap());
        let answer: Answer = Box::new(|_, _| Reply::Status(404));
        let (answer, answering) = (Mutex::new(Arc::new(answer)), watch::Sender::new(true));
        let inner = Arc::new(Inner { answer, requests: AtomicUsize::new(0), answering });
        let app = Router::new().fallback(serve).with_state(Arc::clone(&inner));
        tokio::spawn(async move { axum::serve(socket, app).await });
        Self { url, inner }
    }

    /// Answers later requests with this.
    pub(crate) fn answers(&self, answer: impl Fn(&str, &Request<axum::body::Body>) -> Reply + Send + Sync + 'static) {
        *self.inner.answer.lock().unwrap() = Arc::new(Box::new(answer));
    }

    /// Describes itself and publishes these keys from now on.
    pub(crate) fn shows(&self, keys: &[&Key]) {
        let (issuer, keys) = (self.url.clone(), keys.iter().map(|key| key.jwk()).collect::<Vec<_>>());
        self.answers(move |path, _| match path {
            "/.well-known/oauth-authorization-server" => {
                Reply::Json(json!({"issuer": issuer, "jwks_uri": format!("{issuer}/keys")}))
            }
            "/keys" => Reply::Json(json!({"keys": keys})),
            _ => Reply::Status(404),
        });
    }

    /// Answers requests from now on, or makes them wait.
    pub(crate) fn is_answering(&self, answering: bool) {
        self.inner.answering.send_replace(answering);
    }

    /// Waits until this many requests have arrived.
    pub(crate) async fn asked(&self, requests: usize) {
        until("the issuer is asked", || self.requests() >= requests).await;
    }

    /// The number of requests.
    pub(crate) fn requests(&self) -> usize {
        self.inner.requests.load(Ordering::SeqCst)
    }
}

async fn serve(State(inner): State<Arc<Inner>>, request: Request<axum::body::Body>) -> axum::response::Response {
    inner.requests.fetch_add(1, Ordering::SeqCst);
    inner.answering.subscribe().wait_for(|answering| *answering).await.unwrap();
    let answer = Arc::clone(&inner.answer.lock().unwrap());
    let path = request.uri().path().to_owned();
    match answer(&path, &request) {
        Reply::Json(value) => value.to_string().into_response(),
        Reply::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
        Reply::Text(text) => text.into_response(),
        Reply::Silence => std::future::pending().await,
    }
}

/// A key that signs tokens.
pub(crate) struct Key {
    id: Option<&'static str>,
    pair: EcdsaKeyPair,
}

impl Key {
    pub(crate) fn new(id: &'static str) -> Self {
        Self { id: Some(id), ..Self::unnamed() }
    }

    /// A key without an id, which its tokens do not name.
    pub(crate) fn unnamed() -> Self {
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self { id: None, pair: EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap() }
    }

    pub(crate) fn jwk(&self) -> Value {
        let (x, y) = self.pair.public_key().as_ref()[1..].split_at(32);
        let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
        self.named(json!({"kty": "EC", "crv": "P-256", "x": x, "y": y}))
    }

    /// A valid token of this user, for a minute.
    pub(crate) fn token(&self, issuer: &str, user: &str, scope: &str) -> String {
        self.token_of(issuer, &json!({"sub": user, "scope": scope}))
    }

    /// A valid token with these claims, besides or instead of the usual ones.
    pub(crate) fn token_of(&self, issuer: &str, more: &Value) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let header = self.named(json!({"alg": "ES256", "typ": "at+jwt"}));
        let mut claims = json!({"iss": issuer, "aud": RESOURCE, "client_id": "app", "iat": now, "exp": now + 60});
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(&header), part(&claims));
        let signature = self.pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
    }

    fn named(&self, mut value: Value) -> Value {
        value.as_object_mut().unwrap().extend(self.id.map(|id| ("kid".to_owned(), id.into())));
        value
    }
}

/// Advances the test clock, which real sockets do not notice.
pub(crate) async fn later(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
}
