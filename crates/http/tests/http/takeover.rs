//! Sessions that go on in another process.

#[cfg(feature = "replica-client")]
mod handing_on;
mod replicas;
mod state;

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use protomcp_http::Principal;
use protomcp_testing::{StoppedClock, in_time};
use serde_json::{Value, json};

use self::replicas::Shared;
use super::client::{call, call_with_progress, done, full, initialize};

#[tokio::test]
async fn a_session_goes_on_in_another_process() {
    let shared = Shared::new();
    let (a, b) = (shared.replica("a").await, shared.replica("b").await);
    let host = a.stage.host.hello("2025-11-25").await;
    assert_eq!(host.say(&call(1, "echo x")).await, (200, done(1, "x")));
    a.die().await;
    let there = b.host(&host);
    assert_eq!(there.say(&call(1, "echo y")).await, (200, done(1, "y")));
    assert_eq!(there.say(&call(2, "echo z")).await, (200, done(2, "z")));
    assert_eq!((b.stage.service.sessions(), b.claims()), (1, 1));
    // It ends everywhere.
    assert_eq!(there.send("DELETE", "").await.status, 204);
    b.closed().await;
    let c = shared.replica("c").await;
    assert_eq!(c.host(&host).say(&call(3, "echo x")).await.0, 404);
    assert_eq!(c.claims(), 1);
}

#[tokio::test]
async fn a_session_goes_on_when_its_process_has_shut_down() {
    let shared = Shared::new();
    let (a, b) = (shared.replica("a").await, shared.replica("b").await);
    let host = a.stage.host.hello("2025-11-25").await;
    a.stage.service.shut_down();
    in_time(a.stage.service.drained()).await.expect("its sessions end there");
    // It is free although the process still has its lease.
    let there = b.host(&host);
    let taken_over = async {
        loop {
            let answer = there.say(&call(1, "echo y")).await;
            if answer.0 != 503 {
                return answer;
            }
        }
    };
    assert_eq!(in_time(taken_over).await.expect("the session goes on"), (200, done(1, "y")));
    in_time(a.keeper.resign()).await.expect("the lease is given back");
    assert_eq!(a.keeper.holder(), None);
}

#[tokio::test]
async fn a_resumed_stream_has_each_event_once() {
    let shared = Shared::new();
    let (a, b) = (shared.replica("a").await, shared.replica("b").await);
    let host = a.stage.host.hello("2025-11-25").await;
    let mut listening = host.get().await;
    listening.event().await.unwrap();
    let mut events = Vec::new();
    for id in ["0-1", "0-2"] {
        a.stage.tools.announce();
        let event = listening.event().await.unwrap();
        assert_eq!(event.id.as_deref(), Some(id));
        events.push(event);
    }
    a.die().await;
    let there = b.host(&host);
    let mut resumed = there.with("last-event-id", "0-1").get().await;
    assert_eq!(resumed.event().await, events.pop(), "the event that was missed");
    b.stage.tools.announce();
    assert_eq!(resumed.event().await.unwrap().id.as_deref(), Some("0-3"));
    drop(resumed);
    let mut resumed = there.with("last-event-id", "0-3").get().await;
    b.stage.tools.announce();
    assert_eq!(resumed.event().await.unwrap().id.as_deref(), Some("0-4"));
}

#[tokio::test]
async fn a_call_with_an_event_that_is_not_stored_is_answered() {
    let shared = Shared::new();
    let a = shared.replica("a").await;
    let host = a.stage.host.hello("2025-11-25").await;
    let mut answer = host.post(&call_with_progress(7, "report")).await;
    let (_, progress) = (answer.event().await.unwrap(), answer.event().await.unwrap());
    a.link.cut();
    a.stage.tools.go.notify_one();
    let is_lost = |data: &str| data.contains(r#""id":7"#) && data.contains("REPLICA_GONE");
    let lost = answer.event().await.unwrap();
    assert!(lost.id.is_none() && is_lost(&lost.data), "{lost:?}");
    assert_eq!(answer.event().await, None, "its stream ends");
    a.link.mend();
    // A client whose connection was cut before that.
    let rest = host.with("last-event-id", progress.id.as_deref().unwrap()).get().await.events().await;
    assert!(rest.len() == 1 && is_lost(&rest[0].data), "{rest:?}");
    assert_eq!(host.say(&call(8, "echo x")).await, (200, done(8, "x")), "the session goes on");
}

/// The answer waits behind the event that is not stored.
#[tokio::test]
async fn a_call_whose_stream_is_not_stored_is_answered_once() {
    let shared = Shared::new();
    let a = shared.replica("a").await;
    let host = a.stage.host.hello("2025-11-25").await;
    a.link.cut();
    let events = host.post(&call_with_progress(7, "count 2")).await.events().await;
    let answers: Vec<_> = events.iter().filter(|event| event.data.contains(r#""id":7"#)).collect();
    let [lost] = &answers[..] else { panic!("{events:?}") };
    assert!(lost.id.is_none() && lost.data.contains("REPLICA_GONE"), "{lost:?}");
    assert!(!events.iter().any(|event| event.data.contains("progress")), "{events:?}");
    a.link.mend();
    assert_eq!(host.say(&call(8, "echo x")).await, (200, done(8, "x")), "the session goes on");
}

#[tokio::test]
async fn a_call_that_has_ended_with_its_process_is_answered() {
    let shared = Shared::new();
    let (a, b) = (shared.replica("a").await, shared.replica("b").await);
    let host = a.stage.host.hello("2025-11-25").await;
    let mut answer = host.post(&call_with_progress(7, "report")).await;
    let (opening, progress) = (answer.event().await.unwrap(), answer.event().await.unwrap());
    let whole = host.post(&call_with_progress(8, "count 1")).await.events().await;
    a.die().await;
    let there = b.host(&host);
    let after = |id: &Option<String>| there.with("last-event-id", id.as_deref().unwrap());
    let rest = after(&progress.id).get().await.events().await;
    let [lost] = &rest[..] else { panic!("{rest:?}") };
    let error: Value = serde_json::from_str(&lost.data).unwrap();
    let details = &error["error"]["data"]["protomcp/error"];
    assert_eq!((&error["id"], &error["error"]["code"]), (&json!(7), &json!(-32603)), "{error}");
    assert_eq!((&details["error_code"], &details["retryable"]), (&json!("REPLICA_GONE"), &json!(true)), "{error}");
    // It is the next event of its stream, however often the client resumes.
    let again = after(&opening.id).get().await.events().await;
    assert!(again.len() == 2 && (&again[0], &again[1]) == (&progress, lost), "{again:?}");
    assert_eq!(after(&whole[0].id).get().await.events().await, whole[1..], "an answer that came is not replaced");
    // Its id is free, and no stream has the number of an earlier one.
    let again = there.post(&call_with_progress(7, "count 1")).await.events().await;
    let stream = |id: &Option<String>| id.as_deref().unwrap().split_once('-').unwrap().0.to_owned();
    assert!(again.len() == 3 && ![&opening.id, &whole[0].id].map(stream).contains(&stream(&again[0].id)), "{again:?}");
}

#[tokio::test]
async fn a_holder_that_is_late_cannot_write() {
    let shared = Shared::new();
    let (a, b) = (shared.replica("a").await, shared.replica("b").await);
    let host = a.stage.host.hello("2025-11-25").await;
    let mut listening = host.get().await;
    listening.event().await.unwrap();
    let waiting = host.clone();
    let waiting = tokio::spawn(async move { waiting.say(&call(1, "wait")).await });
    a.stage.tools.begun().await;
    // Its machine was suspended, for example.
    a.run_out().await;
    let there = b.host(&host);
    assert_eq!(there.say(&call(2, "echo x")).await, (200, done(2, "x")));
    a.stage.tools.announce();
    assert_eq!(listening.event().await, None, "the event is not sent");
    let (status, text) = in_time(waiting).await.unwrap().unwrap();
    // Clients send a request with 503 again by themselves, and this one has begun.
    assert!(status == 200 && text.contains("REPLICA_GONE"), "{status} {text}");
    in_time(a.stage.tools.has_dropped.notified()).await.expect("the call is cancelled");
    let refused = host.post(&call(3, "echo x")).await;
    assert_eq!((refused.status, refused.headers["retry-after"].as_str()), (503, "1"));
    // The new holder has all of it.
    b.stage.tools.announce();
    let mut resumed = there.with("last-event-id", "0-0").get().await;
    assert_eq!(resumed.event().await.unwrap().id.as_deref(), Some("0-1"));
    assert_eq!(there.say(&call(3, "echo x")).await, (200, done(3, "x")));
}

#[tokio::test]
async fn each_request_of_a_lost_batch_is_answered() {
    let shared = Shared::new();
    let (a, b) = (shared.replica("a").await, shared.replica("b").await);
    let host = a.stage.host.hello("2025-03-26").await;
    let mut listening = host.get().await;
    let (waiting, batch) = (host.clone(), format!("[{},{}]", full(&call(1, "echo x")), full(&call(2, "wait"))));
    let waiting = tokio::spawn(async move { waiting.say(&batch).await });
    a.stage.tools.begun().await;
    assert_eq!(host.say(&call(3, "echo y")).await.0, 200, "the first call has its answer by now");
    a.run_out().await;
    assert_eq!(b.host(&host).say(&call(4, "echo z")).await.0, 200);
    // The process finds out when it stores an event.
    a.stage.tools.announce();
    assert_eq!(listening.event().await, None);
    let (status, text) = in_time(waiting).await.unwrap().unwrap();
    let answers: Vec<Value> = serde_json::from_str(&text).unwrap();
    let mut ids: Vec<_> = answers.iter().filter_map(|answer| answer["id"].as_u64()).collect();
    ids.sort_unstable();
    assert!(status == 200 && ids == [1, 2] && text.contains("REPLICA_GONE"), "{status} {text}");
}

#[tokio::test]
async fn a_process_without_a_lease_ends_its_sessions() {
    let clock = StoppedClock::new();
    let shared = Shared::new();
    let a = shared.replica_with("a", Duration::from_secs(10)).await;
    let b = shared.replica("b").await;
    let host = a.stage.host.hello("2025-11-25").await;
    let mut listening = host.get().await;
    listening.event().await.unwrap();
    a.link.cut();
    clock.advance(Duration::from_secs(11)).await;
    assert_eq!(listening.event().await, None);
    let refused = host.post(&call(1, "echo x")).await;
    assert_eq!((refused.status, refused.headers["retry-after"].as_str()), (503, "1"));
    let there = b.host(&host);
    assert_eq!(there.say(&call(1, "echo x")).await, (200, done(1, "x")));
    // It comes back under another lease, and the session stays where it is.
    a.link.mend();
    clock.advance(Duration::from_secs(2)).await;
    assert!(in_time(a.keeper.held()).await.unwrap() > a.lease);
    let (status, text) = host.say(&call(2, "echo x")).await;
    assert!(status == 503 && text.contains("the process b of this server serves the session"), "{status} {text}");
    assert_eq!(a.stage.host.hello("2025-11-25").await.say(&call(1, "echo x")).await.0, 200);
}

#[tokio::test]
async fn a_handshake_whose_session_is_not_saved_is_refused() {
    let clock = StoppedClock::new();
    let shared = Shared::new();
    let a = shared.replica_with("a", Duration::from_secs(10)).await;
    a.link.fill();
    let host = a.stage.host.clone();
    let hello = tokio::spawn(async move { host.say(&initialize("2025-11-25", "{}")).await });
    for _ in 0..60 {
        if !hello.is_finished() {
            clock.advance(Duration::from_millis(500)).await;
        }
    }
    let (status, text) = in_time(hello).await.expect("it does not wait for the store").unwrap();
    assert!(status == 503 && text.contains("send the request again"), "{status} {text}");
    a.closed().await;
    assert_eq!(a.keeper.holder().as_ref(), Some(&a.lease), "the leases of the store work");
}

#[tokio::test]
async fn a_session_is_taken_over_for_its_principal_alone() {
    let shared = Shared::new();
    let (a, b) = (shared.replica("a").await, shared.replica("b").await);
    let request = |who: Option<&str>, session: Option<&str>, body: String| {
        let mut request =
            Request::post("http://localhost/mcp").header("content-type", "application/json").header("accept", "*/*");
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        if let Some(who) = who {
            request = request.extension(Principal(Arc::from(who)));
        }
        request.body(axum::body::Body::from(full(&body))).unwrap()
    };
    let hello = a.stage.service.handle(request(Some("ann"), None, initialize("2025-11-25", "{}"))).await;
    let session = hello.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    a.die().await;
    for (who, status, sessions) in [(Some("bob"), 404, 0), (None, 404, 0), (Some("ann"), 200, 1), (Some("bob"), 404, 1)]
    {
        let ping = r#"{"id":1,"method":"ping"}"#.to_owned();
        let answer = b.stage.service.handle(request(who, Some(&session), ping)).await;
        assert_eq!((answer.status().as_u16(), b.stage.service.sessions()), (status, sessions), "{who:?}");
    }
}

#[tokio::test]
async fn concurrent_requests_claim_a_session_once() {
    let shared = Shared::new();
    let (a, b) = (shared.replica("a").await, shared.replica("b").await);
    let host = a.stage.host.hello("2025-11-25").await;
    a.die().await;
    let there = b.host(&host);
    let (calls, listening) = ([1, 2, 3].map(|id| call(id, "echo x")), there.get());
    let [one, two, three] = calls.each_ref().map(|call| there.say(call));
    let (one, two, three, listening) = tokio::join!(one, two, three, listening);
    assert_eq!([one.0, two.0, three.0, listening.status], [200; 4]);
    assert_eq!((b.claims(), b.stage.service.sessions()), (1, 1));
}

#[tokio::test]
async fn a_session_that_is_open_nowhere_is_not_found() {
    let shared = Shared::new();
    let b = shared.replica("b").await;
    let ping = r#"{"id":1,"method":"ping"}"#;
    for (key, claims) in [("x".to_owned(), 0), ("0".repeat(31), 0), ("0".repeat(32), 1)] {
        let answer = b.stage.host.with("mcp-session-id", &key).post(ping).await;
        assert_eq!((answer.status, b.claims()), (404, claims), "{key}");
    }
}

#[tokio::test]
async fn without_the_store_only_sessions_of_the_process_are_served() {
    let shared = Shared::new();
    let (a, b) = (shared.replica("a").await, shared.replica("b").await);
    let host = a.stage.host.hello("2025-11-25").await;
    let there = b.host(&host);
    let (status, text) = there.say(&call(1, "echo x")).await;
    assert!(status == 503 && text.contains("the process a of this server serves the session"), "{status} {text}");
    a.link.cut();
    b.link.cut();
    assert_eq!(host.say(&call(1, "echo x")).await, (200, done(1, "x")), "its lease runs");
    for refused in [there.post(&call(1, "echo x")).await, b.stage.host.post(&initialize("2025-11-25", "{}")).await] {
        assert_eq!((refused.status, refused.headers["retry-after"].as_str()), (503, "1"));
        let text = refused.text().await;
        assert!(text.contains("does not answer"), "{text}");
    }
    a.link.mend();
    b.link.mend();
    assert_eq!(b.stage.host.hello("2025-11-25").await.say(&call(1, "echo x")).await, (200, done(1, "x")));
    a.die().await;
    assert_eq!(there.say(&call(1, "echo x")).await, (200, done(1, "x")));
}
