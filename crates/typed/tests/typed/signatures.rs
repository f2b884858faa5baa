//! The function signatures that can be tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use protomcp_server::Context;
use protomcp_typed::{JsonSchema, Registry, Tool, Verbatim};
use protomcp_types::Progress;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::host::with;

#[derive(Deserialize, JsonSchema)]
struct Greet {
    name: String,
}

async fn nothing() -> &'static str {
    "nothing"
}

async fn arguments(args: Greet) -> String {
    format!("hello {}", args.name)
}

async fn context(context: Context) -> String {
    context.client().name.clone()
}

async fn both(context: Context, args: Greet) -> String {
    context.progress(&Progress::new(1));
    format!("{} greets {}", context.client().name, args.name)
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table of signatures")]
fn functions_and_closures_of_every_signature_are_tools() {
    let counter = Arc::new(AtomicUsize::new(0));
    let count = {
        let counter = Arc::clone(&counter);
        move || {
            let counter = Arc::clone(&counter);
            async move { counter.fetch_add(1, Ordering::SeqCst) + 1 }
        }
    };
    let registry = Registry::builder("test", "1")
        .tool(Tool::new("nothing", "d").handler(nothing))
        .tool(Tool::new("arguments", "d").handler(arguments))
        .tool(Tool::new("context", "d").handler(context))
        .tool(Tool::new("both", "d").handler(both))
        .tool(Tool::new("closure", "d").handler(async |args: Greet| args.name))
        .tool(Tool::new("closure-context", "d").handler(async |context: Context| context.client().name.clone()))
        .tool(
            Tool::new("closure-both", "d")
                .handler(async |_: Context, args: Greet| -> Result<String, String> { Ok(args.name) }),
        )
        .tool(Tool::new("state", "d").handler(count))
        .tool(
            Tool::new("optional", "d")
                .handler(async |args: Option<Greet>| args.map_or_else(|| "no name".to_owned(), |args| args.name)),
        )
        .tool(Tool::new("any", "d").handler(async |args: Value| args["deep"]["er"].to_string()))
        .tool(Tool::new("verbatim", "d").handler(async |args: Verbatim| args.0.as_str().to_owned()))
        .build()
        .unwrap();
    with(&registry, async |mut host| {
        let you = || json!({"name": "you"});
        for (tool, arguments, text) in [
            ("nothing", json!({}), "nothing"),
            ("arguments", you(), "hello you"),
            ("context", json!({}), "host"),
            ("both", you(), "host greets you"),
            ("closure", you(), "you"),
            ("closure-context", json!({}), "host"),
            ("closure-both", you(), "you"),
            ("state", json!({}), "1"),
            ("state", json!({}), "2"),
            ("optional", you(), "you"),
            ("any", json!({"deep": {"er": [1]}}), "[1]"),
            ("verbatim", json!({"z": 9_007_199_254_740_993_u64}), r#"{"z":9007199254740993}"#),
        ] {
            assert_eq!(host.text(tool, arguments).await, text, "{tool}");
        }
        let without = host.ask("tools/call", json!({"name": "nothing"})).await.unwrap();
        assert_eq!(without["content"][0]["text"], "nothing", "absent arguments are an empty object");
        for (tool, schema) in [
            ("nothing", json!({"type": "object", "properties": {}, "additionalProperties": false})),
            (
                "arguments",
                json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": false}),
            ),
            ("any", json!({"type": "object"})),
            ("verbatim", json!({"type": "object"})),
        ] {
            assert_eq!(host.definition(tool).await["inputSchema"], schema, "{tool}");
        }
    });
    assert_eq!(counter.load(Ordering::SeqCst), 2);
}
