//! The servers of the tests, a gateway in front of them, and a client.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_client::{Client, ClientSession, Mode};
use protomcp_gateway::{Builder, Gateway, GatewayLimits, Sharing, Upstream};
use protomcp_server::{Context, Server, Service};
use protomcp_testing::{Seen, run_paused};
use protomcp_transport::memory::{self, Memory, MemorySink, MemorySource};
use protomcp_transport::{Transport, boxed::Boxed};
use protomcp_typed::{
    self as typed, Json, JsonSchema, Prompt, Registry, Resource, Template, Tool, ToolError, schemars,
};
use protomcp_types::{
    ClientMethod, CreateMessage, Elicit, ElicitAction, JsonObject, Level, ListRoots, Progress, PromptMessage, RawJson,
    Role, TaskSupport,
};
use serde::{Deserialize, Serialize};
use tokio::task::AbortHandle;

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Item {
    id: String,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

/// A server that can be stopped and started.
#[derive(Clone)]
pub(crate) struct Backend {
    pub(crate) registry: Registry,
    pub(crate) seen: Seen,
    switch: Switch,
}

/// Connects to a server, or refuses to.
#[derive(Clone, Default)]
pub(crate) struct Switch {
    is_off: Arc<AtomicBool>,
    serving: Arc<Mutex<Vec<AbortHandle>>>,
    pub(crate) connections: Arc<AtomicUsize>,
}

impl Switch {
    /// Ends all connections.
    pub(crate) fn kill(&self) {
        self.serving.lock().unwrap().drain(..).for_each(|task| task.abort());
    }

    /// Takes further connections, or refuses them. Those that are open stay.
    pub(crate) fn refuse(&self, is_off: bool) {
        self.is_off.store(is_off, Ordering::SeqCst);
    }

    /// Ends the newest connection.
    pub(crate) fn kill_newest(&self) {
        self.serving.lock().unwrap().pop().unwrap().abort();
    }

    pub(crate) fn set_off(&self, is_off: bool) {
        self.is_off.store(is_off, Ordering::SeqCst);
        if is_off {
            self.kill();
        }
    }

    pub(crate) fn upstream<S: Service>(&self, name: &str, server: &Server<S>) -> Upstream {
        let (this, server) = (self.clone(), server.clone());
        Upstream::new(name.to_owned(), move || {
            let (this, server) = (this.clone(), server.clone());
            async move {
                if this.is_off.load(Ordering::SeqCst) {
                    return Err("it is switched off".into());
                }
                this.connections.fetch_add(1, Ordering::SeqCst);
                let (ours, theirs) = memory::pair();
                let serving = tokio::spawn(server.serve_inline(theirs));
                this.serving.lock().unwrap().push(serving.abort_handle());
                Ok(Boxed::new(ours))
            }
        })
    }
}

impl Backend {
    pub(crate) fn new() -> Self {
        let seen = Seen::default();
        Self { seen: seen.clone(), ..Self::of(registry(&seen)) }
    }

    pub(crate) fn of(registry: Registry) -> Self {
        Self { registry, seen: Seen::default(), switch: Switch::default() }
    }

    pub(crate) fn switch(&self) -> &Switch {
        &self.switch
    }

    pub(crate) fn upstream(&self, name: &str) -> Upstream {
        self.switch.upstream(name, &self.registry.server())
    }
}

/// A client of a gateway before a server.
pub(crate) struct Stage {
    pub(crate) session: ClientSession,
    pub(crate) gateway: Gateway,
    pub(crate) backend: Backend,
}

impl Stage {
    pub(crate) async fn open(client: Client, eras: (Mode, Mode), sharing: Sharing) -> Self {
        let backend = Backend::new();
        let gateway =
            gateway().upstream(backend.upstream("server").mode(eras.1).sharing(sharing)).open().await.unwrap();
        let session = connect(&gateway, &client.mode(eras.0)).await;
        Self { session, gateway, backend }
    }

    /// The text of a tool's result.
    pub(crate) async fn call(&self, tool: &str) -> String {
        call(&self.session, tool).await
    }
}

/// The text of a tool's result.
pub(crate) async fn call(session: &ClientSession, tool: &str) -> String {
    let result = session.call_tool(tool, &JsonObject::new()).await.unwrap();
    let content: serde_json::Value = result.content.to().unwrap();
    content[0]["text"].as_str().unwrap().to_owned()
}

pub(crate) fn gateway() -> Builder {
    let limits = GatewayLimits { open_timeout: Duration::from_secs(5), ..GatewayLimits::default() };
    Gateway::builder("gateway", "1.0").limits(limits)
}

pub(crate) async fn connect(gateway: &Gateway, client: &Client) -> ClientSession {
    let (ours, theirs) = memory::pair();
    tokio::spawn(gateway.server().serve_inline(theirs));
    client.connect(ours).await.unwrap()
}

/// Like [`connect`], of a user with this name.
pub(crate) async fn connect_as(gateway: &Gateway, client: &Client, user: &'static str) -> ClientSession {
    let (ours, theirs) = memory::pair();
    tokio::spawn(gateway.server().serve_inline(Authenticated { transport: theirs, user }));
    client.connect(ours).await.unwrap()
}

/// A transport whose other end is a user.
struct Authenticated {
    transport: Memory,
    user: &'static str,
}

impl Transport for Authenticated {
    type Source = MemorySource;
    type Sink = MemorySink;

    fn principal(&self) -> Option<Arc<str>> {
        Some(self.user.into())
    }

    fn split(self) -> (MemorySource, MemorySink) {
        self.transport.split()
    }
}

/// All pairs of the era of the client and the era of the server.
pub(crate) const ERAS: [(Mode, Mode); 4] = [
    (Mode::Stateful, Mode::Stateful),
    (Mode::Stateful, Mode::Stateless),
    (Mode::Stateless, Mode::Stateful),
    (Mode::Stateless, Mode::Stateless),
];

/// Runs a test with each pair of eras and both ways of sharing, with a time that passes only while everything waits.
pub(crate) fn everywhere(client: impl Fn() -> Client, test: impl AsyncFn(Stage)) {
    for eras in ERAS {
        for sharing in [Sharing::PerSession, Sharing::Shared] {
            run(async {
                let stage = Stage::open(client(), eras, sharing).await;
                test(stage).await;
            });
        }
    }
}

pub(crate) fn run(test: impl Future<Output = ()>) {
    run_paused(async { tokio::time::timeout(Duration::from_secs(86400), test).await.expect("the test hangs") });
}

pub(crate) fn client() -> Client {
    Client::new("host", "1.0")
}

async fn ask<M: ClientMethod<Result: 'static> + 'static>(
    context: &Context,
    question: &M::Params,
) -> Result<M::Result, ToolError> {
    context.ask::<M>(question).await.map_err(|error| ToolError::new(error.to_string()))
}

pub(crate) fn registry(seen: &Seen) -> Registry {
    let form = async |context: Context| -> Result<String, ToolError> {
        let schema = r#"{"type":"object","properties":{"name":{"type":"string"}}}"#;
        let form = Elicit::form("Who?", RawJson::parse(schema).unwrap());
        let answer = ask::<Elicit>(&context, &form).await?;
        match answer.action {
            ElicitAction::Accept => Ok(answer.content.unwrap().to_string()),
            ElicitAction::Decline | ElicitAction::Cancel => Ok("declined".into()),
        }
    };
    let sample = async |context: Context| -> Result<String, ToolError> {
        Ok(ask::<CreateMessage>(&context, &CreateMessage::new(RawJson::EMPTY_ARRAY, 10)).await?.model)
    };
    let roots = async |context: Context| -> Result<String, ToolError> {
        let roots = ask::<ListRoots>(&context, &ListRoots::default()).await?.roots;
        Ok(roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join(","))
    };
    let changed = seen.clone();
    contents(tasks(reporting(Registry::builder("server", "2.0"), seen)))
        .instructions("be kind")
        .page_size(3)
        .tool(Tool::new("add", "Adds").handler(async |Add { a, b }: Add| Json(Sum { sum: a + b })))
        .tool(Tool::new("ask", "Asks").handler(form))
        .tool(Tool::new("sample", "Samples").handler(sample))
        .tool(Tool::new("roots", "Lists roots").handler(roots))
        .tool(Tool::new("whoami", "Names the client").handler(async |context: Context| context.client().name.clone()))
        .on_roots_changed(move |_| changed.push("roots changed"))
        .build()
        .unwrap()
}

/// Tools that report, fail, or never end.
fn reporting(builder: typed::Builder, seen: &Seen) -> typed::Builder {
    let cancelled = seen.clone();
    let fail = async || -> Result<String, ToolError> { Err(ToolError::new("no luck")) };
    builder
        .tool(Tool::new("fail", "Fails").handler(fail))
        .tool(Tool::new("count", "Reports progress").handler(async |context: Context| {
            for step in 1..=3 {
                context.progress(&Progress::new(step).of(3));
            }
            "counted"
        }))
        .tool(Tool::new("log", "Logs").handler(async |context: Context| {
            context.log(Level::Warning, Some("test"), &RawJson::text("hello"));
            context.log(Level::Debug, None, &RawJson::text("details"));
            "logged"
        }))
        .tool(Tool::new("hang", "Never ends").handler(move |context: Context| {
            let cancelled = cancelled.clone();
            async move {
                cancelled.push("started");
                context.cancelled().await;
                cancelled.push("cancelled");
                "late"
            }
        }))
}

/// Tools that can be tasks, and one that has to be.
fn tasks(builder: typed::Builder) -> typed::Builder {
    let work = async |context: Context| {
        tokio::time::sleep(Duration::from_secs(30)).await;
        format!("worked as {}", if context.is_task() { "a task" } else { "a call" })
    };
    builder
        .tool(Tool::new("long", "A task").handler(work).task(TaskSupport::Optional))
        .tool(Tool::new("task", "Always a task").handler(work).task(TaskSupport::Required))
}

/// Everything that is not a tool.
fn contents(builder: typed::Builder) -> typed::Builder {
    builder
        .prompt(Prompt::new("greet", "Greets").handler(async || {
            vec![PromptMessage::new(Role::User, RawJson::parse(r#"{"type":"text","text":"hi"}"#).unwrap())]
        }))
        .resource(Resource::new("test:a", "a").text("content of a"))
        .resource(Resource::new("test:b", "b").text("content of b"))
        .template(Template::new("test:item/{id}", "items").handler(async |Item { id }: Item| format!("item {id}")))
}
