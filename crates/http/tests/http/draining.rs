//! The shutdown of a server with running calls.

use std::time::Duration;

use protomcp_http::Config;
use protomcp_testing::in_time;

use super::client::{call, done, initialize};
use super::handler::Stage;
use super::questions::asked;

#[tokio::test]
async fn clients_answer_and_cancel_until_the_last_call_has_ended() {
    let stage = Stage::local().await;
    let host = stage.host.hello_with("2025-11-25", r#"{"roots":{}}"#).await;
    let mut asking = host.post(&call(1, "roots")).await;
    let question = asked(&mut asking).await;
    let waiting = tokio::spawn({
        let host = host.clone();
        async move { host.post(&call(2, "wait")).await.status }
    });
    stage.tools.begun().await;
    let mut listening = host.get().await;
    listening.event().await.unwrap();

    stage.sessions.shutdown();
    let stranger = &stage.host;
    for refused in [
        host.post(&call(3, "echo x")).await,
        stranger.post(&initialize("2025-11-25", "{}")).await,
        stranger.with("mcp-protocol-version", "2026-07-28").post(&super::eras::tool("echo x", "")).await,
    ] {
        assert_eq!((refused.status, refused.headers["retry-after"].as_str()), (503, "5"));
    }
    let drained = stage.service.drained();
    tokio::pin!(drained);
    assert!(tokio::time::timeout(Duration::from_millis(20), &mut drained).await.is_err(), "calls are running");
    let cancel = r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#;
    assert_eq!(host.say(cancel).await.0, 202);
    in_time(stage.tools.has_dropped.notified()).await.expect("it is not cancelled");
    let answer = format!(r#"{{"id":{question},"result":{{"roots":[{{"uri":"file:///a"}}]}}}}"#);
    assert_eq!(host.say(&answer).await.0, 202);
    assert_eq!(asking.event().await.unwrap().data, done(1, "1 roots"));
    in_time(drained).await.expect("it does not end");
    assert_eq!(listening.event().await, None);
    waiting.await.unwrap();
    assert_eq!(host.say(cancel).await.0, 404, "the session is over");
}

#[tokio::test]
async fn a_client_that_was_away_still_fetches_its_answer() {
    let stage = Stage::new(Config::default()).await;
    let host = stage.host.hello("2025-11-25").await;
    let mut answer = host.post(&call(1, "leave")).await;
    let opening = answer.event().await.unwrap();
    assert_eq!(answer.event().await, None);
    stage.sessions.shutdown();
    let mut again = host.with("last-event-id", opening.id.as_deref().unwrap()).get().await;
    assert_eq!(again.status, 200);
    stage.tools.go.notify_one();
    assert_eq!(again.event().await.unwrap().data, done(1, "done"));
}
