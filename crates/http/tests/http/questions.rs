//! Questions that can no longer reach their client.

use std::time::Duration;

use protomcp_http::Config;
use protomcp_testing::{in_time, patience};
use serde_json::Value;

use super::client::{Answer, call, done};
use super::handler::Stage;

const ROOTS: &str = r#"{"roots":{}}"#;

/// Waits for a question, and returns its id.
pub(crate) async fn asked(stream: &mut Answer) -> Value {
    loop {
        let event = stream.event().await.expect("a question");
        if event.data.is_empty() {
            continue;
        }
        let mut question: Value = serde_json::from_str(&event.data).unwrap();
        assert_eq!(question["method"], "roots/list", "{question}");
        return question["id"].take();
    }
}

/// Waits until a question has failed.
async fn gone(stage: &Stage) {
    in_time(stage.tools.is_gone.notified()).await.expect("the question waits");
}

#[tokio::test]
async fn a_question_fails_as_soon_as_its_client_cannot_come_back() {
    let mut config = Config::default();
    config.streams.event_store = None;
    let stage = Stage::new(config).await;
    for version in ["2025-03-26", "2025-11-25"] {
        let host = stage.host.hello_with(version, ROOTS).await;
        let mut asking = host.post(&call(1, "roots")).await;
        asked(&mut asking).await;
        drop(asking);
        gone(&stage).await;
        // The session goes on.
        assert_eq!(host.say(&call(2, "echo x")).await, (200, done(2, "x")));
    }
}

#[tokio::test]
async fn a_question_fails_when_its_client_does_not_come_back_in_time() {
    let mut config = Config::default();
    config.streams.reconnect_window = Duration::from_millis(300);
    let stage = Stage::new(config).await;
    let host = stage.host.hello_with("2025-11-25", ROOTS).await;
    let begun = std::time::Instant::now();
    let mut asking = host.post(&call(1, "roots")).await;
    asked(&mut asking).await;
    drop(asking);
    gone(&stage).await;
    assert!(begun.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn a_client_that_comes_back_in_time_is_still_asked() {
    let mut config = Config::default();
    config.streams.reconnect_window = patience();
    let stage = Stage::new(config).await;
    let host = stage.host.hello_with("2025-11-25", ROOTS).await;
    let mut asking = host.post(&call(1, "roots")).await;
    let opening = asking.event().await.unwrap();
    drop(asking);
    let mut again = host.with("last-event-id", opening.id.as_deref().unwrap()).get().await;
    let question = asked(&mut again).await;
    let answer = format!(r#"{{"id":{question},"result":{{"roots":[]}}}}"#);
    assert_eq!(host.say(&answer).await.0, 202);
    assert_eq!(again.event().await.unwrap().data, done(1, "0 roots"));
}
