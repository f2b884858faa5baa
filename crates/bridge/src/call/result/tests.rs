//! Answers of tool processes, and the results made of them.

use std::sync::Arc;

use protomcp_envelope::{ToolDefinition, ToolError};

use super::*;
use crate::diagnostics::setting::Setting;

fn convert(tool: &Tool, response: CallToolResponse) -> Converted {
    super::convert(tool, response, Setting::name)
}

fn tool(policy: SchemaPolicy) -> Arc<Tool> {
    let schema = r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}"#;
    let definition = ToolDefinition { name: "t".into(), output_schema_json: schema.into(), ..Default::default() };
    Tool::all(&[definition], policy, |_| None).0.remove(0).1
}

fn bare() -> Arc<Tool> {
    Tool::all(&[ToolDefinition { name: "t".into(), ..Default::default() }], SchemaPolicy::Proven, |_| None)
        .0
        .remove(0)
        .1
}

fn response(text: &str, structured: &str) -> CallToolResponse {
    let result_json = format!(r#"[{{"type":"text","text":{}}}]"#, serde_json::to_string(text).unwrap());
    CallToolResponse {
        result_json: result_json.into(),
        structured_content_json: structured.to_owned().into(),
        ..Default::default()
    }
}

fn json(converted: &Converted) -> String {
    serde_json::to_string(&converted.result).unwrap()
}

#[test]
fn structured_content_is_verbatim() {
    for structured in [r#"{"big":9007199254740993,"f":1.50}"#, "{}"] {
        let converted = convert(&bare(), response("x", structured));
        assert_eq!(converted.result.structured_content.unwrap().as_str(), structured);
    }
}

#[test]
fn structured_content_must_be_an_object() {
    for structured in ["null", "[]", "\"s\"", "3", "{broken"] {
        let converted = convert(&bare(), response("x", structured));
        assert!(converted.result.is_error);
        assert!(json(&converted).contains(r#"tool \"t\" returned invalid structured content: expected JSON object"#));
    }
}

#[test]
fn a_failure_keeps_the_details_of_the_tool() {
    let error = ToolError { message: "disk full".into(), ..Default::default() };
    let wire = CallToolResponse { is_error: true, error: Some(error), ..response("it failed", "[]") };
    let converted = convert(&bare(), wire);
    assert!(converted.result.is_error && converted.result.structured_content.is_none());
    assert!(json(&converted).contains("disk full") && json(&converted).contains("it failed"));
}

#[test]
fn a_tool_error_is_readable_for_models_and_programs() {
    let error = ToolError {
        error_code: "E7".into(),
        message: "disk full".into(),
        suggestion: "free space".into(),
        retryable: true,
    };
    let wire = CallToolResponse { is_error: true, error: Some(error), ..response("it failed", "") };
    let converted = convert(&bare(), wire.clone());
    assert_eq!(
        json(&converted),
        r#"{"content":[{"type":"text","text":"it failed"},{"type":"text","text":"disk full\nSuggestion: free space"}],"isError":true,"_meta":{"protomcp/error":{"error_code":"E7","message":"disk full","suggestion":"free space","retryable":true}}}"#
    );
    let said = CallToolResponse { result_json: response("disk full, free space", "").result_json, ..wire };
    assert_eq!(
        convert(&bare(), said).result.content,
        content::to_mcp(&response("disk full, free space", "").result_json)
    );
}

#[test]
fn metadata_of_the_tool_is_passed_on() {
    let wire = CallToolResponse { metadata_json: r#"{"a/b":1}"#.into(), ..response("x", "") };
    assert_eq!(convert(&bare(), wire).result.meta.unwrap().as_str(), r#"{"a/b":1}"#);
}

#[test]
fn matching_text_becomes_structured_content_without_proof() {
    let tool = tool(SchemaPolicy::Proven);
    let converted = convert(&tool, response(r#"{"n": 3}"#, ""));
    assert_eq!((converted.result.structured_content.unwrap().as_str(), converted.proven), (r#"{"n": 3}"#, false));
    for text in [r#"{"n":"3"}"#, "3", "plain", "[1]"] {
        let converted = convert(&tool, response(text, ""));
        assert_eq!((converted.result.structured_content, converted.result.is_error), (None, false), "{text}");
    }
}

#[test]
fn a_matching_structured_result_proves_the_tool() {
    let tool = tool(SchemaPolicy::Proven);
    assert!(convert(&tool, response("x", r#"{"n":1}"#)).proven);
    let unfit = convert(&tool, response("x", r#"{"n":"1"}"#));
    assert!(!unfit.proven && !unfit.result.is_error && unfit.result.structured_content.is_some());
    let proven = tool.proven().unwrap();
    assert!(!convert(&proven, response("x", r#"{"n":1}"#)).proven, "only the first time is news");
}

#[test]
fn a_mismatch_with_an_advertised_schema_is_an_error() {
    let proven = tool(SchemaPolicy::Proven).proven().unwrap();
    for structured in ["", r#"{"n":"1"}"#] {
        let converted = convert(&proven, response("the answer", structured));
        assert!(converted.result.is_error);
        assert!(json(&converted).contains("the answer"), "{}", json(&converted));
        assert!(json(&converted).contains("output schema"), "{}", json(&converted));
        assert_eq!(converted.result.structured_content, None, "clients check it although the result is an error");
    }
    let wire = CallToolResponse { is_error: true, ..response("it failed", "") };
    assert_eq!(json(&convert(&proven, wire)), r#"{"content":[{"type":"text","text":"it failed"}],"isError":true}"#);
}

#[test]
fn always_passes_what_the_tool_sends() {
    let tool = tool(SchemaPolicy::Always);
    assert!(!convert(&tool, response("x", r#"{"n":"1"}"#)).result.is_error);
    assert!(convert(&tool, response("x", "")).result.is_error);
}
