//! A minimal client: it sends requests and returns the answers. Tests check the JSON of messages and their order, and
//! send messages that `protomcp-client` would not send.

use std::time::Duration;

use protomcp_server::{ServeError, Server, Service};
use protomcp_testing::{JsonPeer, run_paused};
use protomcp_transport::lines::Lines;
use protomcp_typed::Registry;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// The longest wait for a message, in paused time.
const HOUR: Duration = Duration::from_secs(3600);

/// One client of a server.
pub(crate) struct Host {
    pub(crate) peer: JsonPeer,
    serving: Option<JoinHandle<Result<(), ServeError>>>,
    /// Messages of the server that are not answers.
    pub(crate) told: Vec<Value>,
}

/// Runs a test with one client of a registry.
pub(crate) fn with<F: Future<Output = ()>>(registry: &Registry, test: impl FnOnce(Host) -> F) {
    run_paused(async { test(Host::connect(&registry.server()).await).await });
}

impl Host {
    /// Connects and completes the handshake.
    pub(crate) async fn connect<S: Service>(server: &Server<S>) -> Self {
        Self::connect_with(server, json!({})).await
    }

    /// Like [`Host::connect`], with capabilities.
    pub(crate) async fn connect_with<S: Service>(server: &Server<S>, capabilities: Value) -> Self {
        let Self { peer, serving, .. } = Self::silent(server);
        Self { serving, ..Self::over(peer, capabilities).await }
    }

    /// Connects without a handshake.
    pub(crate) fn silent<S: Service>(server: &Server<S>) -> Self {
        let (peer, reader, writer) = JsonPeer::connected(1 << 20);
        let server = server.clone();
        let serving = tokio::spawn(async move { server.serve(Lines::new(reader, writer)).await });
        Self { peer: peer.within(HOUR), serving: Some(serving), told: Vec::new() }
    }

    /// Completes the handshake with a server that the test runs.
    pub(crate) async fn over(peer: JsonPeer, capabilities: Value) -> Self {
        let mut peer = peer.within(HOUR);
        peer.initialize("2025-11-25", capabilities).await;
        // It is answered when the handshake is complete.
        peer.hears_nothing().await;
        Self { peer, serving: None, told: Vec::new() }
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.peer.request(method, params).await;
        let (answer, before) = self.peer.until(id).await;
        self.told.extend(before);
        match answer.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(answer["result"].clone()),
        }
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

    /// Closes the connection, and returns the outcome of serving it.
    pub(crate) async fn end(mut self) -> Result<(), ServeError> {
        self.peer.close().await;
        self.serving.expect("served by us").await.unwrap()
    }
}
