//! A server whose every answer is written by the test, over a transport on which each request has its own exchange.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use protomcp_client::{Client, ClientSession, Mode, NoAnswer};
use protomcp_session::Extensions;
use protomcp_transport::{AuthorizationContext, Received, RequestStreams, Sink, Source, Transport, TransportError};
use protomcp_types::{Incoming, Message, ProtocolVersion, RequestId};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The client's end: sends text, and gets messages with facts about them.
#[derive(Debug)]
pub(crate) struct Exchanges {
    source: ExchangeSource,
    sink: ExchangeSink,
}

#[derive(Debug)]
pub(crate) struct ExchangeSource(UnboundedReceiver<(Received, Extensions)>, Extensions);

#[derive(Debug)]
pub(crate) struct ExchangeSink(UnboundedSender<String>, Arc<AtomicU64>);

/// The server's end.
#[derive(Debug)]
pub(crate) struct Script {
    sent: UnboundedReceiver<String>,
    answers: UnboundedSender<(Received, Extensions)>,
    token: Arc<AtomicU64>,
}

impl Script {
    /// A session in this era, and its server.
    pub(crate) async fn open(mode: Mode, client: Client) -> (ClientSession, Self) {
        let (sender, sent) = unbounded_channel();
        let (answers, source) = unbounded_channel();
        let (source, token) = (ExchangeSource(source, Extensions::default()), Arc::<AtomicU64>::default());
        let transport = Exchanges { source, sink: ExchangeSink(sender, Arc::clone(&token)) };
        let mut script = Self { sent, answers, token };
        let connecting = tokio::spawn(async move { client.mode(mode).connect(transport).await });
        if mode == Mode::Stateless {
            script.next().await;
            script.answer(1, DISCOVERED);
        } else {
            script.shake_hands(1).await;
        }
        (connecting.await.unwrap().unwrap(), script)
    }

    pub(crate) async fn shake_hands(&mut self, id: u64) {
        assert!(self.next().await.contains("initialize"));
        self.answer(id, INITIALIZED);
        assert_eq!(self.next().await, "begin 2025-11-25");
        assert!(self.next().await.contains("notifications/initialized"));
    }

    /// The next action of the client.
    pub(crate) async fn next(&mut self) -> String {
        self.sent.recv().await.unwrap()
    }

    /// The next action, which ends with this text; `_meta` is left out.
    #[track_caller]
    pub(crate) fn expect(&mut self, end: &str) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            let sent = self.next().await;
            assert!(sent.contains(end), "{caller}: {sent} instead of {end}");
        }
    }

    pub(crate) fn answer(&self, id: u64, result: &str) {
        self.say(&format!(r#""id":{id},"result":{result}"#), Extensions::default());
    }

    pub(crate) fn refuse(&self, id: u64, code: i64) {
        self.say(&format!(r#""id":{id},"error":{{"code":{code},"message":"no"}}"#), Extensions::default());
    }

    pub(crate) fn lose(&self, id: u64) {
        self.fail(id, NoAnswer::SessionLost);
    }

    /// The transport has no answer, for this reason.
    pub(crate) fn fail(&self, id: u64, why: NoAnswer) {
        let why = Extensions::default().with(Arc::new(why));
        self.say(&format!(r#""id":{id},"error":{{"code":-32603,"message":"gone"}}"#), why);
    }

    /// An answer with neither result nor error.
    pub(crate) fn say_malformed(&self, id: u64) {
        self.say(&format!(r#""id":{id}"#), Extensions::default());
    }

    pub(crate) fn tell(&self, method: &str) {
        self.say(&format!(r#""method":"{method}""#), Extensions::default());
    }

    fn say(&self, members: &str, extensions: Extensions) {
        let text = format!(r#"{{"jsonrpc":"2.0",{members}}}"#);
        self.answers.send((Incoming::parse(&text.into()), extensions)).unwrap();
    }

    /// Any text.
    pub(crate) fn say_text(&self, text: &'static str) {
        self.answers.send((Incoming::parse(&text.into()), Extensions::default())).unwrap();
    }

    /// Requests are sent with another token from here on.
    pub(crate) fn change_token(&self) {
        self.token.fetch_add(1, Ordering::Relaxed);
    }

    /// True if the client has nothing more to say.
    pub(crate) async fn is_quiet(&mut self) -> bool {
        tokio::time::timeout(std::time::Duration::from_secs(1), self.sent.recv()).await.is_err()
    }
}

const DISCOVERED: &str =
    r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}"#;
const INITIALIZED: &str =
    r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#;

impl Transport for Exchanges {
    type Source = ExchangeSource;
    type Sink = ExchangeSink;

    fn split(self) -> (ExchangeSource, ExchangeSink) {
        (self.source, self.sink)
    }
}

impl Source for ExchangeSource {
    async fn next(&mut self) -> Result<Option<Received>, TransportError> {
        let Some((received, extensions)) = self.0.recv().await else { return Ok(None) };
        self.1 = extensions;
        Ok(Some(received))
    }

    fn extensions(&mut self) -> Extensions {
        std::mem::take(&mut self.1)
    }
}

impl Sink for ExchangeSink {
    fn send(&mut self, message: Message, _: Option<&RequestId>) -> Result<(), TransportError> {
        self.0.send(message.to_text()).map_err(|_| TransportError::Closed)
    }

    fn request_streams(&mut self) -> Option<&mut dyn RequestStreams> {
        Some(self)
    }

    async fn flush(&mut self) -> Result<(), TransportError> {
        Ok(())
    }

    fn unwritten(&self) -> usize {
        0
    }
}

impl ExchangeSink {
    fn note(&self, text: String) {
        drop(self.0.send(text));
    }
}

impl RequestStreams for ExchangeSink {
    fn add_fields(&mut self, request: &RequestId, fields: Vec<(String, String)>) {
        self.note(format!("{request} {fields:?}"));
    }

    fn authorization(&self) -> AuthorizationContext {
        let token = Arc::clone(&self.1);
        AuthorizationContext::new(move || token.load(Ordering::Relaxed))
    }

    fn close_stream(&mut self, request: &RequestId) {
        self.note(format!("close {request}"));
    }

    fn begin_session(&mut self, version: ProtocolVersion) {
        self.note(format!("begin {version}"));
    }

    fn end_session(&mut self) {
        self.note("end".to_owned());
    }
}
