//! Many calls, many sessions, and the transport in memory.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use protomcp_server::layer::limit::LimitLayer;
use protomcp_server::layer::timeout::TimeoutLayer;
use protomcp_server::layer::trace::TraceLayer;
use protomcp_server::{Limits, Server};
use protomcp_transport::{Received, Sink, Source, Transport, TransportError, memory};
use protomcp_types::{Incoming, JsonBuf, JsonObject, Malformed, Message, Params, RawJson, RequestId};

use super::transcript::{call, play};

#[test]
fn every_answer_reaches_its_caller() {
    play(Limits::default(), async |stage| {
        let mut hosts = [stage.connect(), stage.connect(), stage.connect()];
        for host in &mut hosts {
            host.steps(&["→ hello"]).await;
            for id in 0..500 {
                host.send(&call(id, &format!("sleep {}", id * 7 % 50))).await;
            }
        }
        assert_eq!(stage.server.handle().count(), 3);
        for host in &mut hosts {
            let mut missing: HashSet<RequestId> = (0..500u64).map(RequestId::from).collect();
            while !missing.is_empty() {
                let line = host.next().await.unwrap();
                let Ok(Incoming::One(Message::Response(response))) = Incoming::parse(&line.into()) else { panic!() };
                assert!(missing.remove(&response.id.unwrap()));
            }
        }
    });
}

/// A host in memory.
struct Host<T: Transport> {
    source: T::Source,
    sink: T::Sink,
}

impl<T: Transport> Host<T> {
    fn new(transport: T) -> Self {
        let (source, sink) = transport.split();
        Self { source, sink }
    }

    async fn ask(&mut self, id: i64, method: &'static str, params: Params) -> Result<JsonBuf, String> {
        self.sink.send(Message::request(id, method, params), None).unwrap();
        self.sink.flush().await.unwrap();
        match self.source.next().await.unwrap() {
            Some(Ok(Incoming::One(Message::Response(response)))) => {
                assert_eq!(response.id, Some(id.into()));
                response.outcome.map_err(|error| error.to_string())
            }
            other => panic!("{other:?}"),
        }
    }

    async fn hello(&mut self) {
        let text = r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"host"}}"#;
        let params = JsonObject::from_raw(&RawJson::parse(text).unwrap()).unwrap();
        self.ask(0, "initialize", params.into()).await.unwrap();
    }
}

fn tool(name: &str) -> Params {
    JsonObject::new().with("name", RawJson::text(name)).into()
}

#[test]
fn messages_go_over_as_values_in_memory() {
    play(Limits::default(), async |stage| {
        let (theirs, ours) = memory::pair();
        let server = stage.server.clone();
        let serving = tokio::spawn(async move { server.serve(ours).await });
        let mut host = Host::new(theirs);
        host.hello().await;
        let arguments = RawJson::text(&"x".repeat(100_000));
        let arguments = JsonObject::new().with("x", arguments).to_body().into_raw();
        let Params::Named(params) = tool("echo") else { panic!() };
        let result = host.ask(1, "tools/call", params.with("arguments", arguments.clone()).into()).await.unwrap();
        // The big part was never copied.
        assert!(result.segments().any(|segment| segment.as_ptr() == arguments.as_bytes().as_ptr()));
        // Text that is not a message is answered as well.
        host.sink.forward(Err(Malformed::invalid(None, "a test")));
        host.sink.flush().await.unwrap();
        assert!(matches!(host.source.next().await, Ok(Some(Ok(Incoming::One(Message::Response(_)))))));
        drop(host);
        serving.await.unwrap().unwrap();
    });
}

#[test]
fn a_session_is_a_small_future() {
    play(Limits::default(), async |stage| {
        let (_theirs, ours) = memory::pair();
        let bytes = size_of_val(&stage.server.serve_inline(ours));
        assert!(bytes <= 2048, "{bytes}");
    });
}

#[test]
fn a_connection_can_be_served_in_its_own_task() {
    play(Limits::default(), async |stage| {
        let (theirs, ours) = memory::pair();
        let serving = tokio::spawn(stage.server.clone().serve(ours));
        let mut host = Host::new(theirs);
        host.hello().await;
        drop(host);
        serving.await.unwrap().unwrap();
    });
}

#[test]
fn layers_wrap_each_other_and_the_service() {
    play(Limits::default(), async |stage| {
        let server: Server<_> = stage
            .server
            .layer(LimitLayer::new(1))
            .layer(TimeoutLayer::new(Duration::from_millis(100)))
            .layer(TraceLayer::new());
        let (theirs, ours) = memory::pair();
        tokio::spawn(async move { server.serve(ours).await });
        let mut host = Host::new(theirs);
        host.hello().await;
        let text = |body: JsonBuf| body.into_raw().to_string();
        assert_eq!(
            host.ask(1, "tools/call", tool("wait")).await.map(text),
            Ok(r#"{"content":[{"type":"text","text":"call tool \"wait\" timed out after 100ms"}],"isError":true}"#
                .to_owned())
        );
        // A client that asked for a task cannot read a result.
        let Params::Named(params) = tool("wait") else { panic!() };
        let as_task = params.with("task", RawJson::EMPTY_OBJECT).into();
        assert_eq!(
            host.ask(9, "tools/call", as_task).await.map(text),
            Err("tools/call timed out after 100ms (-32603)".to_owned())
        );
        assert!(host.ask(2, "tools/call", tool("sleep 90")).await.is_ok());
        assert!(host.ask(3, "prompts/write", Params::Absent).await.unwrap_err().starts_with("method not found"));

        // One at a time: the second waits for the first, and both together take too long.
        for id in [4, 5] {
            host.sink.send(Message::request(id, "tools/call", tool("sleep 60")), None).unwrap();
        }
        host.sink.flush().await.unwrap();
        let mut answers = Vec::new();
        for _ in 0..2 {
            let Some(Ok(Incoming::One(Message::Response(response)))) = host.source.next().await.unwrap() else {
                panic!()
            };
            answers.push((response.id.unwrap().to_string(), text(response.outcome.unwrap()).contains("timed out")));
        }
        assert_eq!(answers, [("4".to_owned(), false), ("5".to_owned(), true)]);
    });
}

/// A host that always has something to say.
struct Chatty {
    left: usize,
    unflushed: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Transport for Chatty {
    type Source = Self;
    type Sink = Self;

    fn split(self) -> (Self, Self) {
        let Self { left, unflushed, most } = self;
        (Self { left, unflushed: Arc::clone(&unflushed), most: Arc::clone(&most) }, Self { left, unflushed, most })
    }
}

impl Source for Chatty {
    async fn next(&mut self) -> Result<Option<Received>, TransportError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let id = RequestId::from(self.left as u64);
        Ok(Some(Ok(Incoming::One(Message::request(id, "ping", Params::Absent)))))
    }
}

impl Sink for Chatty {
    fn send(&mut self, _: Message, _: Option<&RequestId>) -> Result<(), TransportError> {
        let unflushed = self.unflushed.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(unflushed, Ordering::SeqCst);
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), TransportError> {
        self.unflushed.store(0, Ordering::SeqCst);
        Ok(())
    }

    fn unwritten(&self) -> usize {
        self.unflushed.load(Ordering::SeqCst)
    }
}

#[test]
fn answers_are_written_in_bursts_while_more_can_be_read() {
    play(Limits::default(), async |stage| {
        let most = Arc::new(AtomicUsize::new(0));
        let chatty = Chatty { left: 2000, unflushed: Arc::default(), most: Arc::clone(&most) };
        stage.server.serve(chatty).await.unwrap();
        assert_eq!(most.load(Ordering::SeqCst), 64);
    });
}
