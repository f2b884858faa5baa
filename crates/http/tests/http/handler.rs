//! A server whose tools do what the tests need.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use http::request::Parts;
use protomcp_auth::Identity;
use protomcp_http::{Config, Listener, ListenerConfig, Readiness, Routes, StreamConfig, StreamableHttp};
use protomcp_server::{AskError, Context, Handler, Limits, Server, ServerHandle, ServerInfo};
use protomcp_testing::{in_time, patience};
use protomcp_types::{
    CallTool, CallToolResult, ErrorObject, Level, ListRoots, ListTools, ListToolsResult, Ping, Progress, RawJson,
    ServerCapabilities, Tool, ToolName,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::client::Host;

/// Tools, and the signals that they wait for.
pub(crate) struct Tools {
    sessions: ServerHandle,
    /// Lets `wait` go on.
    pub(crate) go: Notify,
    /// Signals that `wait` has begun.
    pub(crate) waiting: Notify,
    /// Calls that were dropped before their end.
    pub(crate) dropped: AtomicUsize,
    pub(crate) has_dropped: Notify,
    /// Signals that a question has failed because the client is gone.
    pub(crate) is_gone: Notify,
}

impl Tools {
    /// Notifies every client that the tools have changed.
    pub(crate) fn announce(&self) {
        self.sessions.tools_changed(protomcp_server::Audience::Everyone);
    }

    /// Waits until a tool waits.
    pub(crate) async fn begun(&self) {
        in_time(self.waiting.notified()).await.expect("no tool waits");
    }

    /// Shuts down gracefully.
    pub(crate) fn shut_down(&self) {
        self.sessions.shutdown();
    }
}

struct OnDrop(Arc<Tools>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Ordering::SeqCst);
        self.0.has_dropped.notify_one();
    }
}

/// The tools behind a listener.
struct Shared(Arc<Tools>);

impl Handler for Shared {
    fn info(&self) -> ServerInfo {
        ServerInfo::clone(self.0.sessions.info())
    }

    async fn list_tools(&self, _: ListTools, _: Context) -> Result<ListToolsResult, ErrorObject> {
        Ok(ListToolsResult::of(&[Tool::new(ToolName::new("echo").unwrap())]))
    }

    async fn call_tool(&self, call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        let (tool, argument) = call.name.split_once(' ').unwrap_or((&call.name, ""));
        let tools = &self.0;
        match tool {
            "echo" => return Ok(CallToolResult::text(argument)),
            "big" => return Ok(CallToolResult::text("x".repeat(argument.parse().unwrap()))),
            "count" => (1..=argument.parse().unwrap()).for_each(|step: i64| context.progress(&Progress::new(step))),
            "caller" => return Ok(CallToolResult::text(format!("{:?}", context.caller()))),
            "who" => {
                let who = context.extension::<Parts>().and_then(|head| head.extensions.get::<Identity>());
                let said = who.map(|who| format!("{} may {}", who.subject().unwrap_or("anonymous"), who.scopes()));
                // No call is answered before all have begun.
                tools.waiting.notify_one();
                tools.go.notified().await;
                return Ok(CallToolResult::text(said.unwrap_or_else(|| "no token".to_owned())));
            }
            "log" => context.log(Level::Error, None, &RawJson::text(argument)),
            "roots" => {
                let answer = context.ask::<ListRoots>(&ListRoots::default()).await;
                if answer == Err(AskError::Gone) {
                    tools.is_gone.notify_one();
                }
                let roots = answer?.roots;
                return Ok(CallToolResult::text(format!("{} roots", roots.len())));
            }
            "ping" => return Ok(CallToolResult::text(format!("{:?}", context.ask::<Ping>(&Ping {}).await.is_ok()))),
            // Reports, waits for the test, reports again.
            "wait" | "report" | "leave" => {
                let on_drop = OnDrop(Arc::clone(tools));
                if tool == "report" {
                    context.progress(&Progress::new(1));
                }
                if tool == "leave" {
                    context.close_stream();
                }
                tools.waiting.notify_one();
                tools.go.notified().await;
                if tool == "report" {
                    context.progress(&Progress::new(2));
                }
                std::mem::forget(on_drop);
                if let Ok(length) = argument.parse() {
                    return Ok(CallToolResult::text("x".repeat(length)));
                }
            }
            "change" => self.0.sessions.tools_changed(protomcp_server::Audience::Session(context.session())),
            name => return Err(ErrorObject::unknown_tool(name)),
        }
        Ok(CallToolResult::text("done"))
    }
}

/// A server on its own port.
pub(crate) struct Stage {
    pub(crate) host: Host,
    pub(crate) tools: Arc<Tools>,
    pub(crate) service: StreamableHttp,
    /// Reported by `/readyz`.
    pub(crate) readiness: Readiness,
    /// Stops the listener.
    pub(crate) stop: CancellationToken,
    pub(crate) sessions: ServerHandle,
    pub(crate) serving: tokio::task::JoinHandle<std::io::Result<()>>,
    _watchdog: Watchdog,
}

fn info() -> ServerInfo {
    let capabilities = ServerCapabilities::default().with_tools().with_prompts().with_logging();
    ServerInfo::new("stage", "1").with_capabilities(capabilities)
}

/// The longest life of a stage, in which several waits may come to their ends.
fn longest() -> Duration {
    3 * patience()
}

/// Ends the program when a test hangs in spite of all its time limits.
struct Watchdog(#[expect(dead_code, reason = "its end is heard")] mpsc::Sender<()>);

impl Watchdog {
    fn start() -> Self {
        let (sender, receiver) = mpsc::channel();
        let test = std::thread::current().name().unwrap_or("a test").to_owned();
        std::thread::spawn(move || {
            if receiver.recv_timeout(longest()) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("{test} has not ended within {:?}", longest());
                std::process::exit(1);
            }
        });
        Self(sender)
    }
}

impl Stage {
    pub(crate) async fn new(config: Config) -> Self {
        Self::with(config, ListenerConfig::default()).await
    }

    /// A server whose tools are defined elsewhere.
    pub(crate) async fn with_tools(tools: impl Fn(&str) -> Option<RawJson> + Send + Sync + 'static) -> Self {
        Self::build(Config::default(), ListenerConfig::default(), tools).await
    }

    pub(crate) async fn with(config: Config, listener: ListenerConfig) -> Self {
        Self::build(config, listener, |_| None).await
    }

    async fn build(
        config: Config,
        listener: ListenerConfig,
        define: impl Fn(&str) -> Option<RawJson> + Send + Sync + 'static,
    ) -> Self {
        Self::build_with(Limits::default(), config, listener, define).await
    }

    pub(crate) async fn build_with(
        limits: Limits,
        config: Config,
        listener: ListenerConfig,
        define: impl Fn(&str) -> Option<RawJson> + Send + Sync + 'static,
    ) -> Self {
        let sessions = ServerHandle::new(info(), limits);
        Self::start(sessions, config, listener, define, |service, _| service.into()).await
    }

    /// A server with `/healthz` and `/readyz`.
    pub(crate) async fn with_probes(config: Config) -> Self {
        Self::with_routes(config, ListenerConfig::default(), |service, readiness| {
            Routes::new(service).with_health(readiness)
        })
        .await
    }

    /// A server with these routes.
    pub(crate) async fn with_routes(
        config: Config,
        listener: ListenerConfig,
        routes: impl FnOnce(StreamableHttp, Readiness) -> Routes,
    ) -> Self {
        let sessions = ServerHandle::new(info(), Limits::default());
        Self::start(sessions, config, listener, |_| None, routes).await
    }

    /// A server with these stores, whose states are known to every server like it.
    pub(crate) async fn with_stores(config: Config, stores: protomcp_server::Stores) -> Self {
        let keys = protomcp_server::RequestStateKeys::shared([[1; 32]]);
        let info = info();
        let capabilities = info.capabilities.clone().with_task_extension();
        let sessions = ServerHandle::with_stores(info.with_capabilities(capabilities), Limits::default(), keys, stores);
        Self::start(sessions, config, ListenerConfig::default(), |_| None, |service, _| service.into()).await
    }

    async fn start(
        sessions: ServerHandle,
        mut config: Config,
        listener: ListenerConfig,
        define: impl Fn(&str) -> Option<RawJson> + Send + Sync + 'static,
        routes: impl FnOnce(StreamableHttp, Readiness) -> Routes,
    ) -> Self {
        // Unless a test sets another time, an answer alone is JSON, however long a busy machine takes for it.
        if config.streams.stream_after == StreamConfig::default().stream_after {
            config.streams.stream_after = longest();
        }
        let tools = Arc::new(Tools {
            sessions: sessions.clone(),
            go: Notify::new(),
            waiting: Notify::new(),
            dropped: 0.into(),
            has_dropped: Notify::new(),
            is_gone: Notify::new(),
        });
        let server = Server::with_sessions(sessions.clone(), Shared(Arc::clone(&tools)));
        let service = StreamableHttp::new(server.with_tool_definitions(define), config);
        let listener = Listener::bind(("127.0.0.1", 0)).await.unwrap().with_config(listener);
        let host = Host::new(listener.local_addr().unwrap());
        let (readiness, stop) = (Readiness::default(), CancellationToken::new());
        let routes = routes(service.clone(), readiness.clone());
        let serving = listener.serve(routes).with_graceful_shutdown(stop.clone().cancelled_owned());
        let serving = tokio::spawn(serving.into_future());
        Self { host, tools, service, readiness, stop, sessions, serving, _watchdog: Watchdog::start() }
    }

    /// A server whose sessions have these limits.
    pub(crate) async fn with_limits(limits: Limits) -> Self {
        Self::build_with(limits, Config::default(), ListenerConfig::default(), |_| None).await
    }

    pub(crate) async fn local() -> Self {
        Self::new(Config::default()).await
    }
}
