//! The events that pages read: the messages between the bridge and its tool processes, and the lines of the log.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use protomcp_link::{Passing, Side, Tap};
use protomcp_transport::Direction;
use protomcp_types::Message;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::ring::{Page, Ring};

/// The most events that are kept.
const MAX_EVENTS: usize = 10_000;
/// The most bytes that they have together.
const MAX_BYTES: usize = 32 << 20;
/// The most bytes of one message that are kept.
const MAX_MESSAGE: usize = 64 << 10;
/// The most bytes of a line of the log.
const MAX_LINE: usize = 8 << 10;
/// The most events in one piece of a response.
const PAGE: usize = 256;

/// The latest 10,000 events, of at most 32 MiB. Pages read them as they come; one that reads slowly is told the number of
/// events that it has lost. Clones share the events.
#[derive(Debug, Clone)]
pub struct Journal(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    ring: Mutex<Ring>,
    /// The number of the next event; `None` after the end.
    next: watch::Sender<Option<u64>>,
}

impl Default for Journal {
    fn default() -> Self {
        let ring = Mutex::new(Ring::new(MAX_EVENTS, MAX_BYTES));
        Self(Arc::new(Shared { ring, next: watch::Sender::new(Some(0)) }))
    }
}

impl Journal {
    /// A tap that records the messages of a link. Of each one the first 64 KiB are kept.
    #[must_use]
    pub fn tap(&self) -> Tap {
        let journal = self.clone();
        Tap::new(move |passing| journal.message(passing))
    }

    /// A function that records the messages of MCP to and from a server behind this one, each in one direction: those that
    /// are sent come from the bridge. Of each one the first 64 KiB are kept.
    pub fn messages(&self) -> impl Fn(Direction, &Message) + Clone + Send + Sync + use<> {
        let journal = self.clone();
        move |direction, message| journal.upstream(direction, message)
    }

    /// Records a line of the log.
    pub fn log(&self, line: &str) {
        let line = line.trim_end();
        self.push("log", &json!({"line": beginning(line, MAX_LINE)}));
    }

    /// Records that a server behind this one asks the user to sign in on the page at this URL. Pages show it.
    pub fn sign_in(&self, url: &str) {
        self.push("sign_in", &json!({"url": url}));
    }

    /// Records that the user has asked for a reload.
    pub(crate) fn reload(&self) {
        self.push("reload", &json!({}));
    }

    /// Records the progress of a call of `/api/call`.
    pub(crate) fn progress(&self, progress: &Value) {
        self.push("progress", progress);
    }

    /// Ends the responses that follow the events.
    pub fn close(&self) {
        self.0.next.send_replace(None);
    }

    fn message(&self, passing: &Passing<'_>) {
        let frame = passing.frame();
        let kept = &frame[..frame.len().min(MAX_MESSAGE)];
        let from = if passing.sender() == Side::Bridge { "bridge" } else { "tool" };
        self.push(
            "trace",
            &json!({
                "from": from,
                "kind": passing.kind(),
                "id": passing.request_id(),
                "size": frame.len(),
                "frame": STANDARD.encode(kept),
            }),
        );
    }

    fn upstream(&self, direction: Direction, message: &Message) {
        let text = message.to_text();
        let (kind, id) = match message {
            Message::Request(request) => (&*request.method, Some(&request.id)),
            Message::Notification(notification) => (&*notification.method, None),
            Message::Response(response) => {
                (if response.outcome.is_ok() { "result" } else { "error" }, response.id.as_ref())
            }
        };
        self.push(
            "trace",
            &json!({
                "from": if direction == Direction::Sent { "bridge" } else { "tool" },
                "kind": kind,
                "id": id.map_or_else(String::new, |id| id.to_raw().to_string()),
                "size": text.len(),
                "text": beginning(&text, MAX_MESSAGE),
            }),
        );
    }

    fn push(&self, kind: &str, data: &Value) {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64() * 1000.0);
        let mut ring = self.ring();
        let event = json!({"type": kind, "seq": ring.next(), "time": time, "data": data});
        ring.push(event.to_string().into());
        let next = ring.next();
        drop(ring);
        self.0.next.send_if_modified(|current| match current {
            Some(current) => std::mem::replace(current, next.max(*current)) < next,
            None => false,
        });
    }

    /// All events that are left, as an array of JSON.
    pub(crate) fn all(&self) -> String {
        let page = self.ring().page(0, usize::MAX);
        let events: Vec<_> = page.events.iter().map(|event| String::from_utf8_lossy(event)).collect();
        format!("[{}]", events.join(","))
    }

    /// The events from a number on.
    pub(crate) fn reader(&self, from: u64) -> Reader {
        Reader { journal: self.clone(), from, next: self.0.next.subscribe() }
    }

    /// The events from now on.
    pub(crate) fn latest(&self) -> Reader {
        let from = self.ring().next();
        self.reader(from)
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.0.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first bytes of a text, to the end of a character.
fn beginning(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    &text[..end]
}

/// Reads the events as they come.
#[derive(Debug)]
pub(crate) struct Reader {
    journal: Journal,
    from: u64,
    next: watch::Receiver<Option<u64>>,
}

impl Reader {
    /// The next events. `None` after the end. Nothing is lost if the future is dropped.
    pub(crate) async fn page(&mut self) -> Option<Page> {
        let from = self.from;
        self.next.wait_for(|next| next.is_none_or(|next| next > from)).await.ok().filter(|next| next.is_some())?;
        let page = self.journal.ring().page(from, PAGE);
        self.from = page.next;
        Some(page)
    }

    /// The next events, as a piece of a stream of server-sent events. `None` after the end.
    pub(crate) async fn piece(&mut self) -> Option<Bytes> {
        let Page { events, lost, .. } = self.page().await?;
        let mut piece = Vec::new();
        if lost > 0 {
            piece.extend_from_slice(format!("data: {}\n\n", json!({"type": "lost", "data": lost})).as_bytes());
        }
        for event in events {
            piece.extend_from_slice(b"data: ");
            piece.extend_from_slice(&event);
            piece.extend_from_slice(b"\n\n");
        }
        Some(piece.into())
    }
}

#[cfg(test)]
mod tests {
    use protomcp_types::Params;

    use super::*;

    #[tokio::test]
    async fn a_reader_gets_each_event_once() {
        let journal = Journal::default();
        journal.log("one\n");
        let mut reader = journal.reader(0);
        journal.log("two");
        let first = reader.piece().await.unwrap();
        let text = String::from_utf8_lossy(&first);
        assert!(text.contains(r#""line":"one""#) && text.contains(r#""line":"two""#), "{text}");
        journal.log("three");
        let second = reader.piece().await.unwrap();
        let text = String::from_utf8_lossy(&second);
        assert!(text.contains(r#""seq":2"#) && !text.contains("two"), "{text}");
        journal.close();
        assert_eq!(reader.piece().await, None);
    }

    #[tokio::test]
    async fn a_slow_reader_learns_how_much_it_has_lost() {
        let journal = Journal::default();
        let mut reader = journal.reader(0);
        for _ in 0..MAX_EVENTS + 5 {
            journal.log("x");
        }
        let piece = reader.piece().await.unwrap();
        let text = String::from_utf8_lossy(&piece);
        let first = text.lines().next().and_then(|line| line.strip_prefix("data: ")).unwrap();
        assert_eq!(serde_json::from_str::<Value>(first).unwrap(), json!({"type": "lost", "data": 5}));
    }

    #[test]
    fn a_sign_in_is_an_event() {
        let journal = Journal::default();
        journal.sign_in("https://a.example/authorize");
        let all: Value = serde_json::from_str(&journal.all()).unwrap();
        assert_eq!(
            (&all[0]["type"], &all[0]["data"]["url"]),
            (&json!("sign_in"), &json!("https://a.example/authorize"))
        );
    }

    #[test]
    fn messages_of_a_server_behind_are_recorded() {
        let journal = Journal::default();
        let see = journal.messages();
        see(Direction::Sent, &Message::request(7, "ping", Params::default()));
        see(Direction::Received, &Message::notification("x".repeat(MAX_MESSAGE), Params::default()));
        let all: Value = serde_json::from_str(&journal.all()).unwrap();
        let first = &all[0]["data"];
        assert_eq!((&first["from"], &first["kind"], &first["id"]), (&json!("bridge"), &json!("ping"), &json!("7")));
        assert_eq!(first["text"], r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
        let second = &all[1]["data"];
        assert_eq!((&second["from"], &second["id"]), (&json!("tool"), &json!("")));
        assert_eq!(second["text"].as_str().map(str::len), Some(MAX_MESSAGE));
        assert!(second["size"].as_u64() > Some(MAX_MESSAGE as u64));
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let journal = Journal::default();
        journal.log(&"é".repeat(MAX_LINE));
        let all: Value = serde_json::from_str(&journal.all()).unwrap();
        assert_eq!(all[0]["data"]["line"].as_str().map(str::len), Some(MAX_LINE));
    }
}
