//! A tool that asks the host's model while it runs: `pmcp dev crates/sdk/examples/sampling.rs`.

use protomcp_server::Context;
use protomcp_typed::{JsonSchema, Registry, Tool, ToolError};
use protomcp_types::{ContentBlock, CreateMessage, PromptMessage, Role};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Title {
    text: String,
}

async fn title(context: Context, args: Title) -> Result<String, ToolError> {
    let question = ContentBlock::text(format!("A title for: {}", args.text));
    let mut request = CreateMessage::of([&PromptMessage::new(Role::User, question.to_raw())], 50);
    request.system_prompt = Some("Answer with the title alone.".into());
    // The client may have no model, its user may decline, or the question may take too long.
    let answer = context.ask::<CreateMessage>(&request).await;
    let answer = answer.map_err(|error| ToolError::new(error.to_string()).with_code("NO_MODEL"))?;
    match ContentBlock::from_raw(answer.content) {
        ContentBlock::Text { text, .. } => Ok(format!("{text} (says {})", answer.model)),
        _ => Err(ToolError::new("the model has answered without a text")),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = Registry::builder("titles", "1.0")
        .tool(Tool::new("title", "Finds a title for a text, with the help of the host's model.").handler(title))
        .build()?;
    Ok(protomcp_sdk::run(registry.server()).await?)
}
