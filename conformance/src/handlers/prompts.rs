//! Prompts, and what completes their arguments.

use protomcp_typed::{Builder, JsonSchema, Prompt, argument};
use protomcp_types::{ContentBlock, PromptMessage, ResourceContents, Role};
use serde::Deserialize;

use crate::handlers::content::PNG;

pub(crate) fn add(builder: Builder) -> Builder {
    let image = [ContentBlock::image(PNG, "image/png"), ContentBlock::text("Please analyze the image above.")];
    builder
        .prompt(
            Prompt::new("test_simple_prompt", "A prompt without arguments")
                .handler(async || "This is a simple prompt for testing."),
        )
        .prompt(
            Prompt::new("test_prompt_with_arguments", "A prompt with two arguments")
                .handler(async |two: Two| format!("Prompt with arguments: arg1='{}', arg2='{}'", two.arg1, two.arg2))
                .argument(argument("arg1").complete(suggestions)),
        )
        .prompt(Prompt::new("test_prompt_with_embedded_resource", "A prompt with a resource in it").handler(embedded))
        .prompt(
            Prompt::new("test_prompt_with_image", "A prompt with a picture in it")
                .handler(move || std::future::ready(said(&image))),
        )
}

#[derive(Deserialize, JsonSchema)]
struct Two {
    /// First test argument.
    arg1: String,
    /// Second test argument.
    arg2: String,
}

async fn suggestions(typed: String) -> Vec<&'static str> {
    let all = ["testing", "tested", "paris", "park", "party"];
    all.into_iter().filter(|word| word.starts_with(&typed)).collect()
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Embedded {
    /// URI of the resource to embed.
    resource_uri: String,
}

async fn embedded(args: Embedded) -> Vec<PromptMessage> {
    let contents = ResourceContents::text(args.resource_uri, "Embedded resource content for testing.");
    let resource = ContentBlock::resource(&contents.with_mime_type("text/plain"));
    said(&[resource, ContentBlock::text("Please process the embedded resource above.")])
}

/// Blocks as messages of the user.
fn said(blocks: &[ContentBlock]) -> Vec<PromptMessage> {
    blocks.iter().map(|block| PromptMessage::new(Role::User, block.to_raw())).collect()
}
