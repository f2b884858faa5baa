//! A minimal client: it sends requests and returns the answers. Tests check the JSON of messages and their order, and
//! send messages that `protomcp-client` would not send.

use std::time::Duration;

use protomcp_server::{ServeError, Server, Service};
use protomcp_transport::memory::{self, Memory, MemorySink, MemorySource};
use protomcp_transport::{Sink, Source, Transport};
use protomcp_typed::Registry;
use protomcp_types::{Incoming, Message, RawJson};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// One client of a server.
pub(crate) struct Host {
    source: MemorySource,
    sink: Option<MemorySink>,
    last: u64,
    serving: Option<JoinHandle<Result<(), ServeError>>>,
    /// Messages of the server that are not answers.
    pub(crate) told: Vec<Value>,
}

/// Runs a test with paused time.
pub(crate) fn play<F: Future<Output = ()>>(test: impl FnOnce() -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(test());
}

/// Runs a test with one client of a registry.
pub(crate) fn with<F: Future<Output = ()>>(registry: &Registry, test: impl FnOnce(Host) -> F) {
    play(|| async { test(Host::connect(&registry.server()).await).await });
}

impl Host {
    /// Connects and completes the handshake.
    pub(crate) async fn connect<S: Service>(server: &Server<S>) -> Self {
        Self::connect_with(server, json!({})).await
    }

    /// Like [`Host::connect`], with capabilities.
    pub(crate) async fn connect_with<S: Service>(server: &Server<S>, capabilities: Value) -> Self {
        let (ours, theirs) = memory::pair();
        let server = server.clone();
        let serving = tokio::spawn(async move { server.serve(theirs).await });
        let mut host = Self::over(ours, "2025-11-25", capabilities).await;
        host.serving = Some(serving);
        host
    }

    /// Connects without a handshake.
    pub(crate) fn silent((source, sink): (MemorySource, MemorySink)) -> Self {
        Self { source, sink: Some(sink), last: 0, serving: None, told: Vec::new() }
    }

    /// Completes the handshake over a connection.
    pub(crate) async fn over(ours: Memory, version: &str, capabilities: Value) -> Self {
        let mut host = Self::silent(ours.split());
        let hello = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "host", "version": "1"}});
        host.ask("initialize", hello).await.unwrap();
        host.tell("notifications/initialized", json!({})).await;
        // It is answered when the handshake is complete.
        host.ask("ping", json!({})).await.unwrap();
        host
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn ask(&mut self, method: &'static str, params: Value) -> Result<Value, Value> {
        let id = self.send(method, params).await;
        loop {
            let message = self.next().await.expect("an answer");
            if message["id"] == id && message.get("method").is_none() {
                return match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].clone()),
                };
            }
            self.told.push(message);
        }
    }

    /// Sends a request.
    pub(crate) async fn send(&mut self, method: &'static str, params: Value) -> u64 {
        self.last += 1;
        self.message(json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})).await;
        self.last
    }

    pub(crate) async fn tell(&mut self, method: &str, params: Value) {
        self.message(json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// Calls a tool.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await.unwrap()
    }

    /// The text of a call's result.
    pub(crate) async fn text(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).await;
        result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}")).to_owned()
    }

    /// The definition of a tool.
    pub(crate) async fn definition(&mut self, tool: &str) -> Value {
        let page = self.ask("tools/list", json!({})).await.unwrap();
        page["tools"].as_array().unwrap().iter().find(|other| other["name"] == tool).cloned().unwrap()
    }

    /// The next message, within an hour of paused time.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let received = tokio::time::timeout(Duration::from_secs(3600), self.source.next());
        match received.await.expect("the server is silent").unwrap()? {
            Ok(Incoming::One(message)) => Some(serde_json::from_str(&message.to_text()).unwrap()),
            other => panic!("{other:?}"),
        }
    }

    /// True if no message arrives within this time.
    pub(crate) async fn hears_nothing_for(&mut self, time: Duration) -> bool {
        tokio::time::timeout(time, self.source.next()).await.is_err()
    }

    /// Closes the connection, and returns the outcome of serving it.
    pub(crate) async fn end(mut self) -> Result<(), ServeError> {
        self.leave();
        self.serving.expect("served by us").await.unwrap()
    }

    /// Closes its end.
    pub(crate) fn leave(&mut self) {
        self.sink = None;
    }

    pub(crate) async fn message(&mut self, message: Value) {
        let text = RawJson::of(&message).unwrap().into_bytes();
        let Ok(Incoming::One(message)) = Incoming::parse(&text) else { panic!("{message}") };
        self.send_message(message).await;
    }

    async fn send_message(&mut self, message: Message) {
        let sink = self.sink.as_mut().expect("not closed");
        sink.send(message, None).unwrap();
        sink.flush().await.unwrap();
    }
}
