//! One flow at a time, for all requests that need its token.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use axum::response::IntoResponse;
use futures_util::FutureExt;
use futures_util::future::join_all;
use http::{HeaderValue, StatusCode};
use protomcp_oauth::{
    AuthorizationError, Authorizer, BoxFuture, Challenge, Credentials, FileTokenStore, MemoryTokenStore, OAuthClient,
    OAuthConfig, PendingRedirect, StoreError, StoreGuard, TokenStore, UserAgent,
};
use protomcp_testing::{in_time, patience};
use serde_json::{Value, json};
use tokio::runtime;
use tokio::sync::Notify;

use super::servers::{World, challenge, json_reply};

#[tokio::test(flavor = "multi_thread")]
async fn a_request_signs_in_and_carries_its_token() {
    let world = World::start().await;
    let client = world.client();
    assert_eq!(world.call(&client).await, Ok(200));
    assert_eq!(world.call(&client).await, Ok(200));
    let seen: Vec<_> = world
        .mcp
        .log()
        .iter()
        .filter(|request| request.target == "/mcp")
        .map(|request| request.authorization().map(str::to_owned))
        .collect();
    assert_eq!(seen, [None, Some("Bearer t1".to_owned()), Some("Bearer t1".to_owned())]);
    assert_eq!((world.browser.count(), world.issuer.count("/token")), (1, 1));
    world.check_destinations();
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_requests_share_one_sign_in_and_one_refresh() {
    let world = World::start().await;
    let client = world.client();
    let outcomes = join_all((0..20).map(|_| world.call(&client))).await;
    assert!(outcomes.iter().all(|outcome| *outcome == Ok(200)), "{outcomes:?}");
    assert_eq!((world.browser.count(), world.issuer.count("/register"), world.issuer.count("/token")), (1, 1, 1));
    // The MCP server rejects the token before its time.
    world.valid.lock().unwrap().clear();
    let outcomes = join_all((0..20).map(|_| world.call(&client))).await;
    assert!(outcomes.iter().all(|outcome| *outcome == Ok(200)), "{outcomes:?}");
    assert_eq!((world.browser.count(), world.issuer.count("grant_type=refresh_token")), (1, 1));
    world.check_destinations();
}

/// An authorization server whose tokens have this life, with or without a refresh token.
fn issue(world: &World, life: Value, has_refresh: bool) {
    let mut answer = world.issuer_script();
    let valid = Arc::clone(&world.valid);
    world.issuer.on(move |request| {
        let reply = answer(request);
        if request.target != "/token" || reply.status() != StatusCode::OK {
            return reply;
        }
        let newest = valid.lock().unwrap()[0].clone();
        let mut token = json!({"access_token": newest, "token_type": "Bearer", "expires_in": life});
        if has_refresh {
            token["refresh_token"] = json!(newest.replace('t', "r"));
        }
        json_reply(200, &token)
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_with_a_life_of_no_length_is_used() {
    for (life, has_refresh) in [(json!(0), false), (json!("0"), false), (json!(0), true), (json!("0"), true)] {
        let world = World::start().await;
        issue(&world, life.clone(), has_refresh);
        let client = world.client();
        for _ in 0..3 {
            assert_eq!(world.call(&client).await, Ok(200), "{life} {has_refresh}");
        }
        let refreshes = if has_refresh { 2 } else { 0 };
        assert_eq!((world.browser.count(), world.issuer.count("grant_type=refresh_token")), (1, refreshes), "{life}");
        world.check_destinations();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_token_of_no_length_costs_one_sign_in() {
    let world = World::start().await;
    issue(&world, json!(0), false);
    let mut answer = world.mcp_script();
    world.mcp.on(move |request| if request.target == "/mcp" { challenge(401, "Bearer") } else { answer(request) });
    let outcome = world.call(&world.client()).await;
    assert!(matches!(outcome, Err(AuthorizationError::Rejected(_))), "{outcome:?}");
    assert_eq!(world.browser.count(), 1);
    let sent = world.mcp.log().iter().filter(|request| request.authorization() == Some("Bearer t1")).count();
    assert_eq!(sent, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_waited_get_the_same_outcome() {
    let world = World::start().await;
    let mut answer = world.issuer_script();
    world.issuer.on(move |request| match request.target.as_str() {
        "/token" => json_reply(400, &json!({"error": "access_denied"})),
        _ => answer(request),
    });
    // A user who refuses is not asked by each of the requests.
    let client = world.client();
    let outcomes = join_all((0..10).map(|_| world.call(&client))).await;
    let denied = |outcome: &Result<u16, AuthorizationError>| matches!(outcome, Err(AuthorizationError::Refused { .. }));
    assert!(outcomes.iter().all(denied), "{outcomes:?}");
    assert_eq!(world.browser.count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_request_does_not_lose_a_refresh() {
    let world = Arc::new(World::start().await);
    let store = MemoryTokenStore::default();
    let client = world.builder().store(store.clone()).build();
    world.call(&client).await.unwrap();
    world.valid.lock().unwrap().clear();
    // The token endpoint waits until the request that needs the token is gone.
    let (arrived, is_here) = mpsc::channel();
    let (release, is_released) = mpsc::channel::<()>();
    let mut answer = world.issuer_script();
    let valid = Arc::clone(&world.valid);
    world.issuer.on(move |request| {
        if request.target != "/token" {
            return answer(request);
        }
        arrived.send(()).unwrap();
        is_released.recv_timeout(patience()).unwrap();
        valid.lock().unwrap().push("late".to_owned());
        let token = json!({"access_token": "late", "token_type": "Bearer", "refresh_token": "r-late"});
        json_reply(200, &token)
    });
    let call = tokio::spawn({
        let (world, client) = (Arc::clone(&world), client.clone());
        async move { world.call(&client).await }
    });
    tokio::task::spawn_blocking(move || is_here.recv_timeout(patience()).unwrap()).await.unwrap();
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    release.send(()).unwrap();
    assert_eq!(world.call(&client).await, Ok(200));
    let stored = store.list(&world.server_url()).await.unwrap();
    assert!(serde_json::to_string(&stored).unwrap().contains("r-late"));
    assert_eq!(world.browser.count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_with_one_store_refresh_once() {
    let world = World::start().await;
    let directory = tempfile::tempdir().unwrap();
    let program = || world.builder().store(FileTokenStore::new(directory.path())).build();
    let programs = [program(), program(), program()];
    assert_eq!(world.call(&programs[0]).await, Ok(200));
    for client in &programs[1..] {
        assert_eq!(world.call(client).await, Ok(200));
    }
    assert_eq!(world.browser.count(), 1, "the others have read the token");
    world.valid.lock().unwrap().clear();
    let outcomes = join_all(programs.iter().map(|client| world.call(client))).await;
    assert!(outcomes.iter().all(|outcome| *outcome == Ok(200)), "{outcomes:?}");
    // A second use of the refresh token would have ended the session of all.
    assert_eq!((world.issuer.count("grant_type=refresh_token"), world.browser.count()), (1, 1));
}

/// Two programs, one of which has refreshed the token of both. Returns the first, and the shared store.
async fn after_the_refresh_of_another(world: &World, directory: &std::path::Path) -> (OAuthClient, FileTokenStore) {
    let store = FileTokenStore::new(directory);
    let program = || world.builder().store(store.clone()).build();
    let [first, second] = [program(), program()];
    assert_eq!((world.call(&first).await, world.call(&second).await), (Ok(200), Ok(200)));
    world.valid.lock().unwrap().clear();
    assert_eq!(world.call(&second).await, Ok(200));
    assert_eq!((world.issuer.count("refresh_token=r1&"), world.browser.count()), (1, 1));
    world.valid.lock().unwrap().clear();
    (first, store)
}

/// A second use of a refresh token may end the session of all programs.
#[tokio::test(flavor = "multi_thread")]
async fn the_refresh_token_of_another_program_replaces_the_own() {
    let world = World::start().await;
    let directory = tempfile::tempdir().unwrap();
    let (first, store) = after_the_refresh_of_another(&world, directory.path()).await;
    // The token in the store has expired until it is used.
    let stored = store.list(&world.server_url()).await.unwrap().remove(0);
    let mut expired = serde_json::to_value(stored).unwrap();
    expired["token"]["expires"] = json!(1);
    store.store(&serde_json::from_value(expired).unwrap()).await.unwrap();
    assert_eq!(world.call(&first).await, Ok(200));
    assert_eq!((world.issuer.count("refresh_token=r1&"), world.issuer.count("refresh_token=r2&")), (1, 1));
    assert_eq!(world.browser.count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stale_token_of_another_program_is_refreshed() {
    let world = World::start().await;
    let directory = tempfile::tempdir().unwrap();
    let (first, _) = after_the_refresh_of_another(&world, directory.path()).await;
    assert_eq!(world.call(&first).await, Ok(200));
    assert_eq!((world.issuer.count("refresh_token=r1&"), world.issuer.count("refresh_token=r2&")), (1, 1));
    assert_eq!(world.browser.count(), 1);
}

/// A user who takes their time.
#[derive(Clone, Default)]
struct SlowUser {
    is_asked: Arc<Notify>,
    declines: Arc<Notify>,
}

impl UserAgent for SlowUser {
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn PendingRedirect>, AuthorizationError>> {
        let pending: Box<dyn PendingRedirect> = Box::new(self.clone());
        Box::pin(std::future::ready(Ok(pending)))
    }
}

impl PendingRedirect for SlowUser {
    fn redirect_uri(&self) -> &'static str {
        "http://127.0.0.1:1/callback"
    }

    fn complete(self: Box<Self>, _: String, _: String) -> BoxFuture<'static, Result<String, AuthorizationError>> {
        Box::pin(async move {
            self.is_asked.notify_one();
            self.declines.notified().await;
            Err(AuthorizationError::SignInRequired("declined".to_owned()))
        })
    }
}

/// A token that is about to expire is of use until it does.
#[tokio::test(flavor = "multi_thread")]
async fn a_valid_token_does_not_wait_for_a_sign_in() {
    let world = World::start().await;
    let store = MemoryTokenStore::default();
    assert_eq!(world.call(&world.builder().store(store.clone()).build()).await, Ok(200));
    let mut due = serde_json::to_value(store.list(&world.server_url()).await.unwrap().remove(0)).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    (due["token"]["received"], due["token"]["expires"]) = (json!(now - 3000), json!(now + 50));
    store.store(&serde_json::from_value(due).unwrap()).await.unwrap();
    let user = SlowUser::default();
    let (client, url) = (world.builder().store(store).user_agent(user.clone()).build(), world.server_url());
    let step_up = Challenge {
        url: url.clone(),
        status: StatusCode::FORBIDDEN,
        www_authenticate: vec!["Bearer error=\"insufficient_scope\", scope=\"more\"".to_owned()],
        dpop_nonce: None,
        authorization: Some(HeaderValue::from_static("Bearer t1")),
        attempt: 1,
    };
    let stepping_up = tokio::spawn({
        let client = client.clone();
        async move { client.challenged(step_up).await }
    });
    in_time(user.is_asked.notified()).await.expect("the user is asked");
    let headers = in_time(client.headers("POST", &url)).await.expect("the token is valid");
    assert_eq!(headers.unwrap()[0].1, "Bearer t1");
    user.declines.notify_one();
    let outcome = stepping_up.await.unwrap();
    assert!(matches!(outcome, Err(AuthorizationError::SignInRequired(_))), "{outcome:?}");
}

/// A store that counts the writes without its lock.
#[derive(Clone, Default)]
struct LockedStore {
    inner: MemoryTokenStore,
    is_locked: Arc<AtomicBool>,
    writes: Arc<Mutex<Vec<bool>>>,
}

struct Unlock(Arc<AtomicBool>);

impl Drop for Unlock {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl TokenStore for LockedStore {
    fn list<'a>(&'a self, resource: &'a str) -> BoxFuture<'a, Result<Vec<Credentials>, StoreError>> {
        self.inner.list(resource)
    }

    fn store<'a>(&'a self, credentials: &'a Credentials) -> BoxFuture<'a, Result<(), StoreError>> {
        self.writes.lock().unwrap().push(self.is_locked.load(Ordering::SeqCst));
        self.inner.store(credentials)
    }

    fn remove<'a>(&'a self, credentials: &'a Credentials) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.remove(credentials)
    }

    fn lock<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<StoreGuard, StoreError>> {
        assert!(!self.is_locked.swap(true, Ordering::SeqCst), "one program uses it");
        Box::pin(std::future::ready(Ok(StoreGuard::new(Unlock(Arc::clone(&self.is_locked))))))
    }
}

/// The registration was forgotten: the token counts until it expires, and then the user signs in once.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_refresh_costs_one_sign_in() {
    let world = World::start().await;
    let store = MemoryTokenStore::default();
    assert_eq!(world.call(&world.builder().store(store.clone()).build()).await, Ok(200));
    let stored = serde_json::to_value(store.list(&world.server_url()).await.unwrap().remove(0)).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    for (expires, refreshes, sign_ins) in [(now + 50, 1, 0), (now - 1, 2, 1)] {
        let mut due = stored.clone();
        (due["token"]["received"], due["token"]["expires"]) = (json!(now - 3000), json!(expires));
        store.store(&serde_json::from_value(due).unwrap()).await.unwrap();
        let mut answer = world.issuer_script();
        world.issuer.on(move |request| match request.target.as_str() {
            "/token" if request.body.contains("refresh_token=r1&") => {
                json_reply(401, &json!({"error": "invalid_client"}))
            }
            _ => answer(request),
        });
        *world.valid.lock().unwrap() = vec!["t1".to_owned()];
        let (before, client) = (world.issuer.count("refresh_token=r1&"), world.builder().store(store.clone()).build());
        for _ in 0..4 {
            assert_eq!(world.call(&client).await, Ok(200));
        }
        assert_eq!(world.issuer.count("refresh_token=r1&") - before, refreshes);
        assert_eq!(world.browser.count(), 1 + sign_ins);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_write_of_a_store_is_under_its_lock() {
    let world = World::start().await;
    let store = LockedStore::default();
    let client = world.builder().store(store.clone()).build();
    assert_eq!(world.call(&client).await, Ok(200));
    world.valid.lock().unwrap().clear();
    assert_eq!(world.call(&client).await, Ok(200));
    assert_eq!(*store.writes.lock().unwrap(), [true, true]);
    assert!(!store.is_locked.load(Ordering::SeqCst));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_goes_to_its_origin_alone() {
    let world = World::start().await;
    let client = world.client();
    world.call(&client).await.unwrap();
    let url = world.server_url();
    assert_eq!(client.headers("POST", &url).await.unwrap().len(), 1);
    for other in [
        world.stranger.url.clone(),
        world.issuer.url.clone(),
        url.replace("http:", "https:"),
        url.replace("127.0.0.1", "localhost"),
        format!("{}@evil.example.com/", world.mcp.url),
        "https://evil.example.com/mcp".to_owned(),
        String::new(),
    ] {
        assert!(client.headers("POST", &other).await.unwrap().is_empty(), "{other}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_403_without_a_demand_is_the_answer() {
    let world = World::start().await;
    world.mcp.on(|_| StatusCode::FORBIDDEN.into_response());
    assert_eq!(world.call(&world.client()).await, Ok(403));
    world.mcp.on(|_| challenge(403, "Bearer error=\"invalid_token\""));
    assert_eq!(world.call(&world.client()).await, Ok(403));
    assert!(world.issuer.log().is_empty());
}

#[test]
fn a_flight_in_a_runtime_that_is_gone_is_broken_off() {
    let runtime = runtime::Builder::new_current_thread().build().unwrap();
    let handle = runtime.handle().clone();
    drop(runtime);
    let (sender, outcomes) = mpsc::channel();
    thread::spawn(move || {
        let _entered = handle.enter();
        let url = "https://tools.example.com/mcp";
        let client = OAuthClient::builder(OAuthConfig::new(url).unwrap()).build();
        for _ in 0..2 {
            sender.send(client.headers("POST", url).now_or_never()).unwrap();
        }
    });
    for _ in 0..2 {
        let outcome = outcomes.recv_timeout(patience()).expect("no lock is waited for");
        let is_broken_off =
            matches!(&outcome, Some(Err(AuthorizationError::Unavailable(why))) if why.contains("was broken off"));
        assert!(is_broken_off, "{outcome:?}");
    }
}
