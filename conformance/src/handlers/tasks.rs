//! Tools whose calls are tasks, in every revision that has such a thing.

use std::time::Duration;

use protomcp_server::{AskError, Context, InputRequests, TaskOptions};
use protomcp_typed::{Builder, JsonSchema, TaskError, Tool};
use protomcp_types::{Elicit, Progress, RawJson, TaskSupport};
use serde::Deserialize;
use serde_json::json;
use tokio::time::sleep;

pub(crate) fn add(builder: Builder) -> Builder {
    builder
        .tool(
            Tool::new("greet", "Greets immediately")
                .handler(async |greeting: Greeting| format!("Hello, {}!", greeting.name)),
        )
        .tool(Tool::new("slow_compute", "Computes for this many seconds").handler(compute).task(TaskSupport::Optional))
        .tool(Tool::new("failing_job", "Fails after a second").handler(fail).task(TaskSupport::Required))
        .tool(
            Tool::new("protocol_error_job", "Fails as the server does")
                .handler(async || Err::<(), _>(TaskError::new("the job could not be carried out")))
                .task(TaskSupport::Optional),
        )
        .tool(Tool::new("confirm_delete", "Asks before it deletes").handler(delete).task(TaskSupport::Optional))
        .tool(Tool::new("multi_input", "Asks two things concurrently").handler(ask_twice).task(TaskSupport::Optional))
        .tool(
            Tool::new("test_tool_with_task", "Asks, then goes on as a task")
                .handler(ask_first)
                .task(TaskSupport::Required)
                .task_on_demand(),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Greeting {
    /// The person to greet.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Compute {
    /// For how long.
    seconds: f64,
    /// The label of the computation.
    #[serde(default)]
    label: String,
}

async fn compute(context: Context, args: Compute) -> Result<String, String> {
    let time = Duration::try_from_secs_f64(args.seconds).map_err(|error| error.to_string())?;
    context.progress(&Progress::new(0).of(1).with_message(format!("computing {:?}", args.label)));
    sleep(time).await;
    Ok(format!("Computed {:?} for {} seconds", args.label, args.seconds))
}

async fn fail() -> Result<(), &'static str> {
    sleep(Duration::from_secs(1)).await;
    Err("the job has failed")
}

#[derive(Deserialize, JsonSchema)]
struct Delete {
    /// The file to delete.
    filename: String,
}

async fn delete(context: Context, args: Delete) -> Result<String, AskError> {
    let question = form("confirm", "boolean", &format!("Delete {:?}?", args.filename));
    let answer = context.ask::<Elicit>(&question).key("confirm").await?;
    Ok(format!("{:?}: {:?} {}", args.filename, answer.action, answer.content.unwrap_or(RawJson::EMPTY_OBJECT)))
}

async fn ask_twice(context: Context) -> Result<String, AskError> {
    let questions = InputRequests::new()
        .with::<Elicit>("first", &form("value", "string", "First?"))
        .with::<Elicit>("second", &form("value", "string", "Second?"));
    let answers = context.ask_all(questions).await?;
    let (first, second) = (answers.to::<Elicit>("first")?, answers.to::<Elicit>("second")?);
    Ok(format!("{:?} and {:?}", first.action, second.action))
}

async fn ask_first(context: Context) -> Result<String, AskError> {
    let answer = context.ask::<Elicit>(&form("name", "string", "What is your name?")).key("user_name").await?;
    context.continue_as_task(TaskOptions::default());
    context.set_task_message("thinking about the name");
    sleep(Duration::from_millis(200)).await;
    Ok(format!("The user answered {}", answer.content.unwrap_or(RawJson::EMPTY_OBJECT)))
}

fn form(name: &str, kind: &str, message: &str) -> Elicit {
    let schema = json!({"type": "object", "properties": {name: {"type": kind}}, "required": [name]});
    Elicit::form(message, RawJson::of(&schema).expect("a value is JSON"))
}
