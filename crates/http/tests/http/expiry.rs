//! Streams end with the token that opened them, and go on with another one.
//!
//! Nothing here depends on the moment at which a token expires: earlier and later messages arrive in either case.

use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use protomcp_server::Audience;
use protomcp_testing::{in_time, until};
use protomcp_types::{Level, RawJson};
use serde_json::Value;

use super::client::{Answer, Event, Host, call, call_with_progress, done};
use super::eras::{meta, tool};
use super::handler::Stage;
use super::oauth::{bearer, config, stage};
use super::questions::asked;

/// The same client with a token that expires in a second.
fn for_a_second(host: &Host) -> Host {
    let end = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + Duration::from_secs(1);
    bearer(host, &format!("ann.use~{}", end.as_millis()))
}

/// All events until the stream ends, without comments.
async fn until_the_end(stream: Answer) -> Vec<Event> {
    in_time(stream.events()).await.expect("the stream outlives its token")
}

fn messages(events: &[Event]) -> Vec<String> {
    events.iter().map(|event| event.data.clone()).filter(|data| !data.is_empty()).collect()
}

async fn back(host: &Host, events: &[Event]) -> Answer {
    let last = events.iter().rev().find_map(|event| event.id.clone()).expect("an event with an id");
    host.with("last-event-id", &last).get().await
}

#[tokio::test]
async fn a_session_stream_ends_with_its_token_and_resumes() {
    let stage = stage().await;
    let ann = bearer(&stage.host, "ann.use").hello("2025-11-25").await;
    // A token without an end keeps its stream.
    let other = bearer(&stage.host, "ann.use").hello("2025-11-25").await;
    let mut kept = other.get().await;
    kept.event().await.unwrap();
    let stream = for_a_second(&ann).get().await;
    assert_eq!(stream.status, 200);
    ann.say(&call(1, "change")).await;
    let mut events = until_the_end(stream).await;
    // No client listens now.
    ann.say(&call(2, "change")).await;
    let mut stream = back(&bearer(&ann, "ann.use.more"), &events).await;
    while messages(&events).len() < 2 {
        events.push(stream.event().await.unwrap());
    }
    stage.sessions.log(Audience::Everyone, Level::Error, None, &RawJson::text("last"));
    events.push(stream.event().await.unwrap());
    let messages = messages(&events);
    assert!(messages[..2].iter().all(|message| message.contains("tools/list_changed")), "{messages:?}");
    assert!(messages[2].contains("last"), "{messages:?}");
    assert!(kept.event().await.unwrap().data.contains("last"));
}

#[tokio::test]
async fn a_response_ends_with_its_token_and_its_call_goes_on() {
    let stage = stage().await;
    let ann = bearer(&stage.host, "ann.use").hello_with("2025-11-25", r#"{"roots":{}}"#).await;
    let mut events = until_the_end(for_a_second(&ann).post(&call_with_progress(1, "report")).await).await;
    stage.tools.go.notify_one();
    events.extend(back(&ann, &events).await.events().await);
    let read = messages(&events);
    assert_eq!(read.len(), 3, "{read:?}");
    assert!(read[0].contains("\"progress\":1") && read[1].contains("\"progress\":2"), "{read:?}");
    assert_eq!(read[2], done(1, "done"));
    // The same holds for a question, whose answer is accepted with a new token.
    let events = until_the_end(for_a_second(&ann).post(&call(2, "roots")).await).await;
    let asked = match messages(&events).first() {
        Some(question) => serde_json::from_str::<Value>(question).unwrap()["id"].take(),
        None => asked(&mut back(&ann, &events).await).await,
    };
    assert_eq!(ann.say(&format!(r#"{{"id":{asked},"result":{{"roots":[]}}}}"#)).await.0, 202);
    let answer = messages(&back(&ann, &events).await.events().await);
    assert_eq!(answer.last().map(String::as_str), Some(done(2, "0 roots").as_str()), "{answer:?}");
    assert_eq!(stage.tools.dropped.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_response_that_cannot_resume_outlives_its_token() {
    let stage = stage().await;
    let ann = bearer(&stage.host, "ann.use").hello("2025-06-18").await;
    let short = for_a_second(&ann);
    let mut answer = short.post(&call_with_progress(1, "report")).await;
    assert!(answer.event().await.unwrap().data.contains("\"progress\":1"));
    // The first token has expired when this one has.
    until_the_end(short.get().await).await;
    stage.tools.go.notify_one();
    assert!(answer.event().await.unwrap().data.contains("\"progress\":2"));
    assert_eq!(answer.event().await.unwrap().data, done(1, "done"));
}

#[tokio::test]
async fn a_stateless_listener_ends_with_its_token_but_a_call_does_not() {
    let stage = stage().await;
    let short = for_a_second(&stage.host.with("mcp-protocol-version", "2026-07-28"));
    let calling = short.with("mcp-method", "tools/call").with("mcp-name", "wait");
    let calling = tokio::spawn(async move { calling.say(&tool("wait", "")).await });
    in_time(stage.tools.waiting.notified()).await.expect("the call is refused");
    let wanted = r#""notifications":{"toolsListChanged":true}"#;
    let body =
        format!(r#"{{"id":7,"method":"subscriptions/listen","params":{{{wanted},{}}}}}"#, meta("2026-07-28", ""));
    let listening = short.with("mcp-method", "subscriptions/listen").post(&body).await;
    assert_eq!((listening.status, listening.kind()), (200, "text/event-stream"));
    let events = messages(&until_the_end(listening).await);
    assert!(events.len() == 1 && events[0].contains("acknowledged"), "{events:?}");
    stage.tools.go.notify_one();
    let (status, text) = calling.await.unwrap();
    assert!(status == 200 && text.contains(r#""text":"done""#), "{status} {text}");
    assert_eq!(stage.tools.dropped.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn the_old_transport_ends_with_its_token() {
    let stage = Stage::new(config().with_legacy_sse()).await;
    let events = until_the_end(for_a_second(&stage.host.at("/sse")).get().await).await;
    assert_eq!(events.len(), 1);
    until("the session is closed", || stage.service.sessions() == 0).await;
}
