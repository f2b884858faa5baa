//! Prompts and completion.

use protomcp_server::Context;
use protomcp_typed::{Capability, JsonSchema, Prompt, Registry, argument};
use serde::Deserialize;
use serde_json::json;

use crate::host::with;

#[derive(Deserialize, JsonSchema)]
struct CodeReviewArgs {
    code: String,
    language: Option<Language>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Language {
    Rust,
    Python,
}

async fn code_review(context: Context, args: CodeReviewArgs) -> String {
    let language = match args.language {
        Some(Language::Rust) => " Rust",
        Some(Language::Python) => " Python",
        None => "",
    };
    format!("{} asks to review the{language} code {}", context.client().name, args.code)
}

fn prompt() -> Prompt {
    Prompt::new("code_review", "review code")
        .handler(code_review)
        .argument(argument("code").describe("the code to review"))
}

/// `NewPrompt("code_review", "review code", codeReviewHandler, Argument("code", Description("the code to review")))`,
/// `AddPrompts`, `RemovePrompts("code_review")`
#[test]
fn a_prompt_is_inferred_described_added_and_removed() {
    let server = Registry::builder("t", "1").declare(Capability::Prompts).build().unwrap();
    with(&server, async |mut host| {
        server.prompts().insert(prompt()).unwrap();
        assert_eq!(host.peer.next().await["method"], "notifications/prompts/list_changed");
        let page = host.ask("prompts/list", json!({})).await.unwrap();
        assert_eq!(
            page["prompts"][0]["arguments"],
            json!([{"name": "code", "description": "the code to review", "required": true}, {"name": "language"}])
        );
        let get = json!({"name": "code_review", "arguments": {"code": "x", "language": "rust"}});
        let result = host.ask("prompts/get", get).await.unwrap();
        assert_eq!(result["messages"][0]["content"]["text"], "host asks to review the Rust code x");
        assert!(server.prompts().remove("code_review"));
        assert_eq!(host.peer.next().await["method"], "notifications/prompts/list_changed");
    });
}

/// "Servers automatically handle these requests based on their collections of prompts and resources."
#[test]
fn completion_uses_the_collection_unless_a_handler_overrides() {
    let mine = Prompt::new("mine", "d")
        .handler(code_review)
        .argument(argument("language").complete(async |typed: String| vec![format!("{typed}!")]));
    let server = Registry::builder("t", "1").prompt(prompt()).prompt(mine).build().unwrap();
    with(&server, async |mut host| {
        for (prompt, values) in [("code_review", json!(["python"])), ("mine", json!(["p!"]))] {
            let params =
                json!({"ref": {"type": "ref/prompt", "name": prompt}, "argument": {"name": "language", "value": "p"}});
            let result = host.ask("completion/complete", params).await.unwrap();
            assert_eq!(result["completion"]["values"], values);
        }
    });
}
