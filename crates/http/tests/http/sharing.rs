//! One user who takes every place, and another who still gets one.

use std::net::IpAddr;
use std::time::Duration;

use protomcp_http::{Config, ListenerConfig};
use protomcp_server::{Budget, Limits};
use protomcp_testing::in_time;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::client::{Host, call, call_with_progress, done, initialize};
use super::handler::Stage;
use super::metrics::text;

const PING: &str = r#"{"id":1,"method":"ping"}"#;

/// A configuration behind a proxy on this machine.
fn behind_proxy() -> Config {
    Config::default().trust_proxy(IpAddr::from([127, 0, 0, 1]))
}

/// A client of that proxy.
fn user(stage: &Stage, address: &str) -> Host {
    stage.host.with("x-forwarded-for", address)
}

async fn count_alive(sessions: &[Host]) -> usize {
    let mut alive = 0;
    for session in sessions {
        match session.say(PING).await.0 {
            200 => alive += 1,
            status => assert_eq!(status, 404),
        }
    }
    alive
}

#[tokio::test]
async fn a_user_who_holds_all_sessions_keeps_no_other_out() {
    const SESSIONS: usize = 8;
    let mut config = behind_proxy();
    config.limits.max_sessions = SESSIONS;
    let stage = Stage::new(config).await;
    let (ann, bob) = (user(&stage, "192.0.2.1"), user(&stage, "192.0.2.2"));
    let mut hoard = Vec::new();
    for _ in 0..SESSIONS {
        hoard.push(ann.hello("2025-11-25").await);
    }
    assert_eq!(ann.post(&initialize("2025-11-25", "{}")).await.status, 503);
    let first = bob.hello("2025-11-25").await;
    assert_eq!(count_alive(&hoard).await, SESSIONS - 1);
    // Neither gets more than the other has.
    let mut others = Vec::new();
    while bob.post(&initialize("2025-11-25", "{}")).await.status == 200 {
        others.push(());
    }
    assert_eq!((count_alive(&hoard).await, others.len() + 1), (SESSIONS / 2, SESSIONS / 2));
    assert_eq!(ann.post(&initialize("2025-11-25", "{}")).await.status, 503);
    assert_eq!(count_alive(&[first]).await, 1);
}

#[tokio::test]
async fn an_address_from_an_untrusted_proxy_does_not_count() {
    let mut config = Config::default();
    config.limits.max_sessions = 1;
    let stage = Stage::new(config).await;
    user(&stage, "192.0.2.1").hello("2025-11-25").await;
    assert_eq!(user(&stage, "192.0.2.2").post(&initialize("2025-11-25", "{}")).await.status, 503);
}

/// More than the kept `initialize` requests of the sessions take, and less than any other request.
const INTRODUCTIONS: usize = 1024;

/// Waits until the use of a budget satisfies a condition.
async fn until(budget: &Budget, is_so: impl Fn(usize) -> bool) {
    let reached = in_time(async {
        while !is_so(budget.taken()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(reached.await.is_ok(), "{} bytes are taken", budget.taken());
}

#[tokio::test]
async fn unfinished_bodies_of_one_user_leave_room_for_another() {
    const BUDGET: usize = 8 << 20;
    const BODY: usize = 1 << 20;
    const CONNECTIONS: usize = 40;
    let limits = Limits { max_inbound_bytes: BUDGET, ..Limits::default() };
    let stage = Stage::build_with(limits, behind_proxy(), ListenerConfig::default(), |_| None).await;
    let (ann, bob) = (user(&stage, "192.0.2.1"), user(&stage, "192.0.2.2").hello("2025-11-25").await);
    let budget = stage.sessions.inbound_budget().clone();
    let mut sending = tokio::task::JoinSet::new();
    for _ in 0..CONNECTIONS {
        let mut stream = TcpStream::connect(ann.address).await.unwrap();
        sending.spawn(async move {
            let head = format!(
                "POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: */*\r\ncontent-type: application/json\r\n\
                 x-forwarded-for: 192.0.2.1\r\ncontent-length: {BODY}\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(&vec![b' '; BODY - 1]).await.unwrap();
            stream
        });
    }
    let mut unfinished = Vec::new();
    while let Some(sent) = in_time(sending.join_next()).await.expect("bodies are read") {
        assert!(budget.taken() <= BUDGET / 5 * 4, "{} bytes are taken", budget.taken());
        unfinished.push(sent.unwrap());
    }
    until(&budget, |taken| taken > BUDGET / 2).await;
    let answer = ann.post(&format!(r#"{{"id":1,"method":"ping","x":"{}"}}"#, "x".repeat(BUDGET / 2))).await;
    assert_eq!((answer.status, answer.headers["retry-after"].as_str()), (503, "5"));
    for id in 0..10 {
        assert_eq!(bob.say(&call(id, "echo x")).await, (200, done(id, "x")));
    }
    drop(unfinished);
    until(&budget, |taken| taken < INTRODUCTIONS).await;
}

#[tokio::test]
async fn a_call_keeps_its_bytes_until_it_is_answered() {
    let stage = Stage::local().await;
    let host = stage.host.hello("2025-11-25").await;
    let budget = stage.sessions.inbound_budget();
    until(budget, |taken| taken < INTRODUCTIONS).await;
    let long = "x".repeat(100_000);
    let body = format!(r#"{{"id":7,"method":"tools/call","params":{{"name":"wait","arguments":{{"x":"{long}"}}}}}}"#);
    let waiting = tokio::spawn(async move { host.say(&body).await });
    stage.tools.begun().await;
    assert!(budget.taken() > 100_000 + Limits::REQUEST_OVERHEAD, "{}", budget.taken());
    stage.tools.go.notify_one();
    assert_eq!(in_time(waiting).await.unwrap().unwrap(), (200, done(7, "done")));
    until(budget, |taken| taken < INTRODUCTIONS).await;
}

#[tokio::test]
async fn each_message_of_a_batch_takes_room() {
    const BUDGET: usize = 1 << 20;
    let limits = Limits { max_inbound_bytes: BUDGET, ..Limits::default() };
    let stage = Stage::build_with(limits, Config::default(), ListenerConfig::default(), |_| None).await;
    let host = stage.host.hello("2025-03-26").await;
    let batch = |count: usize| format!("[{}]", vec![r#"{"jsonrpc":"2.0","method":"n"}"#; count].join(","));
    let fitting = BUDGET / 5 * 4 / Limits::REQUEST_OVERHEAD - 1;
    assert_eq!(host.post(&batch(fitting)).await.status, 202);
    until(stage.sessions.inbound_budget(), |taken| taken < INTRODUCTIONS).await;
    assert_eq!(host.post(&batch(fitting + 2)).await.status, 503);
}

#[tokio::test]
async fn unread_answers_take_room_and_no_loss_is_silent() {
    const BUDGET: usize = 1 << 20;
    const ANSWER: usize = 300_000;
    let limits = Limits { max_outbound_bytes: BUDGET, ..Limits::default() };
    let stage = Stage::build_with(limits, behind_proxy(), ListenerConfig::default(), |_| None).await;
    let (ann, bob) = (user(&stage, "192.0.2.1").hello("2025-11-25").await, user(&stage, "192.0.2.2"));
    let bob = bob.hello("2025-11-25").await;
    let budget = stage.sessions.outbound_budget();
    let has_streams = |count: usize| text(&stage).contains(&format!("pmcp_http_streams {count}\n"));
    let mut last_events = Vec::new();
    for number in 0..4 {
        let mut stream = ann.post(&call_with_progress(number, &format!("report {ANSWER}"))).await;
        stage.tools.begun().await;
        // After the event that opens the stream.
        let event = loop {
            let event = stream.event().await.unwrap();
            if event.data.contains("progress") {
                break event;
            }
        };
        assert!(has_streams(1));
        last_events.push(event.id.unwrap());
        drop(stream);
        until(budget, |_| has_streams(0)).await;
        stage.tools.go.notify_one();
        until(budget, |taken| taken > ANSWER * (number as usize + 1).min(2)).await;
    }
    assert!(budget.taken() <= BUDGET / 5 * 4, "{} bytes are taken", budget.taken());
    let (status, text) = bob.say(&call(1, &format!("big {}", ANSWER / 3))).await;
    assert!(status == 200 && text.len() > ANSWER / 3, "{status} {}", &text[..200]);
    for (number, last) in last_events.iter().enumerate() {
        let events = ann.with("last-event-id", last).get().await.events().await;
        let answer = &events.last().unwrap().data;
        match number {
            0 | 1 => assert!(answer.len() > ANSWER, "{answer}"),
            _ => assert!(answer.contains("OVERLOADED") && answer.len() < 1000, "{}", &answer[..200]),
        }
    }
    until(budget, |taken| taken == 0).await;
}
