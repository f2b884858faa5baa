//! Arguments are checked before the handler runs, results before they are sent.

use protomcp_typed::{DefinitionError, Json, JsonSchema, Registry, Tool, UnknownKeys, Verbatim, property};
use protomcp_types::{CallToolResult, RawJson, Tool as Definition, ToolName};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::host::with;

#[derive(Deserialize, JsonSchema)]
struct Order {
    /// The ordered article.
    article: String,
    #[serde(default)]
    amount: u8,
    colour: Option<Colour>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Red,
    Green,
}

async fn order(order: Order) -> String {
    format!("{} {} {:?}", order.amount, order.article, order.colour)
}

#[test]
fn mismatched_arguments_are_explained_and_not_passed_on() {
    let registry = Registry::builder("shop", "1")
        .tool(Tool::new("order", "Order").handler(order))
        .tool(Tool::new("lenient", "Order").handler(order).unknown_keys(UnknownKeys::Ignore))
        .build()
        .unwrap();
    with(&registry, async |mut host| {
        assert_eq!(host.text("order", json!({"article": "hat"})).await, "0 hat None");
        assert_eq!(
            host.text("order", json!({"article": "hat", "amount": 2, "colour": "red"})).await,
            "2 hat Some(Red)"
        );
        assert_eq!(host.text("order", json!({"article": "hat", "colour": null})).await, "0 hat None");
        assert_eq!(host.text("lenient", json!({"article": "hat", "amuont": 5})).await, "0 hat None");
        for (arguments, why) in [
            (json!({}), "- \"article\" is missing (string: The ordered article.)"),
            (json!({"article": 5}), "- at /article: expected string, got 5"),
            (json!({"article": "hat", "amuont": 5}), "- unknown argument \"amuont\"; did you mean \"amount\"?"),
            (json!({"article": "hat", "colour": "gren"}), "\"gren\""),
            (json!({"article": "hat", "amount": 256}), "256"),
            (json!({"article": "hat", "amount": -1}), "-1"),
            (json!({"article": "hat", "amount": 1.5}), "- at /amount: expected integer, got 1.5"),
        ] {
            let result = host.call("order", arguments).await;
            assert_eq!(result["isError"], true, "{result}");
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(text.starts_with("invalid arguments for tool \"order\":\n") && text.contains(why), "{text}");
            assert_eq!(result["_meta"]["protomcp/error"]["error_code"], "INVALID_ARGUMENTS");
        }
    });
}

/// Some hosts send numbers, arrays and objects as the text of their JSON now and then.
#[test]
fn arguments_that_arrive_as_json_text_are_decoded() {
    let registry = Registry::builder("shop", "1").tool(Tool::new("order", "Order").handler(order)).build().unwrap();
    with(&registry, async |mut host| {
        assert_eq!(host.text("order", json!({"article": "7", "amount": "2", "colour": "null"})).await, "2 7 None");
        let result = host.call("order", json!({"article": "hat", "amount": "two"})).await;
        assert_eq!(result["isError"], true, "{result}");
    });
}

#[test]
fn an_unknown_tool_fails_the_request_and_names_the_nearest() {
    let registry = Registry::builder("shop", "1").tool(Tool::new("order", "Order").handler(order)).build().unwrap();
    with(&registry, async |mut host| {
        let error = host.ask("tools/call", json!({"name": "ordre"})).await.unwrap_err();
        assert_eq!(error["code"], -32602);
        assert_eq!(error["message"], "unknown tool \"ordre\"; did you mean \"order\"?");
    });
}

#[test]
fn options_change_the_schema_and_are_enforced() {
    let registry = Registry::builder("shop", "1")
        .tool(
            Tool::new("order", "Order")
                .handler(order)
                .input(property("amount").describe("how many").set("minimum", 1).set("maximum", 9).required(true))
                .input(property("article").one_of(["hat", "coat"])),
        )
        .build()
        .unwrap();
    with(&registry, async |mut host| {
        let schema = host.definition("order").await["inputSchema"].clone();
        assert_eq!(schema["properties"]["amount"]["description"], "how many");
        assert_eq!(schema["required"], json!(["article", "amount"]));
        assert_eq!(host.text("order", json!({"article": "hat", "amount": 9})).await, "9 hat None");
        for arguments in [
            json!({"article": "hat"}),
            json!({"article": "hat", "amount": 10}),
            json!({"article": "sock", "amount": 1}),
        ] {
            assert_eq!(host.call("order", arguments).await["isError"], true);
        }
    });
}

#[test]
fn a_raw_schema_is_advertised_unchanged_and_enforced() {
    let text = r##"{ "type":"object","$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"b":{"$ref":"#/$defs/b"},"a":{"type":"number","minimum":1.50}},"$defs":{"b":{"$anchor":"bee","type":"string"}},"if":{"required":["a"]},"then":{"required":["b"]}}"##;
    let mut definition = Definition::new(ToolName::new("raw").unwrap());
    definition.input_schema = RawJson::parse(text).unwrap();
    let typed = Tool::new("typed", "d")
        .handler(async |args: Value| args.to_string())
        .input_schema(RawJson::parse(text).unwrap());
    let registry = Registry::builder("raw", "1")
        .tool(Tool::raw(definition).handler(async |args: Verbatim| args.0.as_str().to_owned()))
        .tool(typed)
        .build()
        .unwrap();
    with(&registry, async |mut host| {
        for tool in ["raw", "typed"] {
            assert_eq!(host.definition(tool).await["inputSchema"], serde_json::from_str::<Value>(text).unwrap());
            assert_eq!(host.text(tool, json!({"b": "x"})).await, r#"{"b":"x"}"#);
            assert!(host.text(tool, json!({"a": 2})).await.contains("\"b\" is missing"));
        }
    });
}

#[derive(Serialize, JsonSchema)]
struct Total {
    total: i64,
}

#[test]
fn a_result_that_breaks_its_schema_is_an_error_with_content() {
    let broken = CallToolResult::text("42").with_structured(RawJson::parse(r#"{"total":"42"}"#).unwrap());
    let schema =
        RawJson::parse(r#"{"type":"object","properties":{"total":{"type":"integer"}},"required":["total"]}"#).unwrap();
    let registry = Registry::builder("sum", "1")
        .tool(
            Tool::new("broken", "d").handler(move || std::future::ready(broken.clone())).output_schema(schema.clone()),
        )
        .tool(Tool::new("silent", "d").handler(async || "42").output_schema(schema.clone()))
        .tool(Tool::new("failed", "d").handler(async || CallToolResult::error("no")).output_schema(schema))
        .tool(
            Tool::new("narrow", "d")
                .handler(async || Json(Total { total: -1 }))
                .output(property("total").set("minimum", 0)),
        )
        .build()
        .unwrap();
    with(&registry, async |mut host| {
        for (tool, why) in [
            ("broken", "- at /total: expected integer, got \"42\""),
            ("silent", "- expected object, got null"),
            ("narrow", "-1 is less than the minimum of 0"),
        ] {
            let result = host.call(tool, json!({})).await;
            assert_eq!(result["isError"], true, "{result}");
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(text.contains("does not fit its own output schema") && text.contains(why), "{text}");
            assert!(result.get("structuredContent").is_none());
            assert_eq!(result["content"].as_array().unwrap().len(), 2, "what the tool said is still there");
        }
        assert_eq!(host.call("failed", json!({})).await["content"][0]["text"], "no", "failures promise nothing");
    });
}

#[test]
fn a_wrong_definition_is_found_when_it_is_added() {
    let fails = |tool: Tool| Registry::builder("t", "1").tool(tool).build().unwrap_err().to_string();
    let tool = || Tool::new("order", "Order").handler(order);
    assert_eq!(fails(Tool::new("", "d").handler(order)), "a definition needs a name");
    assert_eq!(
        fails(Tool::new("t", "d").handler(async |_: String| ())),
        "the arguments of \"t\" must be a JSON object"
    );
    assert_eq!(
        fails(tool().input(property("amuont").describe(""))),
        "\"order\": the schema has at / no property \"amuont\"; did you mean \"amount\"?"
    );
    assert!(
        fails(tool().input(property("amount").set("type", "nonsense"))).contains("the input schema does not compile")
    );
    assert!(
        fails(tool().output_schema(RawJson::parse(r#"{"$ref":"http://127.0.0.1:1/"}"#).unwrap())).contains("output")
    );
    let twice = Registry::builder("t", "1").tool(tool()).tool(tool()).build().unwrap_err();
    assert_eq!(twice, DefinitionError::Twice("order".into()));
}
