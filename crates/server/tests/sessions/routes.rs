//! The request that a message belongs to, on connections with a stream for each request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_server::{Audience, Limits};
use protomcp_transport::{Delivery, DeliveryFailures, Received, Sink, Source, Transport, TransportError};
use protomcp_types::{Incoming, Level, Message, ProtocolVersion, RawJson, RequestId};
use tokio::time::sleep;

use super::transcript::{call, full, initialize, play};

/// A host that says one thing each made-up second, and notes where the answers belong.
struct Noting {
    script: VecDeque<String>,
    notes: Arc<Mutex<Vec<String>>>,
    /// Questions do not arrive, and it says so.
    failures: Option<DeliveryFailures>,
    is_lost: bool,
}

impl Transport for Noting {
    type Source = Self;
    type Sink = Self;

    fn split(self) -> (Self, Self) {
        let notes = Arc::clone(&self.notes);
        let is_lost = self.is_lost;
        (self, Self { script: VecDeque::new(), notes, failures: None, is_lost })
    }
}

impl Source for Noting {
    async fn next(&mut self) -> Result<Option<Received>, TransportError> {
        sleep(Duration::from_secs(1)).await;
        Ok(self.script.pop_front().map(|text| Incoming::parse(&text.into())))
    }
}

impl Noting {
    fn new(script: VecDeque<String>, notes: &Arc<Mutex<Vec<String>>>) -> Self {
        Self { script, notes: Arc::clone(notes), failures: None, is_lost: false }
    }

    fn note(&self, request: Option<&RequestId>, what: &str) {
        let request = request.map_or_else(|| "-".to_owned(), ToString::to_string);
        self.notes.lock().unwrap().push(format!("{request} {what}"));
    }
}

impl Sink for Noting {
    fn send(&mut self, message: Message, during: Option<&RequestId>) -> Result<(), TransportError> {
        match message {
            Message::Request(request) => {
                self.note(during, &request.method);
                if let (true, Some(during), Some(failures)) = (self.is_lost, during, &self.failures) {
                    failures.report(during.clone());
                }
            }
            Message::Notification(notification) => self.note(during, &notification.method),
            Message::Response(_) => self.note(during, "answer"),
        }
        Ok(())
    }

    fn delivery(&mut self) -> Option<&mut dyn Delivery> {
        Some(self)
    }

    async fn flush(&mut self) -> Result<(), TransportError> {
        Ok(())
    }

    fn unwritten(&self) -> usize {
        0
    }
}

impl Delivery for Noting {
    fn negotiated(&mut self, version: ProtocolVersion) {
        self.note(None, version.as_str());
    }

    fn request_cancelled(&mut self, request: &RequestId) {
        self.note(Some(request), "cancelled");
    }

    fn close_stream(&mut self, request: &RequestId) {
        self.note(Some(request), "close");
    }

    fn on_undeliverable(&mut self, failures: DeliveryFailures) {
        self.failures = Some(failures);
    }

    fn can_send_unsolicited(&self) -> bool {
        true
    }

    /// The stream is lost when the first request to the client is on its way.
    fn is_deliverable(&self, _: &RequestId) -> bool {
        let has_asked = self.notes.lock().unwrap().iter().any(|note| note.ends_with(" roots/list"));
        !self.is_lost || !has_asked
    }
}

/// The host says these things after the handshake; the server notes these messages.
#[track_caller]
fn check(script: &[String], expected: &[&str]) {
    play(Limits::default(), async |stage| {
        let hello = [initialize("2025-11-25"), full(r#"{"method":"notifications/initialized"}"#)];
        let script = hello.iter().chain(script).cloned().collect();
        let notes = Arc::default();
        stage.server.serve(Noting::new(script, &notes)).await.unwrap();
        let notes = notes.lock().unwrap();
        assert_eq!(notes[..2], ["- 2025-11-25", "\"hello\" answer"]);
        assert_eq!(notes[2..], *expected);
    });
}

#[test]
fn what_a_call_reports_belongs_to_it() {
    let count = r#"{"id":7,"method":"tools/call","params":{"name":"count 2","_meta":{"progressToken":"t"}}}"#;
    check(&[full(count)], &["7 notifications/progress", "7 notifications/progress", "7 answer"]);
    let logs = ["8 notifications/message"; 7];
    check(&[call(8, "log")], &[&logs[..], &["8 answer"]].concat());
    check(&[full(r#"{"id":"p","method":"ping"}"#), call(9, "unknown")], &["\"p\" answer", "9 answer"]);
    check(&[call(9, "pause")], &["9 close", "9 answer"]);
}

#[test]
fn what_a_call_asks_belongs_to_it_and_so_does_taking_it_back() {
    check(&[call(1, "ping 100")], &["1 ping", "1 notifications/cancelled", "1 answer"]);
}

#[test]
fn a_cancelled_request_will_have_no_answer() {
    let cancel = full(r#"{"method":"notifications/cancelled","params":{"requestId":1}}"#);
    check(&[call(1, "wait"), cancel.clone(), cancel], &["1 cancelled"]);
}

#[test]
fn what_concerns_the_session_belongs_to_no_request() {
    check(&[call(1, "change")], &["1 answer", "- notifications/tools/list_changed"]);
    play(Limits::default(), async |stage| {
        let notes = Arc::default();
        let script = [initialize("2025-11-25"), call(1, "sleep 10000")].into();
        let host = Noting::new(script, &notes);
        let server = stage.server.clone();
        let serving = tokio::spawn(async move { server.serve(host).await });
        sleep(Duration::from_millis(2500)).await;
        stage.server.handle().log(Audience::Everyone, Level::Error, None, &RawJson::NULL);
        serving.await.unwrap().unwrap();
        assert_eq!(notes.lock().unwrap()[2], "- notifications/message");
    });
}

#[test]
fn a_question_that_cannot_reach_the_host_fails_immediately() {
    play(Limits::default(), async |stage| {
        let notes = Arc::default();
        let hello = initialize("2025-11-25").replace(r#""capabilities":{}"#, r#""capabilities":{"roots":{}}"#);
        // The second call asks when it is known already that nothing arrives.
        let script = [hello, call(1, "roots"), call(2, "roots")].into();
        let mut host = Noting::new(script, &notes);
        host.is_lost = true;
        let begun = tokio::time::Instant::now();
        stage.server.serve(host).await.unwrap();
        let expected =
            ["- 2025-11-25", "\"hello\" answer", "1 roots/list", "1 notifications/cancelled", "1 answer", "2 answer"];
        assert_eq!(*notes.lock().unwrap(), expected);
        assert!(begun.elapsed() < Duration::from_secs(10));
    });
}
