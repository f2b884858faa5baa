//! A client, one JSON line at a time: tests check which line comes next, which `protomcp-client` does not tell.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::time::timeout;

use crate::stage::patience;

/// More messages than any test expects.
const ENDLESS: usize = 100_000;

pub(crate) struct Host {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: WriteHalf<DuplexStream>,
    last: u64,
}

impl Host {
    pub(crate) fn new(stream: DuplexStream) -> Self {
        let (output, input) = tokio::io::split(stream);
        Self { lines: BufReader::new(output).lines(), input, last: 0 }
    }

    pub(crate) async fn hello(&mut self, version: &str, capabilities: &str) {
        let capabilities: Value = serde_json::from_str(capabilities).unwrap();
        let info = json!({"name": "host", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": info});
        let id = self.request("initialize", params).await;
        let answer = self.answer(id).await;
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        self.send(json!({"method": "notifications/initialized"})).await;
    }

    /// Sends a message; the version is added.
    pub(crate) async fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        self.write(format!("{message}\n").as_bytes()).await;
    }

    async fn write(&mut self, bytes: &[u8]) {
        timeout(patience(), self.input.write_all(bytes)).await.expect("the bridge does not read").unwrap();
    }

    /// Sends a request and returns its id.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        self.send(json!({"id": self.last, "method": method, "params": params})).await;
        self.last
    }

    /// Calls a tool and returns the id of the request.
    pub(crate) async fn call(&mut self, tool: &str) -> u64 {
        self.request("tools/call", json!({"name": tool, "arguments": {}})).await
    }

    /// Calls `a` with arguments in three parts, without escaping, because they may be large.
    pub(crate) async fn call_with(&mut self, before: &str, large: &str, after: &str) -> u64 {
        self.last += 1;
        let id = self.last;
        let head = r#""jsonrpc":"2.0","method":"tools/call","params":{"name":"a","arguments":"#;
        for part in [&format!(r#"{{"id":{id},{head}{before}"#), large, after, "}}\n"] {
            self.write(part.as_bytes()).await;
        }
        id
    }

    /// Answers a request of the server.
    pub(crate) async fn reply(&mut self, request: &Value, result: Value) {
        self.send(json!({"id": request["id"], "result": result})).await;
    }

    /// The next message.
    pub(crate) async fn next(&mut self) -> Value {
        let line = timeout(patience(), self.lines.next_line()).await.expect("the bridge is silent").unwrap();
        serde_json::from_str(&line.expect("the session goes on")).unwrap()
    }

    /// The next message, which must be of this method.
    pub(crate) async fn expect(&mut self, method: &str) -> Value {
        let message = self.next().await;
        assert_eq!(message["method"], method, "{message}");
        message
    }

    /// The next message, which must be the answer to this request.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        let message = self.next().await;
        assert!(message["id"] == id && message["method"].is_null(), "{message} is not the answer to {id}");
        message
    }

    /// The answer to this request, and the messages before it.
    pub(crate) async fn until(&mut self, id: u64) -> (Value, Vec<Value>) {
        let mut before = Vec::new();
        loop {
            let message = self.next().await;
            if message["id"] == id && message["method"].is_null() {
                return (message, before);
            }
            before.push(message);
            assert!(before.len() < ENDLESS, "{id} is not answered among {ENDLESS} messages");
        }
    }

    /// The text of the answer to a call, which must come next.
    pub(crate) async fn text(&mut self, id: u64) -> String {
        let answer = self.answer(id).await;
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// All sent messages have been read: a message in transit would come before the answer to a ping.
    pub(crate) async fn hears_nothing(&mut self) {
        let id = self.request("ping", json!({})).await;
        self.answer(id).await;
    }
}
