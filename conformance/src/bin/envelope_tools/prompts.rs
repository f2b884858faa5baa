//! Prompts, and the completion of their arguments.

use protomcp_envelope::{
    CompletionResponse, GetPromptRequest, GetPromptResponse, PromptArgument, PromptDefinition, PromptListResponse,
    PromptMessage, ToolError,
};
use serde_json::{Value, json};

use crate::asking::{field, user};
use crate::content::{image, resource};
use crate::link::Link;

/// The prompt that asks the user.
const ASKING: &str = "test_input_required_result_prompt";

/// All prompts; their descriptions contain the number of changes so far.
pub(crate) fn all(link: &Link) -> PromptListResponse {
    let changes = link.changes();
    let mut prompts = vec![
        ("test_simple_prompt", &[][..]),
        ("test_prompt_with_arguments", &["arg1", "arg2"]),
        ("test_prompt_with_embedded_resource", &["resourceUri"]),
        ("test_prompt_with_image", &[]),
    ];
    if link.is_extended() {
        prompts.push((ASKING, &[]));
    }
    let argument = |name: &&str| PromptArgument { name: (*name).into(), required: true, ..PromptArgument::default() };
    let define = |(name, arguments): (&str, &[&str])| PromptDefinition {
        name: name.into(),
        description: format!("The prompt {name}, after {changes} changes"),
        arguments: arguments.iter().map(argument).collect(),
        ..PromptDefinition::default()
    };
    PromptListResponse { prompts: prompts.into_iter().map(define).collect() }
}

pub(crate) fn get(link: &Link, id: &str, request: &GetPromptRequest) -> GetPromptResponse {
    let arguments: Value = serde_json::from_slice(&request.arguments_json).unwrap_or_default();
    let given = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
    let text = |text: String| json!({"type": "text", "text": text});
    let look = || text("Please look at it.".into());
    let contents = match request.name.as_str() {
        ASKING => match link.ask(id, vec![("user_context", user(&field("name", "string")))]) {
            Ok(answer) => vec![text(format!("{answer:?}"))],
            Err(message) => {
                let error = Some(ToolError { error_code: "NOT_ASKED".into(), message, ..ToolError::default() });
                return GetPromptResponse { error, ..GetPromptResponse::default() };
            }
        },
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
