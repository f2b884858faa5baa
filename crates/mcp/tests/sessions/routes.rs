//! Which request of the host a message belongs to, for connections that have a way of their own for each.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_mcp::transport::{Received, Sink, Source, Transport, TransportError};
use protomcp_mcp::{Audience, Limits};
use protomcp_types::{Incoming, Level, Message, RawJson, RequestId};
use tokio::time::sleep;

use super::transcript::{call, full, initialize, play};

/// A host that says one thing each made-up second, and notes where the answers belong.
struct Noting {
    script: VecDeque<String>,
    notes: Arc<Mutex<Vec<String>>>,
}

impl Transport for Noting {
    type Source = Self;
    type Sink = Self;

    fn split(self) -> (Self, Self) {
        let notes = Arc::clone(&self.notes);
        (self, Self { script: VecDeque::new(), notes })
    }
}

impl Source for Noting {
    async fn next(&mut self) -> Result<Option<Received>, TransportError> {
        sleep(Duration::from_secs(1)).await;
        Ok(self.script.pop_front().map(|text| Incoming::parse(&text.into())))
    }
}

impl Noting {
    fn note(&self, request: Option<&RequestId>, what: &str) {
        let request = request.map_or_else(|| "-".to_owned(), ToString::to_string);
        self.notes.lock().unwrap().push(format!("{request} {what}"));
    }
}

impl Sink for Noting {
    fn send(&mut self, message: Message, during: Option<&RequestId>) -> Result<(), TransportError> {
        match message {
            Message::Request(request) => self.note(during, &request.method),
            Message::Notification(notification) => self.note(during, &notification.method),
            Message::Response(_) => self.note(during, "answer"),
        }
        Ok(())
    }

    fn unanswered(&mut self, request: &RequestId) {
        self.note(Some(request), "unanswered");
    }

    fn pause(&mut self, request: &RequestId) {
        self.note(Some(request), "pause");
    }

    async fn flush(&mut self) -> Result<(), TransportError> {
        Ok(())
    }

    fn unwritten(&self) -> usize {
        0
    }
}

/// The host says these things after the handshake; the server notes these messages.
#[track_caller]
fn check(script: &[String], expected: &[&str]) {
    play(Limits::default(), async |stage| {
        let hello = [initialize("2025-11-25"), full(r#"{"method":"notifications/initialized"}"#)];
        let script = hello.iter().chain(script).cloned().collect();
        let notes = Arc::default();
        stage.server.serve(Noting { script, notes: Arc::clone(&notes) }).await.unwrap();
        let notes = notes.lock().unwrap();
        assert_eq!(notes[0], "\"hello\" answer");
        assert_eq!(notes[1..], *expected);
    });
}

#[test]
fn what_a_call_reports_belongs_to_it() {
    let count = r#"{"id":7,"method":"tools/call","params":{"name":"count 2","_meta":{"progressToken":"t"}}}"#;
    check(&[full(count)], &["7 notifications/progress", "7 notifications/progress", "7 answer"]);
    let logs = ["8 notifications/message"; 7];
    check(&[call(8, "log")], &[&logs[..], &["8 answer"]].concat());
    check(&[full(r#"{"id":"p","method":"ping"}"#), call(9, "nobody")], &["\"p\" answer", "9 answer"]);
    check(&[call(9, "pause")], &["9 pause", "9 answer"]);
}

#[test]
fn what_a_call_asks_belongs_to_it_and_so_does_taking_it_back() {
    check(&[call(1, "ping 100")], &["1 ping", "1 notifications/cancelled", "1 answer"]);
}

#[test]
fn a_cancelled_request_will_have_no_answer() {
    let cancel = full(r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#);
    check(&[call(1, "wait"), cancel.clone(), cancel], &["1 unanswered"]);
}

#[test]
fn what_concerns_the_session_belongs_to_no_request() {
    check(&[call(1, "change")], &["1 answer", "- notifications/tools/list_changed"]);
    play(Limits::default(), async |stage| {
        let notes = Arc::default();
        let script = [initialize("2025-11-25"), call(1, "sleep 10000")].into();
        let host = Noting { script, notes: Arc::clone(&notes) };
        let server = stage.server.clone();
        let serving = tokio::spawn(async move { server.serve(host).await });
        sleep(Duration::from_millis(2500)).await;
        stage.server.sessions().log(Audience::Everyone, Level::Error, None, &RawJson::NULL);
        serving.await.unwrap().unwrap();
        assert_eq!(notes.lock().unwrap()[1], "- notifications/message");
    });
}
