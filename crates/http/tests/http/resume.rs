//! Broken streams, and clients that come back.

use protomcp_http::{Config, Entry, EventKey, EventStore, MemoryStore, Replayed, StreamLog, Write};
use protomcp_server::{FencingToken, Owner, StoreAnswer, StoreError};

use super::client::{Answer, Event, Host, call, call_with_progress, done};
use super::eras::tool;
use super::handler::Stage;

async fn back(host: &Host, last: &Event) -> Answer {
    host.with("last-event-id", last.id.as_deref().unwrap()).get().await
}

#[tokio::test]
async fn a_client_that_reconnects_gets_missed_and_new_events() {
    let stage = Stage::local().await;
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let host = stage.host.hello(version).await;
        let mut answer = host.post(&call_with_progress(1, "report")).await;
        let mut last = answer.event().await.unwrap();
        if version == "2025-11-25" {
            assert_eq!(last.data, "");
            last = answer.event().await.unwrap();
        }
        assert!(last.data.contains("\"progress\":1"));
        drop(answer);
        stage.tools.go.notify_one();
        let mut answer = back(&host, &last).await;
        assert_eq!((answer.status, answer.kind()), (200, "text/event-stream"));
        assert!(answer.event().await.unwrap().data.contains("\"progress\":2"));
        assert_eq!(answer.event().await.unwrap().data, done(1, "done"));
        assert_eq!(answer.event().await, None);
    }
}

#[tokio::test]
async fn events_are_replayed_after_their_stream_has_ended() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    let events = host.post(&call_with_progress(1, "count 5")).await.events().await;
    assert_eq!(events.len(), 7);
    for (index, event) in events.iter().enumerate() {
        assert_eq!(back(&host, event).await.events().await, events[index + 1..]);
    }
}

#[tokio::test]
async fn only_the_events_of_the_same_stream_come_again() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    let mut listening = host.get().await;
    let opening = listening.event().await.unwrap();
    let first = host.post(&call_with_progress(1, "count 1")).await.events().await;
    let second = host.post(&call_with_progress(2, "count 1")).await.events().await;
    host.say(&call(3, "change")).await;
    let changed = listening.event().await.unwrap();
    drop(listening);
    assert_eq!(back(&host, &first[0]).await.events().await, first[1..]);
    assert_eq!(back(&host, &second[0]).await.events().await, second[1..]);
    assert_eq!(back(&host, &opening).await.event().await.unwrap(), changed);
    // And not the events of another session.
    let other = stage.host.hello("2025-11-25").await;
    assert_eq!(back(&other, &first[0]).await.status, 400);
}

#[tokio::test]
async fn a_handler_may_close_the_stream_until_it_is_done() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    let mut answer = host.post(&call(1, "leave")).await;
    let opening = answer.event().await.unwrap();
    assert_eq!((opening.data.as_str(), opening.retry.as_deref()), ("", Some("500")));
    assert_eq!(answer.event().await, None);
    stage.tools.go.notify_one();
    let events = back(&host, &opening).await.events().await;
    assert_eq!(events.iter().map(|event| event.data.clone()).collect::<Vec<_>>(), [done(1, "done")]);
}

/// The handler closes the connection while the response is a stream already.
async fn stays(stage: &Stage, host: &Host, body: &str) {
    let mut answer = host.post(body).await;
    assert_eq!(answer.kind(), "text/event-stream");
    stage.tools.begun().await;
    let early = tokio::time::timeout(std::time::Duration::from_millis(50), answer.event()).await;
    assert!(early.is_err(), "the host was sent away: {early:?}");
    stage.tools.go.notify_one();
    let event = answer.event().await.expect("the answer is lost");
    assert!(event.data.contains(r#""text":"done""#), "{event:?}");
    assert_eq!(stage.tools.dropped.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[tokio::test]
async fn clients_that_cannot_come_back_keep_their_stream() {
    let config = || {
        let mut config = Config::default();
        config.streams.stream_after = std::time::Duration::from_millis(1);
        config.streams.keep_alive = std::time::Duration::from_millis(1);
        config
    };
    let stage = Stage::new(config()).await;
    for version in ["2025-03-26", "2025-06-18"] {
        stays(&stage, &stage.host.hello(version).await, &call(1, "leave")).await;
    }
    let host = stage.host.with("mcp-protocol-version", "2026-07-28").with("mcp-method", "tools/call");
    stays(&stage, &host.with("mcp-name", "leave"), &tool("leave", "")).await;
    let mut config = config();
    config.streams.event_store = None;
    let stage = Stage::new(config).await;
    let host = stage.host.hello("2025-11-25").await;
    stays(&stage, &host, &call(1, "leave")).await;
    let events = host.post(&call_with_progress(2, "count 1")).await.events().await;
    assert!(events.iter().all(|event| event.id.is_none()) && events.len() == 2, "{events:?}");
    assert_eq!(host.with("last-event-id", "2-0").get().await.status, 400);
}

#[tokio::test]
async fn a_reconnect_replaces_a_dead_connection() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    let mut dead = host.get().await;
    let opening = dead.event().await.unwrap();
    let mut alive = back(&host, &opening).await;
    assert_eq!(dead.event().await, None);
    host.say(&call(1, "change")).await;
    assert!(alive.event().await.unwrap().data.contains("list_changed"));
}

#[tokio::test]
async fn an_unknown_event_is_a_bad_request() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    for id in ["", "x", "1", "1-", "-1", "99-0", "1-18446744073709551616", "+0-0", "0-00", "0-1"] {
        let answer = host.with("last-event-id", if id.is_empty() { "?" } else { id }).get().await;
        assert_eq!(answer.status, 400, "{id}");
        assert!(answer.text().await.contains("unknown event id "), "{id}");
    }
    let twice = host.with("last-event-id", "0-0\r\nlast-event-id: 0-0").get().await;
    assert_eq!(twice.status, 400);
    assert!(twice.text().await.contains("there are several headers last-event-id"));
    // A response that may still become JSON cannot be taken over.
    let waiting = host.clone();
    let waiting = tokio::spawn(async move { waiting.say(&call(1, "wait")).await });
    stage.tools.begun().await;
    assert_eq!(host.with("last-event-id", "2-0").get().await.status, 400);
    stage.tools.go.notify_one();
    assert_eq!(waiting.await.unwrap(), (200, done(1, "done")));
}

#[tokio::test]
async fn an_event_that_was_never_given_is_unknown() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    let events = host.post(&call_with_progress(1, "count 1")).await.events().await;
    let last = events.last().unwrap();
    let resumed = back(&host, last).await;
    assert_eq!(resumed.status, 200);
    assert!(resumed.events().await.is_empty(), "nothing follows the last event of an ended stream");
    let (stream, number) = last.id.as_deref().unwrap().split_once('-').unwrap();
    let mut listening = host.get().await;
    listening.event().await.unwrap();
    for id in
        [format!("{stream}-{}", number.parse::<u64>().unwrap() + 1), format!("{stream}-{}", u64::MAX), "0-1".into()]
    {
        let answer = host.with("last-event-id", &id).get().await;
        assert_eq!(answer.status, 400, "{id}");
        assert!(answer.text().await.contains(&format!("unknown event id \\\"{id}\\\"")), "{id}");
    }
}

#[tokio::test]
async fn an_event_that_was_never_given_ends_no_stream() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    let mut listening = host.get().await;
    listening.event().await.unwrap();
    let mut reporting = host.post(&call_with_progress(1, "report")).await;
    reporting.event().await.unwrap();
    let progress = reporting.event().await.unwrap().id.unwrap();
    let (stream, _) = progress.split_once('-').unwrap();
    for id in ["0-1".to_owned(), format!("0-{}", u64::MAX), format!("{stream}-2"), format!("{stream}-{}", u64::MAX)] {
        let answer = host.with("last-event-id", &id).get().await;
        assert_eq!(answer.status, 400, "{id}");
        assert!(answer.text().await.contains(&format!("unknown event id \\\"{id}\\\"")), "{id}");
    }
    stage.tools.go.notify_one();
    let mut rest = reporting.events().await.into_iter().map(|event| event.data);
    assert!(rest.next().is_some_and(|progress| progress.contains("\"progress\":2")));
    assert_eq!(rest.next(), Some(done(1, "done")));
    host.say(&call(2, "change")).await;
    assert!(listening.event().await.unwrap().data.contains("list_changed"));
}

#[tokio::test]
async fn a_client_that_reconnects_too_late_gets_an_error() {
    let mut config = Config::default();
    config.streams.event_store = Some(std::sync::Arc::new(MemoryStore::new(3, 100_000)));
    let stage = Stage::new(config).await;
    let host = stage.host.hello("2025-11-25").await;
    let events = host.post(&call_with_progress(1, "count 5")).await.events().await;
    assert_eq!(events.len(), 7);
    for (index, event) in events.iter().enumerate() {
        // Of six events with a message the last three are kept; each follows the event that names it.
        let answer = back(&host, event).await;
        assert_eq!(answer.status, if index < 3 { 400 } else { 200 }, "{event:?}");
        if index < 3 {
            assert!(answer.text().await.contains("no longer kept"));
        }
    }
    // The stream of a session continues, but reports the loss.
    let mut listening = host.get().await;
    let opening = listening.event().await.unwrap();
    for id in 2..7 {
        host.say(&call(id, "change")).await;
        listening.event().await.unwrap();
    }
    drop(listening);
    let answer = back(&host, &opening).await;
    assert_eq!(answer.status, 400);
    assert!(answer.text().await.contains("without Last-Event-ID"));
}

/// A store that takes events, and is away when they are asked for.
#[derive(Debug, Default)]
struct Away(MemoryStore);

impl EventStore for Away {
    fn append(&self, owner: &Owner, token: FencingToken, key: EventKey<'_>, entry: Entry<'_>) -> Write {
        self.0.append(owner, token, key, entry)
    }

    fn replay<'a>(&'a self, _: EventKey<'a>, _: u64) -> StoreAnswer<'a, Replayed> {
        Box::pin(std::future::ready(Err(StoreError::Unavailable)))
    }

    fn log<'a>(&'a self, session: &'a str, token: FencingToken) -> StoreAnswer<'a, Vec<StreamLog>> {
        self.0.log(session, token)
    }

    fn forget(&self, session: &str, token: FencingToken) {
        self.0.forget(session, token);
    }
}

#[tokio::test]
async fn a_client_may_return_when_the_store_is_back() {
    let stage = Stage::new(Config::default().with_event_store(Away::default())).await;
    let host = stage.host.hello("2025-11-25").await;
    let events = host.post(&call_with_progress(1, "count 1")).await.events().await;
    let answer = back(&host, &events[0]).await;
    assert_eq!((answer.status, answer.headers.get("retry-after").map(String::as_str)), (503, Some("5")));
    assert!(answer.text().await.contains("does not answer"));
}
