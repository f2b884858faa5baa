//! Plays one side of a conversation and checks the other.
//!
//! ```text
//! → {…}        the host sends this line, whatever it is
//! ← {…}        the next line of the server is this one, to the byte
//! ← [{…},{…}]  or this array, with its elements in any order
//! · 10ms       nothing comes for this long
//! → hello      the host shakes hands, by default in 2025-11-25 (or `→ hello 2025-03-26`,
//!              or with capabilities: `→ hello 2025-03-26 {"roots":{}}`)
//! → end        the host closes its end
//! ← end        the server closes its end, and is satisfied
//! shut down    the server is told to stop
//! ```
//!
//! `"jsonrpc":"2.0",` is left out on both sides where it comes first. In `_meta`, `«2026»` stands for what every
//! request of that revision says, of a client that can do nothing (`«2026 {"roots":{}}»`: this), and `«server»` for
//! what every result of it says. Time is made up: it passes only when everybody waits, so a transcript takes no time
//! and never depends on the machine.

use std::sync::Arc;
use std::time::Duration;

use protomcp_server::{
    Limits, RequestStateKeys, Router, ServeError, Server, ServerHandle, ServerInfo, Service, Stores,
};
use protomcp_testing::{JsonPeer, run_paused};
use protomcp_transport::Transport;
use protomcp_transport::lines::Lines;
use protomcp_types::{RawJson, ServerCapabilities};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::handler::{FixedTasks, Tools, WithFixedTasks};

/// Checks a conversation with default limits.
#[track_caller]
pub(crate) fn check(transcript: &[&str]) {
    check_with(Limits::default(), transcript);
}

/// Checks a conversation.
#[track_caller]
pub(crate) fn check_with(limits: Limits, transcript: &[&str]) {
    play(limits, async |stage| {
        stage.connect().steps(transcript).await;
    });
}

/// Plays something on a stage, with made-up time: once with a task for each call, and once without.
pub(crate) fn play(limits: Limits, test: impl AsyncFn(Stage)) {
    for in_place in [false, true] {
        run_paused(test(Stage::new(limits, in_place)));
    }
}

/// A server for any number of hosts.
pub(crate) struct Stage {
    pub(crate) server: Server<WithFixedTasks<Arc<Router<Arc<Tools>>>>>,
    pub(crate) tools: Arc<Tools>,
}

/// One host of it.
pub(crate) struct Host {
    peer: JsonPeer,
    serving: Option<JoinHandle<Result<(), ServeError>>>,
    sessions: ServerHandle,
}

impl Stage {
    pub(crate) fn new(limits: Limits, in_place: bool) -> Self {
        let stage = Self::with_stores(limits, RequestStateKeys::random(), Stores::default());
        if in_place { Self { server: stage.server.inline_calls(), ..stage } } else { stage }
    }

    /// A server with stores of the test's own.
    pub(crate) fn with_stores(limits: Limits, keys: RequestStateKeys, stores: Stores) -> Self {
        let capabilities = ServerCapabilities::default()
            .with_tools()
            .with_logging()
            .with_resources()
            .with_prompts()
            .with_completions()
            .with_tasks()
            .with_task_extension();
        let info = ServerInfo::new("stage", "1").with_instructions("Be brief.").with_capabilities(capabilities);
        let sessions = ServerHandle::with_stores(info, limits, keys, stores);
        let tools = Arc::new(Tools {
            sessions: sessions.clone(),
            called: 0.into(),
            opened: 0.into(),
            closed: 0.into(),
            dropped: 0.into(),
            late: Arc::new(watch::Sender::new(None)),
            watched: Vec::new().into(),
        });
        let server = Server::with_sessions(sessions, Arc::clone(&tools)).layer(FixedTasks);
        Self { server, tools }
    }

    pub(crate) fn connect(&self) -> Host {
        self.connect_with(1 << 20)
    }

    /// The host's pipe holds this many bytes that it has not read.
    pub(crate) fn connect_with(&self, pipe: usize) -> Host {
        self.connect_over(pipe, None)
    }

    /// A principal that the transport knows.
    pub(crate) fn connect_as(&self, who: &str) -> Host {
        self.connect_over(1 << 20, Some(who.into()))
    }

    /// Serves a transport of the test's own.
    pub(crate) fn serve(&self, transport: impl Transport) -> JoinHandle<Result<(), ServeError>> {
        let server = self.server.clone();
        tokio::spawn(async move { server.serve(transport).await })
    }

    pub(crate) fn connect_over(&self, pipe: usize, principal: Option<Arc<str>>) -> Host {
        connect_to(&self.server, pipe, principal)
    }
}

/// A host of any server.
pub(crate) fn connect_to<S: Service>(server: &Server<S>, pipe: usize, principal: Option<Arc<str>>) -> Host {
    let (peer, reader, writer) = JsonPeer::connected(pipe);
    let transport = Known { principal, lines: Lines::new(reader, writer).with_max_line(1000) };
    let serving = {
        let server = server.clone();
        tokio::spawn(async move { server.serve(transport).await })
    };
    // An hour of made-up time.
    let peer = peer.within(Duration::from_secs(3600));
    Host { peer, serving: Some(serving), sessions: server.handle().clone() }
}

/// A transport that may know who is at the other end.
struct Known<T> {
    principal: Option<Arc<str>>,
    lines: T,
}

impl<T: Transport> Transport for Known<T> {
    type Source = T::Source;
    type Sink = T::Sink;

    fn principal(&self) -> Option<Arc<str>> {
        self.principal.clone()
    }

    fn split(self) -> (T::Source, T::Sink) {
        self.lines.split()
    }
}

impl Host {
    pub(crate) async fn steps(&mut self, transcript: &[&str]) {
        for (number, step) in transcript.iter().enumerate() {
            self.step(number + 1, step).await;
        }
    }

    async fn step(&mut self, number: usize, step: &str) {
        let (what, rest) = step.split_once(' ').expect("a step is a sign, a space and more");
        match (what, rest) {
            ("→", "end") => self.end().await,
            ("→", hello) if hello.starts_with("hello") => {
                let (version, capabilities) = match hello.strip_prefix("hello").unwrap().trim().split_once(' ') {
                    Some((version, capabilities)) => (version, capabilities),
                    None => (hello.strip_prefix("hello").unwrap().trim(), "{}"),
                };
                self.hello_with(if version.is_empty() { "2025-11-25" } else { version }, capabilities).await;
            }
            ("→", text) => self.send(&full(&expand(text))).await,
            ("←", "end") => {
                assert_eq!(self.next().await, None, "step {number}: expected the end");
                let outcome = self.serving.take().expect("ends once").await.unwrap();
                assert!(outcome.is_ok(), "step {number}: {outcome:?}");
            }
            ("←", text) if text.starts_with('[') => {
                let line = self.next().await.unwrap_or_else(|| panic!("step {number}: the end instead of {text}"));
                let sorted = |text: &str| {
                    let mut elements: Vec<RawJson> = serde_json::from_str(&expand(text)).unwrap();
                    elements.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
                    elements
                };
                assert_eq!(sorted(&line.replace(VERSION, "")), sorted(text), "step {number}");
            }
            ("←", text) => {
                let line = self.next().await.unwrap_or_else(|| panic!("step {number}: the end instead of {text}"));
                assert_eq!(line.replacen(VERSION, "", 1), expand(text), "step {number}");
            }
            ("·", time) => {
                let time = time.strip_suffix("ms").expect("milliseconds").parse().expect("a number");
                if let Ok(line) = self.peer.line_within(Duration::from_millis(time)).await {
                    panic!("step {number}: expected silence, got {line:?}");
                }
            }
            ("shut", "down") => self.sessions.shutdown(),
            _ => panic!("step {number} is not a step: {step}"),
        }
    }

    async fn hello_with(&mut self, version: &str, capabilities: &str) {
        let hello = initialize(version).replace(r#""capabilities":{}"#, &format!(r#""capabilities":{capabilities}"#));
        self.send(&hello).await;
        let answer = self.next().await.expect("an answer to initialize");
        assert!(answer.contains(&format!("\"protocolVersion\":\"{version}\"")), "{answer}");
        self.send(&full(r#"{"method":"notifications/initialized"}"#)).await;
    }

    pub(crate) async fn send(&mut self, line: &str) {
        self.peer.send_line(line).await;
    }

    pub(crate) async fn send_raw(&mut self, bytes: &[u8]) {
        self.peer.send_bytes(bytes).await;
    }

    /// The next line, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<String> {
        self.peer.next_line().await
    }

    /// Closes the host's writing end.
    pub(crate) async fn end(&mut self) {
        self.peer.close().await;
    }

    /// The outcome of serving.
    pub(crate) async fn outcome(&mut self) -> Result<(), ServeError> {
        self.serving.take().expect("ends once").await.unwrap()
    }

    /// The host dies. Returns what serving it came to.
    pub(crate) async fn die(self) -> Result<(), ServeError> {
        drop(self.peer);
        self.serving.expect("ends once").await.unwrap()
    }

    /// Drops the future that serves.
    pub(crate) fn abort(&mut self) {
        self.serving.take().expect("ends once").abort();
    }
}

const VERSION: &str = r#""jsonrpc":"2.0","#;

/// Puts the version in where a message has none.
pub(crate) fn full(text: &str) -> String {
    if text.starts_with(r#"{"id""#) || text.starts_with(r#"{"method""#) {
        text.replacen('{', &format!("{{{VERSION}"), 1)
    } else {
        text.to_owned()
    }
}

/// The error of a request that comes, or is still open, during a shutdown.
const SHUTDOWN: &str = r#"{"code":-32603,"message":"the server is shutting down","data":{"protomcp/error":{"error_code":"SHUTTING_DOWN","message":"the server is shutting down","suggestion":"call again when it runs","retryable":true}}}"#;

/// Puts in texts that repeat.
pub(crate) fn expand(text: &str) -> String {
    let mut text = text
        .replace("«shutdown»", SHUTDOWN)
        .replace("«server»", r#""io.modelcontextprotocol/serverInfo":{"name":"stage","version":"1"}"#)
        .replace("«2026»", "«2026 {}»");
    while let Some((before, rest)) = text.split_once("«2026 ") {
        let (capabilities, after) = rest.split_once('»').expect("« is followed by »");
        text = format!(
            r#"{before}"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{capabilities}{after}"#
        );
    }
    text
}

pub(crate) fn initialize(version: &str) -> String {
    full(&format!(
        r#"{{"id":"hello","method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{}},"clientInfo":{{"name":"host","version":"1"}}}}}}"#
    ))
}

/// A call of a tool.
pub(crate) fn call(id: u64, tool: &str) -> String {
    full(&format!(r#"{{"id":{id},"method":"tools/call","params":{{"name":"{tool}"}}}}"#))
}
