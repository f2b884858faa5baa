//! Several messages in one body, which only MCP 2025-03-26 allows.

use super::client::{call_with_progress, done, full};
use super::handler::Stage;

fn array(messages: &[&str]) -> String {
    format!("[{}]", messages.iter().map(|message| full(message)).collect::<Vec<_>>().join(","))
}

const PING: &str = r#"{"id":1,"method":"ping"}"#;
const NOTICE: &str = r#"{"method":"notifications/roots/list_changed"}"#;

#[tokio::test]
async fn a_batch_is_answered_with_one_array() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-03-26").await;
    let answer = host.post(&array(&[PING, NOTICE, r#"{"id":2,"method":"ping"}"#, r#"{"id":null,"method":"x"}"#])).await;
    assert_eq!((answer.status, answer.kind()), (200, "application/json"));
    let text = answer.text().await;
    let elements: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(elements.len(), 3, "{text}");
    assert!(text.contains("-32600"), "{text}");
    assert_eq!(host.say(&array(&[PING])).await.1, array(&[r#"{"id":1,"result":{}}"#]));
}

#[tokio::test]
async fn a_batch_without_requests_is_taken_without_a_body() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-03-26").await;
    assert_eq!(host.say(&array(&[NOTICE, NOTICE])).await, (202, String::new()));
}

#[tokio::test]
async fn a_batch_with_something_to_report_is_a_stream() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-03-26").await;
    let answer = host.post(&array(&[&call_with_progress(1, "count 1"), r#"{"id":2,"method":"ping"}"#])).await;
    assert_eq!(answer.kind(), "text/event-stream");
    let events = answer.events().await;
    assert_eq!(events.len(), 3, "{events:?}");
    assert!(events.iter().any(|event| event.data == done(1, "done")));
}

#[tokio::test]
async fn a_batch_is_refused_where_it_does_not_belong() {
    let stage = Stage::local().await;
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let host = stage.host.hello(version).await;
        let (status, text) = host.say(&array(&[PING])).await;
        assert_eq!(status, 400, "{version}");
        assert!(text.contains("-32600"), "{text}");
    }
    let host = stage.host.hello("2025-03-26").await;
    assert_eq!(host.post("[]").await.status, 400);
    assert_eq!(stage.host.post(&array(&[&super::client::initialize("2025-03-26", "{}")])).await.status, 400);
    let (status, text) = host.say(&array(&[PING, &super::client::initialize("2025-03-26", "{}")])).await;
    assert_eq!(status, 200);
    assert!(text.contains("must not be part of a batch"), "{text}");
    let (status, text) = host.say(&array(&[PING, PING])).await;
    assert_eq!(status, 400);
    assert!(text.contains("already in use"), "{text}");
}
