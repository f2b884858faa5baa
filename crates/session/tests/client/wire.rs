//! One connection, its clock, and its traffic as text.

use std::time::{Duration, Instant};

use protomcp_session::{
    AnswerFacts, CallId, ClientConfig, ClientConnection, ClientEvent, Mode, NoAnswer, OutgoingCall, RequestFacts,
    Transmit,
};
use protomcp_types::{ClientCapabilities, Implementation, Incoming, JsonObject, Message, RawJson};

/// One connection and its clock.
pub(crate) struct Wire {
    pub(crate) connection: ClientConnection,
    pub(crate) now: Instant,
    pub(crate) calls: u64,
    /// The server's requests that were passed on.
    pub(crate) asked: Vec<protomcp_session::RequestKey>,
}

pub(crate) const STATELESS_META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{},"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},"io.modelcontextprotocol/clientInfo":{"name":"host","version":"1"}"#;

impl Wire {
    pub(crate) fn new(change: impl FnOnce(&mut ClientConfig)) -> Self {
        let mut config = ClientConfig::new(Implementation::new("host", "1"));
        let raw = |text: &'static str| RawJson::parse(text).unwrap();
        config.capabilities =
            ClientCapabilities::new().with("roots", raw(r#"{"listChanged":true}"#)).with("elicitation", raw("{}"));
        change(&mut config);
        let now = Instant::now();
        Self { connection: ClientConnection::new(config, now), now, calls: 0, asked: Vec::new() }
    }

    /// An open session.
    pub(crate) fn stateful(change: impl FnOnce(&mut ClientConfig)) -> Self {
        let mut wire = Self::new(|config| {
            config.mode = Mode::Stateful;
            change(config);
        });
        wire.server(INITIALIZED);
        wire.sent();
        assert_eq!(wire.events(), ["opened 2025-11-25"]);
        wire
    }

    /// An open connection without a session.
    pub(crate) fn stateless(change: impl FnOnce(&mut ClientConfig)) -> Self {
        let mut wire = Self::new(|config| {
            config.mode = Mode::Stateless;
            change(config);
        });
        wire.server(DISCOVERED);
        wire.sent();
        assert_eq!(wire.events(), ["opened 2026-07-28"]);
        wire
    }

    pub(crate) fn server(&mut self, text: &str) {
        self.server_with(text, AnswerFacts::default());
    }

    pub(crate) fn server_with(&mut self, text: &str, facts: AnswerFacts) {
        let text = format!(r#"{{"jsonrpc":"2.0",{text}}}"#);
        match Incoming::parse(&text.clone().into()) {
            Ok(Incoming::One(message)) => self.connection.receive(self.now, message, facts),
            other => panic!("{text}: {other:?}"),
        }
    }

    /// A text of the server that is not a message.
    pub(crate) fn malformed(&mut self, text: &str) {
        let malformed = Incoming::parse(&format!(r#"{{"jsonrpc":"2.0",{text}}}"#).into()).unwrap_err();
        self.connection.receive_malformed(self.now, malformed);
    }

    pub(crate) fn lost(&mut self, id: u64, why: NoAnswer) {
        let facts = AnswerFacts { no_answer: Some(why), status: None };
        self.server_with(&format!(r#""id":{id},"error":{{"code":-32603,"message":"gone"}}"#), facts);
    }

    pub(crate) fn call(&mut self, name: &str) -> CallId {
        self.call_with(name, |_| {})
    }

    pub(crate) fn call_with(&mut self, name: &str, change: impl FnOnce(&mut OutgoingCall)) -> CallId {
        self.calls += 1;
        let id = CallId::new(self.calls);
        let mut call = OutgoingCall::new("tools/call", JsonObject::new().with("name", RawJson::text(name)).into());
        change(&mut call);
        self.connection.call(self.now, id, call);
        id
    }

    pub(crate) fn wait(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
        self.connection.time(self.now);
    }

    /// The actions of the transport since the last look.
    pub(crate) fn sent(&mut self) -> Vec<String> {
        let text = |message: Message| {
            let text = message.to_text().replace(r#"{"jsonrpc":"2.0","#, "{");
            text.replace(STATELESS_META, "…").replace(r#""_meta":{…}"#, "…")
        };
        let write = |transmit| match transmit {
            Transmit::Send(message) => text(message),
            Transmit::SendWith(message, RequestFacts { fields, .. }) => format!("{fields:?} {}", text(message)),
            Transmit::CloseStream(id) => format!("close {id}"),
            Transmit::BeginSession(version) => format!("begin {version}"),
            Transmit::EndSession => "end".to_owned(),
        };
        std::iter::from_fn(|| self.connection.poll_transmit()).map(write).collect()
    }

    /// The events since the last look, in words.
    pub(crate) fn events(&mut self) -> Vec<String> {
        let mut events = Vec::new();
        while let Some(event) = self.connection.poll_event() {
            events.push(match event {
                ClientEvent::Opened(server) => format!("opened {}", server.version),
                ClientEvent::Answer { call, outcome: Ok(body), rounds } => {
                    format!("{} after {rounds}: {}", number(call), body.into_raw())
                }
                ClientEvent::Answer { call, outcome: Err(error), .. } => format!("{} failed: {error}", number(call)),
                ClientEvent::Progress { call, progress } => {
                    format!("{} progress {}", number(call), progress.progress.to_raw().unwrap())
                }
                ClientEvent::Task { call, task } => format!("{} task {} {:?}", number(call), task.id, task.status),
                ClientEvent::Input { call, questions } => {
                    let keys: Vec<_> = questions.iter().map(|question| &*question.key).collect();
                    format!("{} asks {}", number(call), keys.join(","))
                }
                ClientEvent::Question(key, question) => {
                    self.asked.push(key);
                    format!("asked {}", question.method)
                }
                ClientEvent::Refused(method) => format!("refused {method}"),
                ClientEvent::Withdrawn(key) => format!("withdrawn {}", key.id),
                ClientEvent::Notification(notification) => format!("told {}", notification.method),
                ClientEvent::Listening(Ok(filter)) => format!("listening {}", serde_json::to_string(&filter).unwrap()),
                ClientEvent::ListeningLost => "listening lost".to_owned(),
                ClientEvent::Listening(Err(error)) => format!("not listening: {error}"),
                ClientEvent::Ignored(why) => format!("ignored: {why}"),
                ClientEvent::Closed(reason) => format!("closed: {reason}"),
            });
        }
        events
    }
}

pub(crate) fn number(call: CallId) -> String {
    format!("{call:?}").replace("CallId(", "call ").replace(')', "")
}

pub(crate) const INITIALIZED: &str = r#""id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"s","version":"1"}}"#;
pub(crate) const DISCOVERED: &str = r#""id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{"tools":{}},"ttlMs":-5,"cacheScope":"x","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}"#;
pub(crate) const DISCOVER: &str = r#"{"id":1,"method":"server/discover","params":{…}}"#;
pub(crate) const INITIALIZE: &str = r#"{"id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"elicitation":{}},"clientInfo":{"name":"host","version":"1"}}}"#;
