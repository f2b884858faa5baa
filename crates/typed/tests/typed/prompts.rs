//! Prompts from functions, and the completion of their arguments.

use std::collections::BTreeMap;

use protomcp_server::Context;
use protomcp_typed::{CompletionContext, DefinitionError, JsonSchema, Prompt, Registry, argument};
use protomcp_types::{Completion, ContentBlock, ErrorObject, PromptMessage, RawJson, Role};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::host::{Host, with};

#[derive(Deserialize, JsonSchema)]
struct Review {
    /// The code to review.
    code: String,
    strictness: Option<u8>,
    #[serde(default)]
    language: Language,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Language {
    #[default]
    Rust,
    Python,
    Ruby,
}

async fn review(review: Review) -> String {
    format!("{:?} {:?}: {}", review.language, review.strictness, review.code)
}

async fn complete(host: &mut Host, prompt: &str, argument: &str, value: &str) -> Result<Value, Value> {
    let params = json!({"ref": {"type": "ref/prompt", "name": prompt}, "argument": {"name": argument, "value": value}});
    host.ask("completion/complete", params).await.map(|result| result["completion"]["values"].clone())
}

#[test]
fn arguments_are_inferred_described_and_checked() {
    let prompt = Prompt::new("review", "Review code")
        .handler(review)
        .title("Review")
        .meta(RawJson::EMPTY_OBJECT)
        .icons(RawJson::EMPTY_ARRAY)
        .argument(argument("strictness").title("Strictness").describe("from 0 to 9"));
    with(&Registry::builder("t", "1").prompt(prompt).build().unwrap(), async |mut host| {
        let page = host.ask("prompts/list", json!({})).await.unwrap();
        let definition = json!({
            "name": "review", "title": "Review", "description": "Review code", "icons": [], "_meta": {},
            "arguments": [
                {"name": "code", "description": "The code to review.", "required": true},
                {"name": "strictness", "title": "Strictness", "description": "from 0 to 9"},
                {"name": "language"},
            ],
        });
        assert_eq!(page["prompts"], json!([definition]));
        let mut ask =
            async |arguments: Value| host.ask("prompts/get", json!({"name": "review", "arguments": arguments})).await;
        for (arguments, text) in [
            (json!({"code": "x"}), "Rust None: x"),
            (json!({"code": "", "strictness": "7", "language": "python"}), "Python Some(7): "),
        ] {
            let result = ask(arguments).await.unwrap();
            assert_eq!(result["description"], "Review code");
            assert_eq!(result["messages"], json!([{"role": "user", "content": {"type": "text", "text": text}}]));
        }
        for (arguments, why) in [
            (json!({}), "argument \"code\" is missing"),
            (json!({"code": "x", "languag": "rust"}), "unknown argument \"languag\"; did you mean \"language\"?"),
            (
                json!({"code": "x", "language": "rubi"}),
                "argument \"language\" must be one of rust, python, ruby; did you mean \"ruby\"?",
            ),
            (
                json!({"code": "x", "strictness": "high"}),
                "\"strictness\" must be a whole number from 0 to 255, not \"high\"",
            ),
            (json!({"code": 5}), "argument \"code\" must be a string"),
        ] {
            let error = ask(arguments).await.unwrap_err();
            assert_eq!(error, json!({"code": -32602, "message": format!("invalid params: {why}")}));
        }
        let error = host.ask("prompts/get", json!({"name": "reveiw"})).await.unwrap_err();
        assert_eq!(error, json!({"code": -32602, "message": "unknown prompt \"reveiw\"; did you mean \"review\"?"}));
    });
}

#[derive(Deserialize, JsonSchema)]
struct Letter {
    tone: Tone,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Tone {
    Formal,
    #[serde(untagged)]
    Other(String),
}

#[test]
fn an_argument_may_have_a_text_that_its_type_does_not_name() {
    let prompt = Prompt::new("letter", "").handler(async |letter: Letter| match letter.tone {
        Tone::Formal => "a formal letter".to_owned(),
        Tone::Other(tone) => format!("a letter: {tone}"),
    });
    with(&Registry::builder("t", "1").prompt(prompt).build().unwrap(), async |mut host| {
        for (tone, expected) in [("formal", "a formal letter"), ("cheerful", "a letter: cheerful")] {
            let result = host.ask("prompts/get", json!({"name": "letter", "arguments": {"tone": tone}})).await.unwrap();
            assert_eq!(result["messages"][0]["content"]["text"], expected);
        }
    });
}

#[test]
fn every_kind_of_value_becomes_a_prompt() {
    let both = || PromptMessage::new(Role::Assistant, ContentBlock::text("b").to_raw());
    let registry = Registry::builder("t", "1")
        .prompt(Prompt::new("text", "").handler(async || "a"))
        .prompt(Prompt::new("block", "").handler(async || ContentBlock::image("AA==", "image/png")))
        .prompt(Prompt::new("messages", "").handler(move || std::future::ready(vec![both(), both()])))
        .prompt(
            Prompt::new("context", "").handler(async |context: Context| Ok::<_, String>(context.client().name.clone())),
        )
        .prompt(Prompt::new("failed", "").handler(async || Err::<String, _>("no idea")))
        .prompt(Prompt::new("refused", "").handler(async || Err::<String, _>(ErrorObject::new(-1, "no"))))
        .build()
        .unwrap();
    with(&registry, async |mut host| {
        let mut roles = async |name: &str| {
            let result = host.ask("prompts/get", json!({"name": name})).await?;
            let of = |message: &Value| {
                format!("{} {}", message["role"].as_str().unwrap(), message["content"]["type"].as_str().unwrap())
            };
            Ok::<Vec<String>, Value>(result["messages"].as_array().unwrap().iter().map(of).collect())
        };
        assert_eq!(roles("text").await.unwrap(), ["user text"]);
        assert_eq!(roles("block").await.unwrap(), ["user image"]);
        assert_eq!(roles("messages").await.unwrap(), ["assistant text", "assistant text"]);
        assert_eq!(roles("context").await.unwrap(), ["user text"]);
        assert_eq!(roles("failed").await.unwrap_err(), json!({"code": -32603, "message": "no idea"}));
        assert_eq!(roles("refused").await.unwrap_err(), json!({"code": -1, "message": "no"}));
    });
}

#[test]
fn a_map_of_strings_has_the_arguments_that_are_named() {
    let prompt = Prompt::new("free", "")
        .handler(async |all: BTreeMap<String, String>| format!("{all:?}"))
        .argument(argument("a").required(true))
        .argument(argument("b").one_of(["x", "y"]));
    with(&Registry::builder("t", "1").prompt(prompt).build().unwrap(), async |mut host| {
        let page = host.ask("prompts/list", json!({})).await.unwrap();
        assert_eq!(page["prompts"][0]["arguments"], json!([{"name": "a", "required": true}, {"name": "b"}]));
        let get = json!({"name": "free", "arguments": {"a": "1", "b": "x"}});
        let result = host.ask("prompts/get", get).await.unwrap();
        assert_eq!(result["messages"][0]["content"]["text"], r#"{"a": "1", "b": "x"}"#);
        for arguments in [json!({"b": "x"}), json!({"a": "", "b": "z"}), json!({"a": "", "c": ""})] {
            host.ask("prompts/get", json!({"name": "free", "arguments": arguments})).await.unwrap_err();
        }
    });
}

#[test]
fn arguments_are_completed_from_their_type_or_by_a_function() {
    let names = async |typed: String, filled: CompletionContext| {
        let language = filled.arguments.get("language").cloned().unwrap_or_default();
        vec![format!("{typed}.{language}"), filled.context.client().name.clone()]
    };
    let registry = Registry::builder("t", "1")
        .prompt(
            Prompt::new("review", "")
                .handler(review)
                .argument(argument("code").complete(names))
                .argument(argument("strictness").complete(async |_: String| Err::<Completion, _>("out of order"))),
        )
        .prompt(
            Prompt::new("override", "")
                .handler(review)
                .argument(argument("language").complete(async |_: String| vec!["only"])),
        )
        .build()
        .unwrap();
    with(&registry, async |mut host| {
        assert_eq!(complete(&mut host, "review", "language", "r").await.unwrap(), json!(["rust", "ruby"]));
        assert_eq!(complete(&mut host, "review", "language", "PY").await.unwrap(), json!(["python"]));
        assert_eq!(complete(&mut host, "override", "language", "r").await.unwrap(), json!(["only"]));
        let params = json!({
            "ref": {"type": "ref/prompt", "name": "review"},
            "argument": {"name": "code", "value": "x"},
            "context": {"arguments": {"language": "py"}},
        });
        let result = host.ask("completion/complete", params).await.unwrap();
        assert_eq!(result["completion"]["values"], json!(["x.py", "host"]));
        for (prompt, argument, code, message) in [
            ("reviw", "code", -32602, "unknown prompt \"reviw\"; did you mean \"review\"?"),
            ("review", "cod", -32602, "invalid params: unknown argument \"cod\"; did you mean \"code\"?"),
            ("review", "strictness", -32603, "out of order"),
        ] {
            let error = complete(&mut host, prompt, argument, "").await.unwrap_err();
            assert_eq!(error, json!({"code": code, "message": message}));
        }
    });
}

#[test]
fn prompts_are_added_and_removed_and_slips_are_found() {
    let registry = Registry::builder("t", "1").prompt(Prompt::new("a", "").handler(async || "a")).build().unwrap();
    with(&registry, async |mut host| {
        registry.prompts().insert(Prompt::new("b", "").handler(async || "b")).unwrap();
        assert!(registry.prompts().remove("a"));
        assert_eq!(host.peer.next().await["method"], "notifications/prompts/list_changed");
        let page = host.ask("prompts/list", json!({})).await.unwrap();
        assert_eq!(page["prompts"], json!([{"name": "b", "description": ""}]));
    });
    let slip = Prompt::new("r", "").handler(review).argument(argument("cod").describe(""));
    let hint = "; did you mean \"code\"?".to_owned();
    let expected = DefinitionError::NoSuchArgument { owner: "r".into(), argument: "cod".into(), hint };
    assert_eq!(registry.prompts().insert(slip), Err(expected));
    assert_eq!(registry.prompts().insert(Prompt::new("", "").handler(review)), Err(DefinitionError::NoName));
}
