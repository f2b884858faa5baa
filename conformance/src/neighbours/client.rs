//! A client of one front: connecting, requests and listening. Written by hand: attacks need connections that are slow,
//! half open or wrong, each from its own address, and hundreds of clients have to be cheaper than the server.

mod events;
mod wire;

use std::fmt;
use std::io;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

pub use self::wire::{FILLER, Pipe};

use crate::neighbours::connection::Connection;
use crate::neighbours::heard::Heard;
use crate::neighbours::user::User;

/// The HTTP transports of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Front {
    /// Streamable HTTP with a session (MCP 2025-11-25).
    Session,
    /// Streamable HTTP without one (MCP 2026-07-28).
    Stateless,
    /// The transport of MCP 2024-11-05.
    Sse,
}

/// The reason for a missing result.
#[derive(Debug)]
pub enum Failure {
    /// The connection ended.
    Connection(io::Error),
    /// HTTP rejected the request.
    Status(u16, String),
    /// The answer is a JSON-RPC error, or an error result.
    Error(Value),
    /// The request timed out.
    Timeout,
}

/// A client with one connection for its requests, and more for its streams.
#[derive(Debug)]
pub struct Client {
    /// The user that it acts for.
    pub user: User,
    front: Front,
    version: &'static str,
    connection: Connection,
    session: Option<String>,
    target: String,
    last: u64,
    heard: Heard,
    /// Messages of the single stream of the old transport.
    incoming: Option<mpsc::UnboundedReceiver<Value>>,
    readers: Vec<JoinHandle<()>>,
}

impl Client {
    /// Connects and opens a session if the front has sessions.
    ///
    /// # Errors
    /// If the server refuses.
    pub async fn open(user: &User, front: Front, heard: &Heard) -> Result<Self, Failure> {
        Self::open_with(user, front, heard, &json!({})).await
    }

    /// The same for a client with these capabilities.
    ///
    /// # Errors
    /// If the server refuses.
    pub async fn open_with(user: &User, front: Front, heard: &Heard, able: &Value) -> Result<Self, Failure> {
        let version = if front == Front::Sse { "2024-11-05" } else { "2025-11-25" };
        Self::open_as(user, front, heard, version, able).await
    }

    async fn open_as(
        user: &User,
        front: Front,
        heard: &Heard,
        version: &'static str,
        able: &Value,
    ) -> Result<Self, Failure> {
        let mut client = Self {
            user: user.refreshed(),
            front,
            version,
            connection: user.connect().await?,
            session: None,
            target: "/mcp".to_owned(),
            last: 0,
            heard: heard.clone(),
            incoming: None,
            readers: Vec::new(),
        };
        if front == Front::Sse {
            client.open_stream().await?;
        }
        if front != Front::Stateless {
            let info = json!({"name": "neighbour", "version": "1"});
            let hello = json!({"protocolVersion": version, "capabilities": able, "clientInfo": info});
            client.ask("initialize", hello).await?;
            client.tell("notifications/initialized", json!({})).await?;
        }
        Ok(client)
    }

    /// Sends a request and returns the result.
    ///
    /// # Errors
    /// If there is no result.
    pub async fn ask(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        let id = self.send(method, params).await?;
        self.answer(id).await
    }

    /// Calls a tool that must succeed, and returns the text.
    ///
    /// # Errors
    /// If the call fails.
    pub async fn call(&mut self, name: &str, arguments: Value) -> Result<String, Failure> {
        let result = self.ask("tools/call", json!({"name": name, "arguments": arguments})).await?;
        if result["isError"] == true {
            return Err(Failure::Error(result));
        }
        Ok(result["content"][0]["text"].as_str().unwrap_or_default().to_owned())
    }

    /// Sends a request without waiting; returns its id.
    ///
    /// # Errors
    /// If the connection is closed.
    pub async fn send(&mut self, method: &str, params: Value) -> io::Result<u64> {
        self.last += 1;
        let request = self.request_with_id(self.last, method, params);
        self.connection.write(&request).await?;
        Ok(self.last)
    }

    /// Reads the answer to an earlier request.
    ///
    /// # Errors
    /// If there is no answer.
    pub async fn answer(&mut self, id: u64) -> Result<Value, Failure> {
        let mut head = self.connection.head().await?;
        let session = head.header("mcp-session-id").map(str::to_owned);
        self.session = session.or_else(|| self.session.take());
        if self.front == Front::Sse && head.status == 202 {
            let body = self.connection.body(&mut head).await?;
            self.heard.push(&body);
            return self.answer_on_stream(id).await;
        }
        let mut text = String::new();
        while let Some(piece) = self.connection.piece(&mut head).await? {
            let piece = String::from_utf8_lossy(&piece);
            self.heard.push(&piece);
            text.push_str(&piece);
        }
        let is_events = head.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        let found = if is_events {
            messages(&text).find(|message| is_answer(message, id))
        } else {
            serde_json::from_str(&text).ok().filter(|message| is_answer(message, id))
        };
        found.map_or(Err(Failure::Status(head.status, text)), outcome)
    }

    async fn answer_on_stream(&mut self, id: u64) -> Result<Value, Failure> {
        let incoming = self.incoming.as_mut().expect("this front has a stream");
        loop {
            match incoming.recv().await {
                Some(message) if is_answer(&message, id) => return outcome(message),
                Some(_) => {}
                None => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            }
        }
    }

    /// Sends a notification, which must be accepted.
    ///
    /// # Errors
    /// If it is not accepted.
    pub async fn tell(&mut self, method: &str, params: Value) -> Result<(), Failure> {
        let body = json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string();
        let request = self.user.request("POST", &self.target, &self.headers(method, ""), &body);
        self.connection.write(&request).await?;
        match self.connection.response().await? {
            (202, _) => Ok(()),
            (status, body) => Err(Failure::Status(status, body)),
        }
    }

    /// Ends its session, if it has one.
    ///
    /// # Errors
    /// If the server does not know it.
    pub async fn close(mut self) -> Result<(), Failure> {
        if self.front == Front::Session {
            let request = self.user.request("DELETE", "/mcp", &self.headers("", ""), "");
            self.connection.write(&request).await?;
            let (status, body) = self.connection.response().await?;
            if status != 204 {
                return Err(Failure::Status(status, body));
            }
        }
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.readers.iter().for_each(JoinHandle::abort);
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let brief = |text: &str| text.chars().take(1000).collect::<String>();
        match self {
            Self::Connection(error) => write!(f, "the connection failed: {error}"),
            Self::Status(status, body) => write!(f, "status {status}: {}", brief(body)),
            Self::Error(error) => write!(f, "an error: {}", brief(&error.to_string())),
            Self::Timeout => write!(f, "no answer in time"),
        }
    }
}

/// The messages in a stream of events.
fn messages(text: &str) -> impl Iterator<Item = Value> {
    text.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
}

fn is_answer(message: &Value, id: u64) -> bool {
    message["id"] == id && message.get("method").is_none()
}

fn outcome(mut message: Value) -> Result<Value, Failure> {
    match message.get("error") {
        Some(_) => Err(Failure::Error(message["error"].take())),
        None => Ok(message["result"].take()),
    }
}
