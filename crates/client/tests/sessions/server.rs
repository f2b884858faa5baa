//! The server of the tests, and a session with it.

use std::time::Duration;

use protomcp_client::{Client, ClientSession, Mode, RequestError};
use protomcp_server::Context;
use protomcp_testing::{Seen, run_paused};
use protomcp_transport::memory;
use protomcp_typed::{Builder, Json, JsonSchema, Prompt, Registry, Resource, Template, Tool, ToolError, schemars};
use protomcp_types::{
    CreateMessage, Elicit, ElicitAction, JsonObject, Level, ListRoots, Progress, PromptMessage, RawJson, Role,
    TaskSupport,
};
use serde::{Deserialize, Serialize};

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

/// A session in this era, its server, and what the server has seen.
pub(crate) struct Stage {
    pub(crate) session: ClientSession,
    pub(crate) registry: Registry,
    pub(crate) seen: Seen,
}

impl Stage {
    pub(crate) async fn open(mode: Mode, client: Client) -> Self {
        let seen = Seen::default();
        let registry = registry(&seen);
        let session = connect(&registry, &client.mode(mode)).await;
        Self { session, registry, seen }
    }
}

pub(crate) async fn connect(registry: &Registry, client: &Client) -> ClientSession {
    let (ours, theirs) = memory::pair();
    let served = registry.clone();
    tokio::spawn(async move { served.serve(theirs).await });
    client.connect(ours).await.unwrap()
}

/// Runs a test in both eras, with a time that passes only while everything waits.
pub(crate) fn in_both_eras(client: impl Fn() -> Client, test: impl AsyncFn(Stage)) {
    for mode in [Mode::Stateful, Mode::Stateless] {
        run_paused(async { test(Stage::open(mode, client()).await).await });
    }
}

pub(crate) fn client() -> Client {
    Client::new("host", "1.0")
}

/// Calls a tool; the first text of its result.
pub(crate) async fn text(session: &ClientSession, tool: &str) -> Result<String, RequestError> {
    let result = session.call_tool(tool, &JsonObject::new()).await?;
    let content: serde_json::Value = result.content.to().unwrap();
    Ok(content[0]["text"].as_str().unwrap().to_owned())
}

pub(crate) fn registry(seen: &Seen) -> Registry {
    let roots_changed = seen.clone();
    let ask = async |context: Context| -> Result<String, ToolError> {
        let schema = r#"{"type":"object","properties":{"name":{"type":"string","default":"Ann"}}}"#;
        let form = Elicit::form("Who?", RawJson::parse(schema).unwrap());
        let answer = context.ask::<Elicit>(&form).await.map_err(|error| ToolError::new(error.to_string()))?;
        match answer.action {
            ElicitAction::Accept => Ok(answer.content.unwrap().to_string()),
            ElicitAction::Decline | ElicitAction::Cancel => Ok("declined".into()),
        }
    };
    let sample = async |context: Context| -> Result<String, ToolError> {
        let question = CreateMessage::new(RawJson::EMPTY_ARRAY, 10);
        let answer =
            context.ask::<CreateMessage>(&question).await.map_err(|error| ToolError::new(error.to_string()))?;
        Ok(answer.model)
    };
    let roots = async |context: Context| -> Result<String, ToolError> {
        let answer = context.ask::<ListRoots>(&ListRoots::default()).await;
        let answer = answer.map_err(|error| ToolError::new(error.to_string()))?;
        Ok(answer.roots.into_iter().map(|root| root.uri).collect::<Vec<_>>().join(","))
    };
    contents(hanging(Registry::builder("server", "2.0"), seen))
        .instructions("be kind")
        .page_size(3)
        .tool(Tool::new("add", "Adds").handler(async |Add { a, b }: Add| Json(Sum { sum: a + b })))
        .tool(
            Tool::new("fail", "Fails")
                .handler(async || -> Result<String, ToolError> { Err(ToolError::new("no luck")) }),
        )
        .tool(Tool::new("ask", "Asks").handler(ask))
        .tool(Tool::new("sample", "Samples").handler(sample))
        .tool(Tool::new("roots", "Lists roots").handler(roots))
        .tool(Tool::new("count", "Reports progress").handler(async |context: Context| {
            for step in 1..=3 {
                context.progress(&Progress::new(step).of(3));
            }
            "counted"
        }))
        .tool(Tool::new("log", "Logs").handler(async |context: Context| {
            context.log(Level::Info, Some("test"), &RawJson::text("hello"));
            context.log(Level::Debug, None, &RawJson::text("details"));
            "logged"
        }))
        .tool(
            Tool::new("long", "A task")
                .handler(async |context: Context| {
                    tokio::time::sleep(Duration::from_secs(90)).await;
                    format!("worked as {}", if context.is_task() { "a task" } else { "a call" })
                })
                .task(TaskSupport::Optional),
        )
        .tool(Tool::new("long-ask", "A task that asks").handler(ask).task(TaskSupport::Optional))
        .on_roots_changed(move |_| roots_changed.push("roots changed"))
        .build()
        .unwrap()
}

/// Everything that is not a tool.
fn contents(builder: Builder) -> Builder {
    builder
        .prompt(Prompt::new("greet", "Greets").handler(async || {
            vec![PromptMessage::new(Role::User, RawJson::parse(r#"{"type":"text","text":"hi"}"#).unwrap())]
        }))
        .resource(Resource::new("test:a", "a").text("content of a"))
        .resource(Resource::new("test:b", "b").text("content of b"))
        .template(Template::new("test:item/{id}", "items").handler(async |Item { id }: Item| format!("item {id}")))
}

/// A tool that ends only when it is cancelled.
fn hanging(builder: Builder, seen: &Seen) -> Builder {
    let cancelled = seen.clone();
    builder.tool(Tool::new("hang", "Never ends").handler(move |context: Context| {
        let cancelled = cancelled.clone();
        async move {
            cancelled.push("started");
            context.cancelled().await;
            cancelled.push("cancelled");
            "late"
        }
    }))
}
