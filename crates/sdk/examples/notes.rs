//! Resources, a template, a prompt and completion: `pmcp dev crates/sdk/examples/notes.rs`.

use protomcp_typed::{JsonSchema, Prompt, Registry, Resource, Template, argument};
use protomcp_types::{ContentBlock, ErrorObject, PromptMessage, Role};
use serde::Deserialize;

const NOTES: [(&str, &str); 2] = [("tea", "Steep for four minutes."), ("cake", "Bake for forty minutes.")];

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Summarize {
    /// The note.
    name: String,
    /// The tone of the summary.
    tone: Option<String>,
}

fn note(name: &str) -> Option<&'static str> {
    NOTES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

async fn names(typed: String) -> Vec<&'static str> {
    let mut fitting: Vec<_> = NOTES.iter().map(|(name, _)| *name).filter(|name| name.starts_with(&typed)).collect();
    fitting.sort_unstable();
    fitting
}

async fn one(args: Name) -> Result<&'static str, ErrorObject> {
    note(&args.name).ok_or_else(|| ErrorObject::resource_not_found(&format!("notes://one/{}", args.name)))
}

async fn summarize(args: Summarize) -> Vec<PromptMessage> {
    let tone = args.tone.unwrap_or_else(|| "plain".into());
    let text = format!("Summarize in a {tone} tone: {}", note(&args.name).unwrap_or(&args.name));
    vec![
        PromptMessage::new(Role::User, ContentBlock::text(text).to_raw()),
        PromptMessage::new(Role::Assistant, ContentBlock::text("In short:").to_raw()),
    ]
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let all = NOTES.map(|(name, _)| name).join(", ");
    let registry = Registry::builder("notes", "1.0")
        .resource(Resource::new("notes://all", "all").text(all).describe("The names of all notes."))
        .template(
            Template::new("notes://one/{name}", "one")
                .handler(one)
                .describe("One note.")
                .mime_type("text/plain")
                .argument(argument("name").complete(names)),
        )
        .prompt(
            Prompt::new("summarize", "Asks for a summary of a note.")
                .handler(summarize)
                .argument(argument("name").complete(names)),
        )
        .build()?;
    Ok(protomcp_sdk::run(registry.server()).await?)
}
