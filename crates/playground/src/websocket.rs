//! The events as messages of WebSocket, at `/ws`.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use protomcp_http::{Admission, UpgradeLease};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, interval_at, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use crate::calls::Calls;
use crate::journal::{Journal, Reader};

/// The most connections.
const MAX_CONNECTIONS: usize = 32;
/// The most bytes of a message of a client, which is not read.
const MAX_MESSAGE: usize = 4 << 10;
/// The time for the head of the response to be sent.
const UPGRADE_TIMEOUT: Duration = Duration::from_secs(10);
/// The time for a client to take a message.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// The time between two pings. A client that has sent nothing until the next one is gone.
const PING_INTERVAL: Duration = Duration::from_secs(30);

/// The connections of WebSocket.
#[derive(Debug)]
pub(crate) struct Sockets {
    calls: Calls,
    journal: Journal,
    permits: Arc<Semaphore>,
}

/// A connection that becomes one of WebSocket.
struct Connection {
    upgrade: OnUpgrade,
    /// The server is busy, and the listener keeps the slot of the connection, while it lives.
    _admission: Option<Admission>,
    lease: Option<UpgradeLease>,
    _permit: OwnedSemaphorePermit,
}

impl Sockets {
    pub(crate) fn new(calls: Calls, journal: Journal) -> Self {
        Self { calls, journal, permits: Arc::new(Semaphore::new(MAX_CONNECTIONS)) }
    }

    /// Responds to the handshake, and serves the connection. The error is the reason why the handshake is refused.
    pub(crate) fn open(&self, mut head: Parts) -> Result<Response<()>, (StatusCode, &'static str)> {
        let response = handshake(&head)?;
        let full = (StatusCode::SERVICE_UNAVAILABLE, "there are too many connections; try again later");
        let connection = Connection {
            _permit: Arc::clone(&self.permits).try_acquire_owned().map_err(|_| full)?,
            _admission: head.extensions.get().cloned(),
            lease: head.extensions.remove(),
            upgrade: head
                .extensions
                .remove()
                .ok_or((StatusCode::NOT_IMPLEMENTED, "connections cannot be upgraded here"))?,
        };
        let events = self.journal.latest();
        tokio::spawn(connection.serve(self.calls.clone(), events));
        Ok(response)
    }
}

impl Connection {
    async fn serve(self, calls: Calls, events: Reader) {
        let Self { upgrade, lease, _admission, _permit } = self;
        let closed = async {
            match &lease {
                Some(lease) => lease.closed().await,
                None => pending().await,
            }
        };
        let served = async {
            let Ok(Ok(upgraded)) = timeout(UPGRADE_TIMEOUT, upgrade).await else { return };
            let config =
                WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE)).max_frame_size(Some(MAX_MESSAGE));
            let io = TokioIo::new(upgraded);
            let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
            // A client that is gone is not told.
            if send_all(&mut socket, &calls, events).await.is_some() {
                drop(timeout(WRITE_TIMEOUT, socket.close(None)).await);
            }
        };
        tokio::select! {
            () = served => {}
            () = closed => {}
        }
    }
}

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Sends the events until they end. `None` if the client is gone.
async fn send_all(socket: &mut Socket, calls: &Calls, mut events: Reader) -> Option<()> {
    // Before the client is told that it sees every event. A server that cannot be reached changes nothing.
    let mut changes = calls.changes().await.ok();
    send(socket, text(&json!({"type": "connected"}))).await?;
    send(socket, text(&json!({"type": "connection", "data": {"status": "connected"}}))).await?;
    let mut pings = interval_at(Instant::now() + PING_INTERVAL, PING_INTERVAL);
    let mut heard = true;
    loop {
        let changed = async {
            match &mut changes {
                Some(changes) => changes.changed().await,
                None => pending().await,
            }
        };
        tokio::select! {
            page = events.page() => {
                let Some(page) = page else { return Some(()) };
                if page.lost > 0 {
                    send(socket, text(&json!({"type": "lost", "data": page.lost}))).await?;
                }
                for event in page.events {
                    send(socket, Message::Text(Utf8Bytes::try_from(event).ok()?)).await?;
                }
            }
            Ok(()) = changed => {
                if let Ok(tools) = calls.tools().await {
                    send(socket, text(&json!({"type": "tools_changed", "data": tools}))).await?;
                }
            }
            received = socket.next() => {
                received?.ok().filter(|message| !message.is_close())?;
                heard = true;
                // The pong of a ping is written before more is read: a client that does not read would pile up others.
                timeout(WRITE_TIMEOUT, socket.flush()).await.ok()?.ok()?;
            }
            _ = pings.tick() => {
                if !std::mem::take(&mut heard) {
                    return None;
                }
                send(socket, Message::Ping(Bytes::new())).await?;
            }
        }
    }
}

fn text(event: &serde_json::Value) -> Message {
    Message::text(event.to_string())
}

async fn send(socket: &mut Socket, message: Message) -> Option<()> {
    timeout(WRITE_TIMEOUT, socket.send(message)).await.ok()?.ok()
}

/// The response to a handshake (RFC 6455, section 4.2).
fn handshake(head: &Parts) -> Result<Response<()>, (StatusCode, &'static str)> {
    let headers = &head.headers;
    let bad = |why| (StatusCode::BAD_REQUEST, why);
    if head.method != Method::GET {
        return Err((StatusCode::METHOD_NOT_ALLOWED, "the handshake of WebSocket is a GET"));
    }
    if !has_token(headers, &header::UPGRADE, "websocket") || !has_token(headers, &header::CONNECTION, "upgrade") {
        return Err((StatusCode::UPGRADE_REQUIRED, "this path is for WebSocket"));
    }
    if headers.get(header::SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        return Err((StatusCode::UPGRADE_REQUIRED, "the version of WebSocket must be 13"));
    }
    let key = headers.get(header::SEC_WEBSOCKET_KEY).map(HeaderValue::as_bytes);
    let key = key.filter(|key| STANDARD.decode(key).is_ok_and(|bytes| bytes.len() == 16));
    let key = key.ok_or(bad("Sec-WebSocket-Key must be 16 bytes in base64"))?;
    let accept = HeaderValue::try_from(derive_accept_key(key)).expect("base64 is a value of a header");
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    Ok(response)
}

/// True if one of the values of a header that is a list has this token.
fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|value| value.trim().eq_ignore_ascii_case(token))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn a_handshake_is_answered_as_the_rfc_says() {
        let usual = [
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "WebSocket"),
            ("sec-websocket-version", "13"),
            // The example of RFC 6455, section 1.3.
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let outcome = |method: Method, without: &str| {
            let mut request = Request::builder().method(method).uri("/ws");
            for (name, value) in usual.iter().filter(|(name, _)| *name != without) {
                request = request.header(*name, *value);
            }
            handshake(&request.body(()).unwrap().into_parts().0)
        };
        let response = outcome(Method::GET, "").unwrap();
        assert_eq!(response.status(), 101);
        assert_eq!(response.headers()["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        for (without, status) in
            [("connection", 426), ("upgrade", 426), ("sec-websocket-version", 426), ("sec-websocket-key", 400)]
        {
            assert_eq!(outcome(Method::GET, without).unwrap_err().0, status, "without {without}");
        }
        assert_eq!(outcome(Method::POST, "").unwrap_err().0, 405);
    }
}
