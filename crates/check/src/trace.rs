//! The messages of one conversation, recorded on their way between a client and its transport.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use protomcp_transport::{Direction as Passage, Observed, Transport};
use protomcp_types::{Message, RequestId};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::time_text::rfc3339;

/// The most entries of a trace; older ones are dropped.
const MAX_ENTRIES: usize = 10_000;
/// The most bytes of all entries together.
const MAX_BYTES: usize = 64 << 20;

/// The direction of a message, seen from the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    Send,
    /// From the server to the client.
    Receive,
}

/// A recorded message.
#[derive(Debug, Clone)]
pub struct TraceEntry {
    /// Its number, from 0.
    pub seq: u64,
    /// The time at which it was recorded.
    pub time: SystemTime,
    /// Its direction.
    pub direction: Direction,
    /// Its JSON text.
    pub raw: String,
    /// The method, or `METHOD response` or `METHOD error` for the answer to a request.
    pub label: String,
    /// It is a notification.
    pub is_notification: bool,
}

/// A trace. Clones share it.
#[derive(Debug, Clone)]
pub struct Trace {
    kept: Arc<Mutex<Kept>>,
    news: Arc<watch::Sender<u64>>,
}

#[derive(Debug, Default)]
struct Kept {
    entries: VecDeque<TraceEntry>,
    bytes: usize,
    next: u64,
    /// The methods of requests without an answer, by direction and id.
    asked: HashMap<(bool, RequestId), String>,
}

impl Default for Trace {
    fn default() -> Self {
        Self { kept: Arc::default(), news: Arc::new(watch::Sender::new(0)) }
    }
}

impl Trace {
    /// The entries from this number on.
    #[must_use]
    pub fn since(&self, seq: u64) -> Vec<TraceEntry> {
        self.lock().entries.iter().filter(|entry| entry.seq >= seq).cloned().collect()
    }

    /// The number of the next entry.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.lock().next
    }

    /// Waits until there is an entry with this number or a later one.
    pub async fn wait(&self, seq: u64) {
        // The sender is a part of the trace, so that it is there.
        let mut news = self.news.subscribe();
        let _open = news.wait_for(|next| *next > seq).await;
    }

    /// A transport whose messages are recorded here.
    pub fn tap<T: Transport>(&self, transport: T) -> impl Transport + use<T> {
        let trace = self.clone();
        Observed::new(transport, move |direction, message: &Message| {
            let direction = match direction {
                Passage::Sent => Direction::Send,
                Passage::Received => Direction::Receive,
            };
            trace.record(direction, message);
        })
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, direction: Direction, message: &Message) {
        let mut kept = self.lock();
        let is_sent = direction == Direction::Send;
        let label = match message {
            Message::Request(request) => {
                let method = request.method.to_string();
                kept.asked.insert((is_sent, request.id.clone()), method.clone());
                method
            }
            Message::Notification(notification) => notification.method.to_string(),
            Message::Response(response) => {
                let word = if response.outcome.is_ok() { "response" } else { "error" };
                let asked = response.id.clone().and_then(|id| kept.asked.remove(&(!is_sent, id)));
                asked.map_or_else(|| word.to_owned(), |method| format!("{method} {word}"))
            }
        };
        let (seq, raw) = (kept.next, message.to_text());
        kept.next += 1;
        kept.bytes += raw.len();
        let is_notification = matches!(message, Message::Notification(_));
        kept.entries.push_back(TraceEntry { seq, time: SystemTime::now(), direction, raw, label, is_notification });
        while kept.entries.len() > MAX_ENTRIES || kept.bytes > MAX_BYTES {
            let Some(oldest) = kept.entries.pop_front() else { break };
            kept.bytes -= oldest.raw.len();
        }
        drop(kept);
        self.news.send_replace(seq + 1);
    }
}

impl TraceEntry {
    /// `[HH:MM:SS.mmm] send METHOD`, in UTC.
    #[must_use]
    pub fn line(&self) -> String {
        let text = rfc3339(self.time);
        let clock = text.get(11..23).unwrap_or_default();
        format!("[{clock}] {} {}", self.direction.word(), self.label)
    }

    /// The entry for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "seq": self.seq, "timestamp": rfc3339(self.time), "direction": self.direction.word(), "raw": self.raw,
            "method": self.label,
        })
    }
}

impl Direction {
    fn word(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Receive => "recv",
        }
    }
}

#[cfg(test)]
mod tests {
    use protomcp_transport::{Sink, Source, memory};
    use protomcp_types::{ErrorObject, JsonBuf, Params};

    use super::*;

    #[tokio::test]
    async fn answers_are_named_by_their_requests() {
        let trace = Trace::default();
        let (near, far) = memory::pair();
        let ((mut source, mut sink), (mut other, mut back)) = (trace.tap(near).split(), far.split());
        let id = |number: i32| RequestId::from(number);
        sink.send(Message::request(id(1), "ping", Params::default()), None).unwrap();
        sink.send(Message::notification("notifications/x", Params::default()), None).unwrap();
        sink.flush().await.unwrap();
        for _ in 0..2 {
            other.next().await.unwrap();
        }
        back.send(Message::result(id(1), JsonBuf::object().finish()), None).unwrap();
        back.send(Message::request(id(1), "roots/list", Params::default()), None).unwrap();
        back.send(Message::error(None, ErrorObject::internal("x")), None).unwrap();
        back.flush().await.unwrap();
        for _ in 0..3 {
            source.next().await.unwrap();
        }
        sink.send(Message::error(Some(id(1)), ErrorObject::internal("x")), None).unwrap();
        let seen: Vec<_> = trace.since(0).iter().map(|entry| entry.line()[15..].to_owned()).collect();
        assert_eq!(
            seen,
            [
                "send ping",
                "send notifications/x",
                "recv ping response",
                "recv roots/list",
                "recv error",
                "send roots/list error"
            ]
        );
        trace.wait(5).await;
        assert_eq!((trace.next(), trace.since(4).len()), (6, 2));
        let entry = trace.since(0)[0].to_json();
        assert_eq!((&entry["seq"], &entry["direction"]), (&json!(0), &json!("send")));
        assert_eq!(entry["raw"], r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    }
}
