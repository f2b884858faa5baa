//! Servers that cannot be used, and the errors that say so.

use std::time::Duration;

use protomcp_redis::{ConnectError, RedisStores, StoreOptions, StoreUrl};
use protomcp_testing::in_time;
use rustix::process::Signal;

use crate::server::{RedisServer, keys, own_address};

/// The error of a connection.
async fn refusal(url: &StoreUrl) -> ConnectError {
    let options = StoreOptions::default().with_time_limit(Duration::from_secs(3));
    let connected = in_time(RedisStores::connect_with(url, keys("secret"), options)).await.expect("it has a time");
    let error = connected.expect_err("the store cannot be used");
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("hunter"), "{shown}");
    error
}

fn url(text: &str) -> StoreUrl {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[tokio::test]
async fn a_wrong_password_is_named() {
    let server = RedisServer::start(&["--requirepass", "hunter2"]);
    for parameters in ["", "pass=hunter", "user=ann&pass=hunter2"] {
        let error = refusal(&server.url_with(parameters)).await;
        assert!(matches!(error, ConnectError::Refused { .. }), "{parameters}: {error}");
        assert!(error.to_string().contains("?pass=PASSWORD"), "{error}");
    }
    let stores = RedisStores::connect(&server.url_with("pass=hunter2"), keys("secret")).await;
    stores.expect("it is the password").health().await.expect("the server answers");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let address = own_address();
    for (text, expected) in [
        (format!("redis://:hunter2@{address}:16999"), "cannot be reached"),
        (format!("rediss://:hunter2@{address}:16999"), "cannot be reached"),
        (format!("redis+cluster://:hunter2@{address}:16999"), "cannot be reached"),
        (format!("redis+sentinel://:hunter2@{address}:16999/main"), "cannot be reached"),
        (
            "redis+unix:///nowhere/redis.sock".to_owned(),
            "see if the server runs, and if this process may use its socket",
        ),
    ] {
        let error = refusal(&url(&text)).await.to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    // A machine without a network may wait for the answer about the name.
    let error = refusal(&url("redis://:hunter2@nowhere.invalid")).await;
    let is_known = matches!(error, ConnectError::Unreachable { .. } | ConnectError::Silent { .. });
    assert!(is_known && error.to_string().starts_with("redis://nowhere.invalid:6379/0 "), "{error}");
}

#[tokio::test]
async fn a_server_without_tls_is_named() {
    let server = RedisServer::on_port(&[]);
    // It may wait for the rest of what it takes for a command.
    let error = refusal(&url(&format!("rediss://{}", server.address()))).await.to_string();
    assert!(error.contains("a server without TLS has a URL with redis://"), "{error}");
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_named() {
    let server = RedisServer::start(&[]);
    server.signal(Signal::STOP);
    let error = refusal(&server.url()).await;
    server.signal(Signal::CONT);
    let ConnectError::Silent { url, limit, .. } = &error else { panic!("{error}") };
    assert_eq!((url.as_str(), *limit), (server.url().to_string().as_str(), Duration::from_secs(3)));
}

#[tokio::test]
async fn a_user_without_rights_is_named() {
    let server = RedisServer::start(&[]);
    server.ask::<()>(&["ACL", "SETUSER", "ann", "on", ">hunter2", "~*", "-@all", "+client"]);
    let error = refusal(&server.url_with("user=ann&pass=hunter2")).await;
    let ConnectError::Unusable { reason, .. } = &error else { panic!("{error}") };
    assert!(reason.contains("NOPERM"), "{error}");
}

#[tokio::test]
async fn times_of_any_length_are_usable() {
    let server = RedisServer::start(&[]);
    let options = StoreOptions::default().with_time_limit(Duration::MAX).with_keep(Duration::MAX);
    let connected = in_time(RedisStores::connect_with(&server.url(), keys("secret"), options)).await;
    let stores = connected.expect("it has a time").expect("the server answers");
    in_time(stores.health()).await.expect("it has a time").expect("the server answers");
}
