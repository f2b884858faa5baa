//! A client by hand, on top of the transport.

use std::time::Duration;

use protomcp_http_client::{HttpSink, HttpSource, HttpTransport, Limits};
use protomcp_session::Extensions;
use protomcp_testing::{in_time, patience};
use protomcp_transport::{HttpStatus, NoAnswer, RequestStreams, Sink, Source, Transport};
use protomcp_types::{Incoming, Message, Params, ProtocolVersion, RawJson, RequestId};

/// A time after which a server is too slow.
pub(crate) const SHORT: Duration = Duration::from_millis(300);

pub(crate) struct Peer {
    pub(crate) source: HttpSource,
    pub(crate) sink: HttpSink,
}

/// Limits for servers that misbehave.
pub(crate) fn quick() -> Limits {
    Limits::default()
        .with_max_message(100_000)
        .with_reconnect_delay(Duration::from_millis(1))
        .with_max_reconnects(3)
        .with_head_timeout(patience())
        .with_answer_timeout(patience())
        .with_message_timeout(patience())
}

/// The same for servers that do something too slowly.
pub(crate) fn hasty() -> Limits {
    quick().with_message_timeout(SHORT).with_head_timeout(SHORT)
}

pub(crate) fn params(text: &str) -> Params {
    Params::of(&RawJson::parse(text.to_owned()).unwrap()).unwrap()
}

/// The parameters of a request without a session.
pub(crate) fn stateless(members: &str) -> Params {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    params(&format!("{{{members}{}{meta}}}", if members.is_empty() { "" } else { "," }))
}

impl Peer {
    pub(crate) fn new(url: &str) -> Self {
        Self::with(HttpTransport::new(url).unwrap())
    }

    /// A client with limits for servers that misbehave.
    pub(crate) fn quick(url: &str) -> Self {
        Self::with(HttpTransport::new(url).unwrap().limits(quick()))
    }

    /// A client with limits for servers that are slow.
    pub(crate) fn hasty(url: &str) -> Self {
        Self::with(HttpTransport::new(url).unwrap().limits(hasty()))
    }

    pub(crate) fn with(transport: HttpTransport) -> Self {
        let (source, sink) = transport.split();
        Self { source, sink }
    }

    pub(crate) async fn flush(&mut self) {
        in_time(self.sink.flush()).await.expect("flush does not end").unwrap();
    }

    pub(crate) async fn request(&mut self, id: i64, method: &'static str, params: Params) {
        self.sink.send(Message::request(id, method, params), None).unwrap();
        self.flush().await;
    }

    pub(crate) async fn notify(&mut self, method: &'static str, params: Params) {
        self.sink.send(Message::notification(method, params), None).unwrap();
        self.flush().await;
    }

    /// The next message, and the facts about it.
    pub(crate) async fn next(&mut self) -> (Message, Extensions) {
        let received = in_time(self.source.next()).await.expect("no message").unwrap();
        match received.expect("the source has ended").expect("a message") {
            Incoming::One(message) => (message, self.source.extensions()),
            Incoming::Batch(_) => panic!("a batch"),
        }
    }

    pub(crate) async fn next_text(&mut self) -> String {
        self.next().await.0.to_text()
    }

    /// The result of a request, as text.
    pub(crate) async fn result(&mut self, expected: i64) -> String {
        let (message, _) = self.next().await;
        let Message::Response(response) = message else { panic!("{}", message.to_text()) };
        assert_eq!(response.id, Some(RequestId::from(expected)));
        response.outcome.expect("a result").into_raw().to_string()
    }

    /// The reason for which a request has no answer, and the text.
    pub(crate) async fn failure(&mut self, expected: i64) -> (NoAnswer, String) {
        let (message, extensions) = self.next().await;
        let Message::Response(response) = message else { panic!("{}", message.to_text()) };
        assert_eq!(response.id, Some(RequestId::from(expected)));
        let error = response.outcome.unwrap_err();
        (*extensions.find::<NoAnswer>().unwrap_or_else(|| panic!("an answer: {error}")), error.message.into_owned())
    }

    /// The status and code of an error that the server has sent.
    pub(crate) async fn refusal(&mut self) -> (u16, i64) {
        let (message, extensions) = self.next().await;
        assert!(extensions.find::<NoAnswer>().is_none(), "{}", message.to_text());
        let Message::Response(response) = message else { panic!("{}", message.to_text()) };
        (extensions.find::<HttpStatus>().unwrap().0, response.outcome.unwrap_err().code)
    }

    /// Sends a request and returns the reason for its failure.
    pub(crate) async fn fails(&mut self, id: i64, method: &'static str) -> (NoAnswer, String) {
        self.request(id, method, params("{}")).await;
        self.failure(id).await
    }

    /// Completes the handshake.
    pub(crate) async fn initialize(&mut self, version: ProtocolVersion) {
        let text = format!(
            r#"{{"protocolVersion":"{version}","capabilities":{{"roots":{{}}}},"clientInfo":{{"name":"t","version":"1"}}}}"#
        );
        self.request(0, "initialize", params(&text)).await;
        let result = self.result(0).await;
        assert!(result.contains(&format!(r#""protocolVersion":"{version}""#)), "{result}");
        self.sink.begin_session(version);
        self.notify("notifications/initialized", Params::Absent).await;
    }
}
