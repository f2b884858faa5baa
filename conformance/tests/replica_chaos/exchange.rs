//! Requests to the balancer, written by hand, whose responses are read event by event.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, RETRY_AFTER};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use protomcp_conformance::patience;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The response to a request, as far as it was read.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    read: Vec<u8>,
}

/// An event, or a whole body in JSON.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    /// `None` for an event without data.
    pub(crate) message: Option<Value>,
}

/// Sends a request. The error says why there is no response.
pub(crate) async fn send(
    address: &str,
    method: Method,
    headers: &[(&str, &str)],
    body: String,
) -> Result<Response, String> {
    let exchange = async {
        let stream = TcpStream::connect(address).await.map_err(|error| format!("no connection: {error}"))?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| format!("no handshake: {error}"))?;
        tokio::spawn(connection);
        let request = Request::builder().method(method).uri("/mcp").header(HOST, address);
        let request = request.header(ACCEPT, "application/json, text/event-stream");
        let request = request.header(CONTENT_TYPE, "application/json");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = request.body(Full::new(Bytes::from(body))).expect("the parts are valid");
        sender.send_request(request).await.map_err(|error| format!("no response: {error}"))
    };
    let response = timeout(patience(), exchange).await.map_err(|_| "no response in time".to_owned())??;
    let (parts, body) = response.into_parts();
    Ok(Response { status: parts.status, headers: parts.headers, body, read: Vec::new() })
}

impl Response {
    /// True for a response of `pmcp`, and not of the balancer.
    pub(crate) fn is_of_pmcp(&self) -> bool {
        self.has_type("application/json") || self.has_type("text/event-stream")
    }

    /// The time after which the request can be sent again.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let seconds = self.headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
        Some(Duration::from_secs(seconds))
    }

    /// A header.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        Some(self.headers.get(name)?.to_str().ok()?.to_owned())
    }

    fn has_type(&self, kind: &str) -> bool {
        self.header("content-type").is_some_and(|found| found.starts_with(kind))
    }

    /// The next event; `None` at the end of the body, and where the connection is cut.
    pub(crate) async fn event(&mut self) -> Result<Option<Event>, String> {
        if !self.has_type("text/event-stream") {
            while self.grow().await? {}
            let message = serde_json::from_slice(&std::mem::take(&mut self.read)).ok();
            return Ok(message.map(|message| Event { id: None, message: Some(message) }));
        }
        loop {
            if let Some(end) = self.read.windows(2).position(|two| two == b"\n\n") {
                let event: Vec<u8> = self.read.drain(..end + 2).collect();
                let event = String::from_utf8(event).map_err(|error| error.to_string())?;
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                let message = field("data: ").filter(|data| !data.is_empty()).map(serde_json::from_str);
                let message = message.transpose().map_err(|error| format!("{error} in {event}"))?;
                return Ok(Some(Event { id: field("id: ").map(str::to_owned), message }));
            }
            if !self.grow().await? {
                return Ok(None);
            }
        }
    }

    /// Reads more; false at the end.
    async fn grow(&mut self) -> Result<bool, String> {
        let frame = timeout(patience(), self.body.frame()).await.map_err(|_| "the response is silent".to_owned())?;
        match frame {
            Some(Ok(frame)) => {
                self.read.extend(frame.into_data().unwrap_or_default());
                Ok(true)
            }
            // A server that was killed cuts its responses.
            Some(Err(_)) | None => Ok(false),
        }
    }
}
