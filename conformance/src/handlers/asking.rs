//! Tools that send a request to the client before they answer.

use protomcp_server::{AskError, Context};
use protomcp_typed::{Builder, JsonSchema, Tool};
use protomcp_types::{ContentBlock, CreateMessage, Elicit, ElicitResult, PromptMessage, RawJson, Role};
use serde::Deserialize;
use serde_json::{Value, json};

pub(crate) fn add(builder: Builder) -> Builder {
    builder
        .tool(Tool::new("test_sampling", "Asks the host's model").handler(sampling))
        .tool(Tool::new("test_elicitation", "Asks the host's user").handler(elicitation))
        .tool(
            Tool::new("test_elicitation_sep1034_defaults", "Asks with defaults for every kind of value")
                .handler(async |context: Context| form(&context, "Please review the values", defaults()).await),
        )
        .tool(
            Tool::new("test_elicitation_sep1330_enums", "Asks with every kind of choice")
                .handler(async |context: Context| form(&context, "Please choose", choices()).await),
        )
        .tool(Tool::new("test_missing_capability", "Needs a host with a model").handler(missing))
        .tool(Tool::new("test_streaming_elicitation", "Answers without asking").handler(async || "done"))
}

#[derive(Deserialize, JsonSchema)]
struct Prompted {
    /// The question for the model.
    prompt: String,
}

async fn sampling(context: Context, args: Prompted) -> Result<String, AskError> {
    ask_model(&context, &args.prompt).await
}

async fn missing(context: Context) -> Result<String, AskError> {
    ask_model(&context, "Say anything").await
}

async fn ask_model(context: &Context, prompt: &str) -> Result<String, AskError> {
    let message = PromptMessage::new(Role::User, ContentBlock::text(prompt).to_raw());
    let answer = context.ask::<CreateMessage>(&CreateMessage::of([&message], 100)).await?;
    Ok(format!("LLM response: {}", answer.content))
}

#[derive(Deserialize, JsonSchema)]
struct Message {
    /// The question for the user.
    message: String,
}

async fn elicitation(context: Context, args: Message) -> Result<String, AskError> {
    let schema = json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    });
    form(&context, &args.message, schema).await
}

async fn form(context: &Context, message: &str, schema: Value) -> Result<String, AskError> {
    let schema = RawJson::of(&schema).expect("a value is JSON");
    let ElicitResult { action, content, .. } = context.ask::<Elicit>(&Elicit::form(message, schema)).await?;
    let content = content.unwrap_or(RawJson::EMPTY_OBJECT);
    Ok(format!("Elicitation completed: action={action:?}, content={content}"))
}

fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "User name", "default": "John Doe"},
            "age": {"type": "integer", "description": "User age", "default": 30},
            "score": {"type": "number", "description": "User score", "default": 95.5},
            "status": {
                "type": "string",
                "description": "User status",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": {"type": "boolean", "description": "Verification status", "default": true},
        },
        "required": [],
    })
}

fn choices() -> Value {
    let titled = |names: [&str; 3]| -> Vec<Value> {
        names.iter().enumerate().map(|(n, title)| json!({"const": format!("value{}", n + 1), "title": title})).collect()
    };
    let options = ["option1", "option2", "option3"];
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "description": "One of several", "enum": options},
            "titledSingle": {
                "type": "string",
                "description": "One of several with titles",
                "oneOf": titled(["First Option", "Second Option", "Third Option"]),
            },
            "legacyEnum": {
                "type": "string",
                "description": "One of several with names next to them",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {
                "type": "array",
                "description": "Some of several",
                "items": {"type": "string", "enum": options},
                "minItems": 1,
                "maxItems": 3,
            },
            "titledMulti": {
                "type": "array",
                "description": "Some of several with titles",
                "items": {"anyOf": titled(["First Choice", "Second Choice", "Third Choice"])},
                "minItems": 1,
                "maxItems": 3,
            },
        },
        "required": [],
    })
}
