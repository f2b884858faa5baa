//! The return values of tools, and the results they become.

use protomcp_server::AskError;
use protomcp_typed::{Json, JsonSchema, Registry, Tool, ToolError};
use protomcp_types::{CallToolResult, ContentBlock, ErrorObject, RawJson};
use serde::Serialize;
use serde_json::{Value, json};

use crate::host::with;

#[derive(Serialize, JsonSchema)]
struct Point {
    x: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

/// Contains itself, and is not an object by its schema.
#[derive(Serialize, JsonSchema)]
enum Sum {
    Number(f64),
    Of(Vec<Self>),
}

fn point() -> Point {
    Point { x: 1, label: None }
}

#[test]
fn every_kind_of_value_becomes_a_result() {
    let registry = Registry::builder("t", "1")
        .tool(Tool::new("nothing", "").handler(async || ()))
        .tool(Tool::new("text", "").handler(async || "text"))
        .tool(Tool::new("number", "").handler(async || 5.5))
        .tool(Tool::new("block", "").handler(async || ContentBlock::image("AA==", "image/png")))
        .tool(Tool::new("blocks", "").handler(async || vec![ContentBlock::text("a"), ContentBlock::text("b")]))
        .tool(Tool::new("json", "").handler(async || Json(point())))
        .tool(Tool::new("list", "").handler(async || Json(vec![point()])))
        .tool(Tool::new("perhaps", "").handler(async || Json(Some(point()))))
        .tool(Tool::new("sum", "").handler(async || Json(Sum::Of(vec![Sum::Number(1.5)]))))
        .tool(Tool::new("bare", "").handler(async || Json(point())).without_output_schema())
        .tool(Tool::new("dynamic", "").handler(async || Json(json!([1]))))
        .tool(Tool::new("both", "").handler(async || (vec![ContentBlock::text("a point")], Json(point()))))
        .tool(Tool::new("whole", "").handler(async || CallToolResult::text("w").with_meta(RawJson::EMPTY_OBJECT)))
        .tool(Tool::new("ok", "").handler(async || Ok::<_, std::io::Error>(Json(point()))))
        .build()
        .unwrap();
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    let with_structured = |mut result: Value, structured: Value| {
        result["structuredContent"] = structured;
        result
    };
    with(&registry, async |mut host| {
        for (tool, result) in [
            ("nothing", json!({"content": []})),
            ("text", text("text")),
            ("number", text("5.5")),
            ("block", json!({"content": [{"type": "image", "data": "AA==", "mimeType": "image/png"}]})),
            ("blocks", json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})),
            ("json", with_structured(text(r#"{"x":1}"#), json!({"x": 1}))),
            ("list", with_structured(text(r#"[{"x":1}]"#), json!({"result": [{"x": 1}]}))),
            ("perhaps", with_structured(text(r#"{"x":1}"#), json!({"result": {"x": 1}}))),
            ("sum", with_structured(text(r#"{"Of":[{"Number":1.5}]}"#), json!({"result": {"Of": [{"Number": 1.5}]}}))),
            ("bare", with_structured(text(r#"{"x":1}"#), json!({"x": 1}))),
            ("dynamic", with_structured(text("[1]"), json!({"result": [1]}))),
            ("both", with_structured(text("a point"), json!({"x": 1}))),
            ("whole", json!({"content": [{"type": "text", "text": "w"}], "_meta": {}})),
            ("ok", with_structured(text(r#"{"x":1}"#), json!({"x": 1}))),
        ] {
            assert_eq!(host.call(tool, json!({})).await, result, "{tool}");
        }
        let schema = host.definition("json").await["outputSchema"].clone();
        assert_eq!(schema["required"], json!(["x"]), "a field that may be skipped is not required");
        assert_eq!(host.definition("ok").await["outputSchema"], schema);
        assert_eq!(host.definition("list").await["outputSchema"]["properties"]["result"]["type"], "array");
        for tool in ["text", "dynamic", "whole", "bare"] {
            assert_eq!(host.definition(tool).await.get("outputSchema"), None, "{tool} promises nothing");
        }
    });
}

#[test]
fn a_failure_is_a_result_with_its_details() {
    let rich = || ToolError::new("disk full").with_code("E7").with_suggestion("free space").retryable();
    let registry = Registry::builder("t", "1")
        .tool(Tool::new("display", "").handler(async || Err::<(), _>("plain")))
        .tool(Tool::new("io", "").handler(async || Err::<(), _>(std::io::Error::other("the disk is gone"))))
        .tool(Tool::new("rich", "").handler(move || std::future::ready(Err::<String, _>(rich()))))
        .tool(Tool::new("picture", "").handler(async || {
            Err::<(), _>(ToolError::new("see").with_content(ContentBlock::image("AA==", "image/png")))
        }))
        .tool(Tool::new("request", "").handler(async || Err::<(), _>(ErrorObject::new(-32000, "not now"))))
        .tool(Tool::new("question", "").handler(async || Err::<(), _>(AskError::NotSupported("roots/list"))))
        .tool(Tool::new("panic", "").handler(async || -> String { panic!("no such luck") }))
        .build()
        .unwrap();
    with(&registry, async |mut host| {
        assert_eq!(
            host.call("display", json!({})).await,
            json!({"content": [{"type": "text", "text": "plain"}], "isError": true})
        );
        assert_eq!(host.text("io", json!({})).await, "the disk is gone");
        let result = host.call("rich", json!({})).await;
        assert_eq!(result["content"][0]["text"], "disk full\nSuggestion: free space");
        let error = json!({"error_code": "E7", "message": "disk full", "suggestion": "free space", "retryable": true});
        assert_eq!(result["_meta"], json!({"protomcp/error": error}));
        assert_eq!(host.call("picture", json!({})).await["content"][1]["type"], "image");
        let error = host.ask("tools/call", json!({"name": "request"})).await.unwrap_err();
        assert_eq!(error, json!({"code": -32000, "message": "not now"}));
        let result = host.call("question", json!({})).await;
        assert_eq!(result["content"][0]["text"], "the client does not support roots/list");
        assert_eq!(result["_meta"]["protomcp/error"]["error_code"], "QUESTION_FAILED");
        let result = host.call("panic", json!({})).await;
        assert_eq!(result["isError"], true);
        assert!(result["content"][0]["text"].as_str().unwrap().contains("no such luck"));
        assert_eq!(host.text("io", json!({})).await, "the disk is gone", "the session goes on");
    });
}
