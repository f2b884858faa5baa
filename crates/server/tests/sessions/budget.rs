//! Bytes that clients share: of requests that wait for their answers, and of what waits to be read.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use protomcp_server::{Extensions, Limits, Owner, Reservation};
use protomcp_testing::{JsonPeer, in_time, until};
use protomcp_transport::lines::Lines;
use protomcp_transport::memory::{self, Memory};
use protomcp_transport::{Received, Sink, Source, Transport, TransportError};
use protomcp_types::{Incoming, Message};

use super::transcript::{Stage, call, full, initialize, play};

const REFUSED: &str = r#"{"id":2,"error":{"code":-32603,"message":"too many bytes of requests wait for their answers; send it again in a moment","data":{"protomcp/error":{"error_code":"OVERLOADED","message":"too many bytes of requests wait for their answers","suggestion":"send it again in a moment","retryable":true,"retry_after_ms":1000}}}}"#;

#[test]
fn a_request_without_room_is_refused_and_may_come_again() {
    play(one(), async |stage| {
        let mut host = stage.connect();
        host.steps(&["→ hello"]).await;
        host.send(&call(1, "sleep 10")).await;
        host.send(&call(2, "echo")).await;
        assert_eq!(host.next().await.unwrap(), full(REFUSED));
        host.steps(&[r#"→ {"id":3,"method":"ping"}"#, r#"← {"id":3,"result":{}}"#]).await;
        assert!(host.next().await.unwrap().starts_with(&full(r#"{"id":1,"result""#)));
        host.send(&call(2, "echo")).await;
        assert!(host.next().await.unwrap().starts_with(&full(r#"{"id":2,"result""#)));
        assert_eq!(inbound(&stage), INTRODUCTION);
    });
}

#[test]
fn another_caller_finds_room() {
    let limits = Limits { max_inbound_bytes: 20 * Limits::REQUEST_OVERHEAD, ..Limits::default() };
    play(limits, async |stage| {
        let (mut ann, mut bob) = (stage.connect_as("ann"), stage.connect_as("bob"));
        ann.steps(&["→ hello"]).await;
        bob.steps(&["→ hello"]).await;
        let mut refused = 0;
        for id in 0..20 {
            ann.send(&call(id, "sleep 10")).await;
        }
        for _ in 0..20 {
            refused += usize::from(ann.next().await.unwrap().contains("OVERLOADED"));
        }
        assert_eq!(refused, 5, "one alone gets four fifths, less the bytes of the texts");
        for id in 0..16 {
            ann.send(&call(id, "sleep 10")).await;
        }
        bob.send(&call(1, "echo")).await;
        assert!(bob.next().await.unwrap().contains("result"));
    });
}

#[test]
fn the_whole_line_counts_because_a_part_of_it_keeps_all_of_it() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        host.steps(&["→ hello"]).await;
        let line = format!("{}{}", call(1, "wait"), " ".repeat(500));
        host.send(&line).await;
        host.steps(&["· 1ms"]).await;
        assert_eq!(inbound(&stage), INTRODUCTION + line.len() + Limits::REQUEST_OVERHEAD);
        host.steps(&[r#"→ {"method":"notifications/cancelled","params":{"requestId":1}}"#, "· 1100ms"]).await;
        assert_eq!(inbound(&stage), INTRODUCTION);
    });
}

#[test]
fn requests_of_a_batch_share_their_line() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        host.steps(&["→ hello 2025-03-26"]).await;
        let line = format!("[{},{}]", call(1, "sleep 5"), call(2, "sleep 10"));
        host.send(&line).await;
        host.steps(&["· 7ms"]).await;
        assert_eq!(inbound(&stage), INTRODUCTION + line.len() + 2 * Limits::REQUEST_OVERHEAD);
        assert!(host.next().await.unwrap().starts_with('['));
        assert_eq!(inbound(&stage), INTRODUCTION);
    });
}

#[test]
fn a_call_that_waits_for_its_client_keeps_its_bytes() {
    play(Limits { ask_timeout: Duration::from_secs(10), ..Limits::default() }, async |stage| {
        let mut host = stage.connect();
        let meta = super::transcript::expand(r#""_meta":{«2026 {"roots":{}}»}"#);
        let line = full(&format!(r#"{{"id":1,"method":"tools/call","params":{{{meta},"name":"roots"}}}}"#));
        host.send(&line).await;
        assert!(host.next().await.unwrap().contains("input_required"));
        assert_eq!(inbound(&stage), line.len() + Limits::REQUEST_OVERHEAD);
        host.steps(&["· 12000ms"]).await;
        assert_eq!(inbound(&stage), 0);
    });
}

#[test]
fn a_task_gives_the_bytes_of_its_request_back_when_it_has_ended() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        let meta = r#""_meta":{«2026 {"extensions":{"io.modelcontextprotocol/tasks":{}}}»}"#;
        let meta = super::transcript::expand(meta);
        let line = full(&format!(r#"{{"id":1,"method":"tools/call","params":{{{meta},"name":"task 10"}}}}"#));
        host.send(&line).await;
        assert!(host.next().await.unwrap().contains("taskId"));
        assert_eq!(inbound(&stage), line.len() + Limits::REQUEST_OVERHEAD);
        host.steps(&["· 20ms"]).await;
        assert_eq!((inbound(&stage), outbound(&stage)), (0, 0));
    });
}

#[test]
fn a_session_holds_bytes_of_introduction_and_subscriptions() {
    play(Limits { max_inbound_bytes: 16_000, ..Limits::default() }, async |stage| {
        let mut host = stage.connect();
        let subscribe = r#"{"id":1,"method":"resources/subscribe","params":{"uri":"file:///a"}}"#;
        host.steps(&["→ hello", &format!("→ {subscribe}"), r#"← {"id":1,"result":{}}"#]).await;
        let kept = INTRODUCTION + "file:///a".len() + Limits::SUBSCRIPTION_OVERHEAD;
        assert_eq!(inbound(&stage), kept);
        let long = |name: usize| initialize("2025-11-25").replace("host", &"x".repeat(name));
        let mut others = Vec::new();
        let refused = loop {
            let mut other = stage.connect();
            other.send(&long(800)).await;
            let answer = other.next().await.unwrap();
            if answer.contains("error") {
                break answer;
            }
            others.push(other);
        };
        assert!(refused.contains("OVERLOADED"), "{refused}");
        assert!((11..15).contains(&others.len()), "{}", others.len());
        others.clear();
        host.steps(&["· 1ms"]).await;
        assert_eq!(inbound(&stage), kept);
        host.steps(&["→ end", "← end"]).await;
        assert_eq!(inbound(&stage), 0);
    });
}

#[test]
fn bytes_that_a_transport_has_reserved_are_not_counted_again() {
    play(one(), async |stage| {
        let (client, server) = memory::pair();
        let budget = stage.server.handle().inbound_budget().clone();
        let reserve = move || Arc::new(budget.reserve(&Owner::Local, 7).unwrap());
        let serving = stage.serve(Reserving { inner: server, reserve });
        let (mut source, mut sink) = client.split();
        for text in [&initialize("2025-11-25"), &call(1, "sleep 10"), &call(2, "sleep 10")] {
            let Ok(Incoming::One(message)) = Incoming::parse(&text.clone().into()) else { panic!("{text}") };
            sink.send(message, None).unwrap();
        }
        sink.flush().await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(inbound(&stage), INTRODUCTION + 14);
        for _ in 0..3 {
            let Ok(Some(Ok(Incoming::One(Message::Response(answer))))) = source.next().await else { panic!() };
            assert!(answer.outcome.is_ok(), "{answer:?}");
        }
        assert_eq!(inbound(&stage), INTRODUCTION);
        drop((source, sink));
        serving.await.unwrap().unwrap();
    });
}

fn one() -> Limits {
    // A line and its request twice are more than four fifths, and once are not.
    Limits { max_inbound_bytes: 2 * Limits::REQUEST_OVERHEAD, ..Limits::default() }
}

/// The bytes of `initialize` in the handshake of these tests.
const INTRODUCTION: usize = 80;

fn inbound(stage: &Stage) -> usize {
    stage.server.handle().inbound_budget().taken()
}

/// A transport that reserves bytes for each message by itself.
struct Reserving<F> {
    inner: Memory,
    reserve: F,
}

struct ReservingSource<F> {
    inner: <Memory as Transport>::Source,
    reserve: F,
}

impl<F: Fn() -> Arc<Reservation> + Send + 'static> Transport for Reserving<F> {
    type Source = ReservingSource<F>;
    type Sink = <Memory as Transport>::Sink;

    fn split(self) -> (Self::Source, Self::Sink) {
        let (inner, sink) = self.inner.split();
        (ReservingSource { inner, reserve: self.reserve }, sink)
    }
}

impl<F: Fn() -> Arc<Reservation> + Send + 'static> Source for ReservingSource<F> {
    async fn next(&mut self) -> Result<Option<Received>, TransportError> {
        self.inner.next().await
    }

    fn extensions(&mut self) -> Extensions {
        Extensions::default().with((self.reserve)())
    }
}

#[test]
fn in_place_of_an_answer_without_room_comes_a_short_error() {
    play(Limits { max_outbound_bytes: 100_000, ..Limits::default() }, async |stage| {
        let (mut ann, mut bob) = (stage.connect_over(1000, Some("ann".into())), stage.connect_as("bob"));
        ann.steps(&["→ hello"]).await;
        bob.steps(&["→ hello"]).await;
        for id in 0..10 {
            ann.send(&call(id, "big 20000")).await;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(outbound(&stage) <= 80_000, "one alone gets four fifths");
        bob.send(&call(0, "big 9000")).await;
        assert!(bob.next().await.unwrap().len() > 9000, "another finds room");
        let mut whole = 0;
        for _ in 0..10 {
            let answer = ann.next().await.unwrap();
            assert!(answer.contains("\"result\""), "{answer}");
            if answer.len() > 20_000 {
                whole += 1;
            } else {
                assert!(answer.ends_with(DROPPED), "{answer}");
            }
        }
        assert_eq!(whole, 3);
        ann.steps(&["· 1ms"]).await;
        assert_eq!(outbound(&stage), 0);
        ann.send(&call(10, "big 20000")).await;
        assert!(ann.next().await.unwrap().len() > 20_000);
    });
}

#[test]
fn room_comes_back_with_each_message_that_is_read() {
    play(Limits { max_outbound_bytes: 100_000, ..Limits::default() }, async |stage| {
        let mut host = stage.connect_with(1000);
        host.steps(&["→ hello"]).await;
        for id in 0..3 {
            host.send(&call(id, "big 20000")).await;
        }
        // There is always something that is not read.
        for id in 3..50 {
            assert!(host.next().await.unwrap().len() > 20_000, "{id}");
            host.send(&call(id, "big 20000")).await;
        }
    });
}

#[test]
fn answers_that_wait_for_their_batch_take_room() {
    play(Limits { max_outbound_bytes: 100_000, ..Limits::default() }, async |stage| {
        let mut host = stage.connect();
        host.steps(&["→ hello 2025-03-26"]).await;
        let calls: Vec<_> = (0..9).map(|id| call(id, "big 20000")).collect();
        host.send(&format!("[{},{}]", calls.join(","), call(9, "sleep 10"))).await;
        host.steps(&["· 1ms"]).await;
        assert!((60_000..80_000).contains(&outbound(&stage)));
        let answers: Vec<serde_json::Value> = serde_json::from_str(&host.next().await.unwrap()).unwrap();
        assert_eq!(answers.len(), 10);
        assert_eq!(answers.iter().filter(|answer| answer.to_string().contains("OVERLOADED")).count(), 6);
        host.steps(&["· 1ms"]).await;
        assert_eq!(outbound(&stage), 0);
    });
}

#[test]
fn the_bytes_of_other_answers_are_bounded() {
    play(Limits { max_outbound_bytes: 10_000, ..Limits::default() }, async |stage| {
        let mut host = stage.connect_with(100);
        host.steps(&["→ hello"]).await;
        // The error for an unknown resource has its URI.
        let uri = "m".repeat(900);
        for id in 0..20 {
            let params = format!(r#"{{"uri":"{uri}"}}"#);
            host.send(&full(&format!(r#"{{"id":{id},"method":"resources/read","params":{params}}}"#))).await;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(outbound(&stage) <= 8_000);
        let mut refused = 0;
        for id in 0..20 {
            let answer = host.next().await.unwrap();
            assert!(answer.starts_with(&full(&format!(r#"{{"id":{id},"error":"#))), "{answer}");
            refused += usize::from(answer.contains("OVERLOADED"));
        }
        assert!((10..16).contains(&refused), "{refused}");
    });
}

#[test]
fn notices_and_questions_without_room_are_dropped_and_fail() {
    play(Limits { max_outbound_bytes: 2_000, ..Limits::default() }, async |stage| {
        let mut host = stage.connect();
        host.steps(&[
            "→ hello",
            r#"→ {"id":1,"method":"tools/call","params":{"name":"count 10","_meta":{"progressToken":1}}}"#,
        ])
        .await;
        let mut progress = 0;
        while host.next().await.unwrap().contains("progress") {
            progress += 1;
        }
        assert!((3..7).contains(&progress), "{progress}");
        let lost = host.next().await.unwrap();
        assert!(lost.contains(&format!("{} notifications were dropped", 10 - progress)), "{lost}");
        host.send(&call(2, "ask-often 10")).await;
        let mut asked = 0;
        let answer = loop {
            let line = host.next().await.unwrap();
            asked += usize::from(line.contains(r#""method":"ping""#));
            if line.contains(r#""id":2"#) && line.contains("result") {
                break line;
            }
        };
        assert!((3..8).contains(&asked), "{asked}");
        assert!(answer.contains(&format!("{} too many", 10 - asked)), "{answer}");
        assert_eq!(outbound(&stage), 0);
    });
}

#[test]
fn an_outcome_that_waits_for_its_client_takes_room() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        let meta = super::transcript::expand(r#""_meta":{«2026 {"roots":{}}»}"#);
        let line = format!(r#"{{"id":1,"method":"tools/call","params":{{{meta},"name":"impatient"}}}}"#);
        host.send(&full(&line)).await;
        assert!(host.next().await.unwrap().contains("input_required"));
        assert_eq!(outbound(&stage), 0);
        host.steps(&["· 1100ms"]).await;
        assert!(outbound(&stage) > Limits::MESSAGE_OVERHEAD);
    });
}

/// With real time and a real pipe.
#[cfg(target_os = "linux")]
#[test]
fn a_client_that_never_reads_its_pipe_keeps_bounded_memory() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let test = async {
        let stage = Stage::new(Limits { max_outbound_bytes: 8 << 20, ..Limits::default() }, false);
        let (input, reader) = tokio::net::unix::pipe::pipe().unwrap();
        let (writer, output) = tokio::net::unix::pipe::pipe().unwrap();
        let serving = stage.serve(Lines::new(reader, writer));
        let mut client = JsonPeer::over(output, input);
        client.send_line(&initialize("2025-11-25")).await;
        for id in 0..60 {
            client.send_line(&call(id, "big 1000000")).await;
        }
        let is_answered = || stage.tools.called.load(Ordering::SeqCst) == 60 && inbound(&stage) == INTRODUCTION;
        until("all calls are answered", is_answered).await;
        let (mut whole, mut dropped) = (0, 0);
        while whole + dropped < 60 {
            let line = client.next_line().await.unwrap();
            whole += usize::from(line.len() > 1_000_000);
            dropped += usize::from(line.contains("OVERLOADED"));
        }
        assert_eq!(whole, 6, "four fifths of 8 MiB were kept");
        client.close().await;
        serving.await.unwrap().unwrap();
        assert_eq!(outbound(&stage), 0);
    };
    runtime.block_on(async { in_time(test).await.expect("it has an end") });
}

fn outbound(stage: &Stage) -> usize {
    stage.server.handle().outbound_budget().taken()
}

const DROPPED: &str = r#""isError":true}}"#;
