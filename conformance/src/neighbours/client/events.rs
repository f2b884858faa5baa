//! Streams of events: listening, disconnecting and resuming.

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Client, Failure, Front, messages};
use crate::neighbours::connection::{Connection, Head};

impl Client {
    /// Listens for messages that belong to no request, on its own connection. `ended` is notified when the stream ends.
    ///
    /// # Errors
    /// If the server refuses.
    pub async fn listen(&mut self, ended: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
        let request = match self.front {
            // Its stream is open already.
            Front::Sse => return Ok(()),
            Front::Session => self.user.request("GET", "/mcp", &self.headers("", ""), ""),
            Front::Stateless => {
                let wanted = json!({"notifications": {"toolsListChanged": true, "resourcesListChanged": true}});
                self.request_with_id(0, "subscriptions/listen", wanted)
            }
        };
        let (mut connection, head) = self.open_events(&request).await?;
        let heard = self.heard.clone();
        self.readers.push(tokio::spawn(async move {
            let mut head = head;
            while let Ok(Some(piece)) = connection.piece(&mut head).await {
                heard.push(&String::from_utf8_lossy(&piece));
            }
            ended();
        }));
        Ok(())
    }

    /// Sends a request on its own connection; the response must be a stream of events.
    async fn open_events(&self, request: &[u8]) -> Result<(Connection, Head), Failure> {
        let mut connection = self.user.connect().await?;
        connection.write(request).await?;
        let mut head = connection.head().await?;
        if head.status != 200 {
            let body = connection.body(&mut head).await?;
            return Err(Failure::Status(head.status, body));
        }
        Ok((connection, head))
    }

    pub(super) async fn open_stream(&mut self) -> Result<(), Failure> {
        let request = self.user.request("GET", "/sse", &[], "");
        let (mut connection, mut head) = self.open_events(&request).await?;
        let first = connection.piece(&mut head).await?.unwrap_or_default();
        let first = String::from_utf8_lossy(&first).into_owned();
        let target = first.lines().find_map(|line| line.strip_prefix("data: "));
        self.target = format!("/sse{}", target.ok_or_else(|| Failure::Status(head.status, first.clone()))?);
        let (sender, receiver) = mpsc::unbounded_channel();
        let heard = self.heard.clone();
        self.incoming = Some(receiver);
        self.readers.push(tokio::spawn(async move {
            let mut rest = String::new();
            while let Ok(Some(piece)) = connection.piece(&mut head).await {
                let piece = String::from_utf8_lossy(&piece);
                heard.push(&piece);
                rest.push_str(&piece);
                while let Some(end) = rest.find("\n\n") {
                    let event: String = rest.drain(..end + 2).collect();
                    for message in messages(&event) {
                        // Messages are recorded even if no receiver is left.
                        let _ = sender.send(message);
                    }
                }
            }
        }));
        Ok(())
    }

    /// Calls a tool that reports progress, closes the connection after the first event, and returns the id of that
    /// event.
    ///
    /// # Errors
    /// If there is no such event.
    pub async fn cut_call(&mut self) -> Result<String, Failure> {
        self.cut_call_of("progress", json!({"count": 3, "ms": 1, "text": "done"})).await
    }

    /// The same with any tool that reports progress before it answers.
    ///
    /// # Errors
    /// If there is no such event.
    pub async fn cut_call_of(&mut self, name: &str, arguments: Value) -> Result<String, Failure> {
        self.last += 1;
        let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": self.last}});
        let request = self.request_with_id(self.last, "tools/call", params);
        let (mut connection, mut head) = self.open_events(&request).await?;
        let mut text = String::new();
        while !text.contains("notifications/progress") {
            let piece = connection.piece(&mut head).await?.ok_or_else(|| Failure::Status(200, text.clone()))?;
            text += &String::from_utf8_lossy(&piece);
        }
        let id = text.lines().find_map(|line| line.strip_prefix("id: ")).map(str::to_owned);
        id.ok_or(Failure::Status(200, text))
    }

    /// Resumes after the first event of a call that was cut, and reads until its answer.
    ///
    /// # Errors
    /// If the answer does not come.
    pub async fn resume(&mut self, event: &str) -> Result<(), Failure> {
        let headers = self.headers("", "");
        let headers = [&headers[..], &[("last-event-id", event)]].concat();
        let request = self.user.request("GET", "/mcp", &headers, "");
        let (mut connection, mut head) = self.open_events(&request).await?;
        let mut text = String::new();
        while !text.contains("\"result\"") {
            let piece = connection.piece(&mut head).await?.ok_or_else(|| Failure::Status(200, text.clone()))?;
            let piece = String::from_utf8_lossy(&piece);
            self.heard.push(&piece);
            text += &piece;
        }
        Ok(())
    }

    /// Waits for this server request on the stream of the old transport.
    ///
    /// # Errors
    /// If the stream ends before.
    pub async fn asked(&mut self, method: &str) -> Result<Value, Failure> {
        let incoming = self.incoming.as_mut().expect("this front has a stream");
        loop {
            match incoming.recv().await {
                Some(message) if message["method"] == method => return Ok(message),
                Some(_) => {}
                None => return Err(Failure::Connection(std::io::ErrorKind::UnexpectedEof.into())),
            }
        }
    }
}
