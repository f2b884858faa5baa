//! A prompt with typed arguments over stdio, and their completion: of an enum by itself, of a text by a function.
//!
//! Try it with `npx @modelcontextprotocol/inspector cargo run -p protomcp-typed --example prompt`: typing `an` as the
//! reader suggests `ann` and `anton`.

use protomcp_transport::stdio;
use protomcp_typed::{JsonSchema, Prompt, Registry, argument};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Review {
    /// The code to review.
    code: String,
    language: Option<Language>,
    /// The reader of the review.
    reader: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Language {
    Rust,
    Python,
}

async fn review(args: Review) -> String {
    let language = args.language.map(|language| format!("{language:?} ")).unwrap_or_default();
    let reader = args.reader.map(|reader| format!(" for {reader}")).unwrap_or_default();
    format!("Please review this {language}code{reader}:\n{}", args.code)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let readers = async |typed: String| {
        let known = ["ann", "anton", "bob"];
        known.into_iter().filter(|name| name.starts_with(&typed)).collect::<Vec<_>>()
    };
    let prompt = Prompt::new("code_review", "Review code")
        .handler(review)
        .title("Code review")
        .argument(argument("reader").complete(readers));
    Registry::builder("reviewer", "1.0").prompt(prompt).build()?.serve(stdio()?).await?;
    Ok(())
}
