//! One end of a conversation in JSON lines, played by a test.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex,
    split,
};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::patience::patience;

/// More messages than any test expects.
const ENDLESS: usize = 100_000;

/// One end of a conversation in JSON lines, played by a test: a client or a server that sends and reads one message after
/// the other.
///
/// # Panics
///
/// All methods panic if the other end does not read or write within a limit, by default [`patience`], if the connection is
/// closed, or if another message comes than the one that is described.
pub struct JsonPeer {
    lines: Lines<BufReader<Box<dyn AsyncRead + Send + Unpin>>>,
    /// `None` when this end is closed.
    output: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    limit: Duration,
    last_id: u64,
}

impl JsonPeer {
    /// A peer over two directions of a connection.
    pub fn over(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let input: Box<dyn AsyncRead + Send + Unpin> = Box::new(input);
        Self { lines: BufReader::new(input).lines(), output: Some(Box::new(output)), limit: patience(), last_id: 0 }
    }

    /// A peer over memory that holds `room` bytes each way, and both halves of the other end.
    pub fn connected(room: usize) -> (Self, ReadHalf<DuplexStream>, WriteHalf<DuplexStream>) {
        let (ours, theirs) = duplex(room);
        let ((input, output), (reader, writer)) = (split(ours), split(theirs));
        (Self::over(input, output), reader, writer)
    }

    /// Waits this long for the other end. Made-up time needs more than [`patience`] if the other end waits in it.
    #[must_use]
    pub fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Sends bytes as they are.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        let output = self.output.as_mut().expect("this end is open");
        timeout(self.limit, output.write_all(bytes)).await.expect("the other end does not read").expect("it is open");
    }

    /// Sends a line as it is.
    pub async fn send_line(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes()).await;
    }

    /// Sends a message; the version is added.
    pub async fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        self.send_line(&message.to_string()).await;
    }

    /// An id for a request that the test writes itself. Ids are numbers, and count up.
    pub fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Sends a request and returns its id.
    pub async fn request(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id();
        self.send(json!({"id": id, "method": method, "params": params})).await;
        id
    }

    /// Sends a request to call a tool without arguments, and returns its id.
    pub async fn call(&mut self, tool: &str) -> u64 {
        self.request("tools/call", json!({"name": tool, "arguments": {}})).await
    }

    /// Sends a notification.
    pub async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({"method": method, "params": params})).await;
    }

    /// Answers a request of the other end.
    pub async fn reply(&mut self, request: &Value, result: Value) {
        self.send(json!({"id": request["id"], "result": result})).await;
    }

    /// Closes this end for writing.
    pub async fn close(&mut self) {
        self.output.take().expect("this end is open").shutdown().await.expect("the connection can be closed");
    }

    /// The next line, or `None` after the other end has closed.
    pub async fn next_line(&mut self) -> Option<String> {
        self.line_within(self.limit).await.expect("the other end is silent")
    }

    /// The next line, if it comes within this time; `None` after the other end has closed.
    ///
    /// # Errors
    ///
    /// If there is none in this time.
    pub async fn line_within(&mut self, time: Duration) -> Result<Option<String>, Elapsed> {
        Ok(timeout(time, self.lines.next_line()).await?.expect("the connection can be read"))
    }

    /// The next message.
    pub async fn next(&mut self) -> Value {
        let line = self.next_line().await.expect("the conversation goes on");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// The next message, which must be of this method.
    pub async fn expect(&mut self, method: &str) -> Value {
        let message = self.next().await;
        assert_eq!(message["method"], method, "{message}");
        message
    }

    /// The next message, which must be the answer to this request.
    pub async fn answer(&mut self, id: u64) -> Value {
        let message = self.next().await;
        assert!(is_answer(&message, id), "{message} is not the answer to {id}");
        message
    }

    /// The text of the result of a call, which must come next.
    pub async fn text(&mut self, id: u64) -> String {
        let answer = self.answer(id).await;
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// The answer to this request, and the messages before it.
    pub async fn until(&mut self, id: u64) -> (Value, Vec<Value>) {
        let mut before = Vec::new();
        loop {
            let message = self.next().await;
            if is_answer(&message, id) {
                return (message, before);
            }
            before.push(message);
            assert!(before.len() < ENDLESS, "{id} is not answered among {ENDLESS} messages");
        }
    }

    /// Completes the handshake of a revision with sessions, as a client.
    pub async fn initialize(&mut self, version: &str, capabilities: Value) {
        let info = json!({"name": "host", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": info});
        let id = self.request("initialize", params).await;
        let answer = self.answer(id).await;
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        self.send(json!({"method": "notifications/initialized"})).await;
    }

    /// All sent messages have been read: a message in transit would come before the answer to a ping.
    pub async fn hears_nothing(&mut self) {
        let id = self.request("ping", json!({})).await;
        self.answer(id).await;
    }

    /// True if no line comes within this time, and the connection stays open.
    pub async fn is_silent_for(&mut self, time: Duration) -> bool {
        self.line_within(time).await.is_err()
    }
}

impl fmt::Debug for JsonPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonPeer").field("last_id", &self.last_id).finish_non_exhaustive()
    }
}

fn is_answer(message: &Value, id: u64) -> bool {
    message["id"] == id && message["method"].is_null()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::run_paused;

    /// A client and a server.
    fn pair() -> (JsonPeer, JsonPeer) {
        let (client, reader, writer) = JsonPeer::connected(1000);
        (client, JsonPeer::over(reader, writer))
    }

    #[test]
    fn an_answer_is_found_behind_other_messages() {
        run_paused(async {
            let (mut client, mut server) = pair();
            let id = client.call("a").await;
            let call = server.expect("tools/call").await;
            server.notify("progress", json!({"progress": 1})).await;
            // A request of the server with the same id.
            server.request("ping", json!({})).await;
            server.reply(&call, json!({"content": [{"type": "text", "text": "done"}]})).await;
            let (answer, before) = client.until(id).await;
            assert_eq!(answer["result"]["content"][0]["text"], "done");
            assert_eq!([&before[0]["method"], &before[1]["method"]], ["progress", "ping"]);
        });
    }

    #[test]
    fn the_end_of_one_peer_is_the_end_of_the_lines() {
        run_paused(async {
            let (mut client, mut server) = pair();
            client.send_line("{").await;
            client.close().await;
            assert_eq!(server.next_line().await.as_deref(), Some("{"));
            assert_eq!(server.next_line().await, None);
            assert!(client.is_silent_for(Duration::from_secs(1)).await);
            drop(server);
            assert!(!client.is_silent_for(Duration::from_secs(1)).await);
        });
    }

    #[test]
    #[should_panic(expected = "is not the answer to 1")]
    fn a_request_is_not_an_answer() {
        run_paused(async {
            let (mut client, mut server) = pair();
            assert_eq!(server.request("ping", json!({})).await, 1);
            client.answer(1).await;
        });
    }

    #[test]
    #[should_panic(expected = "the other end is silent")]
    fn silence_fails_after_the_limit() {
        run_paused(async {
            let (client, _server) = pair();
            client.within(Duration::from_secs(3600)).next().await;
        });
    }
}
