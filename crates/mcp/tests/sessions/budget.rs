//! Bytes that clients share: of requests that wait for their answers, and of what waits to be read.

use std::sync::Arc;
use std::time::Duration;

use protomcp_mcp::transport::memory::{self, Memory};
use protomcp_mcp::transport::{Received, Sink, Source, Transport, TransportError};
use protomcp_mcp::{Extensions, Limits, Owner, Reservation};
use protomcp_types::{Incoming, Message};

use super::transcript::{Stage, call, full, initialize, play};

const REFUSED: &str = r#"{"id":2,"error":{"code":-32603,"message":"too many bytes of requests wait for their answers; send it again in a moment","data":{"protomcp/error":{"error_code":"OVERLOADED","message":"too many bytes of requests wait for their answers","suggestion":"send it again in a moment","retryable":true}}}}"#;

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
        assert_eq!(inbound(&stage), 0);
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
        assert_eq!(inbound(&stage), line.len() + Limits::REQUEST_OVERHEAD);
        host.steps(&[r#"→ {"method":"notifications/cancelled","params":{"requestId":1}}"#, "· 1100ms"]).await;
        assert_eq!(inbound(&stage), 0);
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
        assert_eq!(inbound(&stage), line.len() + 2 * Limits::REQUEST_OVERHEAD);
        assert!(host.next().await.unwrap().starts_with('['));
        assert_eq!(inbound(&stage), 0);
    });
}

#[test]
fn a_call_that_waits_for_its_client_keeps_its_bytes() {
    play(Limits::default(), async |stage| {
        let mut host = stage.connect();
        let meta = super::transcript::expand(r#""_meta":{«2026 {"roots":{}}»}"#);
        let line = full(&format!(r#"{{"id":1,"method":"tools/call","params":{{{meta},"name":"roots"}}}}"#));
        host.send(&line).await;
        assert!(host.next().await.unwrap().contains("input_required"));
        assert_eq!(inbound(&stage), line.len() + Limits::REQUEST_OVERHEAD);
    });
}

#[test]
fn bytes_that_a_transport_has_reserved_are_not_counted_again() {
    play(one(), async |stage| {
        let (client, server) = memory::pair();
        let budget = stage.server.sessions().inbound_budget().clone();
        let reserve = move || Arc::new(budget.reserve(&Owner::Local, 7).unwrap());
        let serving = stage.serve(Reserving { inner: server, reserve });
        let (mut source, mut sink) = client.split();
        for text in [&initialize("2025-11-25"), &call(1, "sleep 10"), &call(2, "sleep 10")] {
            let Ok(Incoming::One(message)) = Incoming::parse(&text.clone().into()) else { panic!("{text}") };
            sink.send(message, None).unwrap();
        }
        sink.flush().await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(inbound(&stage), 14);
        for _ in 0..3 {
            let Ok(Some(Ok(Incoming::One(Message::Response(answer))))) = source.next().await else { panic!() };
            assert!(answer.outcome.is_ok(), "{answer:?}");
        }
        assert_eq!(inbound(&stage), 0);
        drop((source, sink));
        serving.await.unwrap().unwrap();
    });
}

fn one() -> Limits {
    // A line and its request twice are more than four fifths, and once are not.
    Limits { max_inbound_bytes: 2 * Limits::REQUEST_OVERHEAD, ..Limits::default() }
}

fn inbound(stage: &Stage) -> usize {
    stage.server.sessions().inbound_budget().taken()
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
