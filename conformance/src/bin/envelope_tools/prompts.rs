//! Prompts, and the completion of their arguments.

use protomcp_proto::{
    CompletionResponse, GetPromptResponse, PromptArgument, PromptDefinition, PromptListResponse, PromptMessage,
};
use serde_json::{Value, json};

use crate::content::{image, resource};

/// All prompts; their descriptions contain the number of changes so far.
pub(crate) fn all(changes: u32) -> PromptListResponse {
    let prompts = [
        ("test_simple_prompt", &[][..]),
        ("test_prompt_with_arguments", &["arg1", "arg2"]),
        ("test_prompt_with_embedded_resource", &["resourceUri"]),
        ("test_prompt_with_image", &[]),
    ];
    let argument = |name: &&str| PromptArgument { name: (*name).into(), required: true, ..PromptArgument::default() };
    let define = |(name, arguments): (&str, &[&str])| PromptDefinition {
        name: name.into(),
        description: format!("The prompt {name}, after {changes} changes"),
        arguments: arguments.iter().map(argument).collect(),
        ..PromptDefinition::default()
    };
    PromptListResponse { prompts: prompts.map(define).into() }
}

pub(crate) fn get(name: &str, arguments: &Value) -> GetPromptResponse {
    let given = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
    let text = |text: String| json!({"type": "text", "text": text});
    let look = || text("Please look at it.".into());
    let contents = match name {
        "test_prompt_with_image" => vec![image(), look()],
        "test_prompt_with_embedded_resource" => {
            vec![resource(&given("resourceUri"), "text/plain", "embedded"), look()]
        }
        "test_prompt_with_arguments" => vec![text(format!("arg1 is {}, arg2 is {}", given("arg1"), given("arg2")))],
        _ => vec![text("This is a simple prompt for testing.".into())],
    };
    let message =
        |content: Value| PromptMessage { role: "user".into(), content_json: content.to_string().into_bytes().into() };
    GetPromptResponse { messages: contents.into_iter().map(message).collect(), ..GetPromptResponse::default() }
}

pub(crate) fn complete(typed: &str) -> CompletionResponse {
    let all = ["testing", "tested", "paris", "park", "party"];
    let values = all.into_iter().filter(|word| word.starts_with(typed)).map(str::to_owned).collect();
    CompletionResponse { values, ..CompletionResponse::default() }
}
