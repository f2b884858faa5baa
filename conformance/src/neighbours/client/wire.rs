//! Requests as bytes, for clients that send without waiting.

use std::fmt;
use std::io;

use serde_json::{Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::{Client, Failure, Front};
use crate::neighbours::heard::Heard;
use crate::neighbours::user::User;

/// The placeholder for a large text in a request.
pub const FILLER: &str = "@filler@";

/// A connection that accepts requests and discards the answers.
pub struct Pipe(Box<dyn AsyncWrite + Send + Unpin>);

impl Pipe {
    /// Writes bytes as they are.
    ///
    /// # Errors
    /// If the connection is closed.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes).await
    }
}

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pipe(..)")
    }
}

impl Client {
    /// One more connection, for requests whose answers do not matter.
    ///
    /// # Errors
    /// If the connection is refused.
    pub async fn pipe(&self) -> io::Result<Pipe> {
        Ok(Pipe(Box::new(self.user.connect().await?.drain())))
    }

    /// Opens a session of MCP 2025-03-26, which has batches.
    ///
    /// # Errors
    /// If the server refuses.
    pub async fn open_batching(user: &User) -> Result<Self, Failure> {
        Self::open_as(user, Front::Session, &Heard::default(), "2025-03-26", &json!({})).await
    }

    /// A request with an id chosen by the caller.
    pub fn request_with_id(&self, id: u64, method: &str, params: Value) -> Vec<u8> {
        self.large_request(id, method, params, "")
    }

    /// The same with this text in place of [`FILLER`]; the text must not need escaping.
    pub fn large_request(&self, id: u64, method: &str, mut params: Value, text: &str) -> Vec<u8> {
        let name = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default().to_owned();
        if self.front == Front::Stateless {
            params["_meta"] = meta_of(&params["_meta"]);
        }
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        self.user.request("POST", &self.target, &self.headers(method, &name), &body.replace(FILLER, text))
    }

    /// A request with this body.
    pub fn message(&self, body: &str) -> Vec<u8> {
        self.user.request("POST", &self.target, &self.headers("", ""), body)
    }

    /// The headers of a request within the session.
    pub fn session_headers(&self) -> Vec<(&str, &str)> {
        self.headers("", "")
    }

    /// The body of a request without a session.
    pub fn stateless(method: &str, mut params: Value) -> String {
        params["_meta"] = meta_of(&params["_meta"]);
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
    }

    /// The headers of a request without a session.
    pub fn stateless_headers<'a>(method: &'a str, name: &'a str) -> Vec<(&'a str, &'a str)> {
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        headers.extend((!name.is_empty()).then_some(("mcp-name", name)));
        headers
    }

    pub(super) fn headers<'a>(&'a self, method: &'a str, name: &'a str) -> Vec<(&'a str, &'a str)> {
        let mut headers = Vec::new();
        match (self.front, &self.session) {
            (Front::Stateless, _) => {
                headers.extend([("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)]);
                if !name.is_empty() {
                    headers.push(("mcp-name", name));
                }
            }
            (_, Some(session)) => {
                headers.extend([("mcp-protocol-version", self.version), ("mcp-session-id", session.as_str())]);
            }
            (_, None) => {}
        }
        headers
    }
}

/// The metadata of a 2026-07-28 request, merged with the sender's own.
fn meta_of(own: &Value) -> Value {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "roots": {}, "sampling": {}},
        "io.modelcontextprotocol/clientInfo": {"name": "neighbour", "version": "1"},
        "io.modelcontextprotocol/logLevel": "debug",
    });
    for (name, value) in own.as_object().into_iter().flatten() {
        meta[name] = value.clone();
    }
    meta
}
