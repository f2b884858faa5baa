//! The list of tools, and the tools that answer by themselves.

use std::thread::sleep;
use std::time::Duration;

use protomcp_conformance::tool;
use protomcp_envelope::{
    CallToolRequest, LogMessage, ProgressNotification, PromptListChanged, ToolDefinition, ToolListResponse,
};
use serde_json::{Value, json};

use crate::asking;
use crate::content::{WAV, image, resource, said};
use crate::link::Link;
use crate::tasks;

/// Tools that need only the published link.
const PUBLISHED: [&str; 12] = [
    "greet",
    "test_audio_content",
    "test_embedded_resource",
    "test_error_handling",
    "test_image_content",
    "test_logging_tool",
    "test_multiple_content_types",
    "test_reconnection",
    "test_simple_text",
    "test_tool_with_logging",
    "test_tool_with_progress",
    "test_trigger_tool_change",
];

/// A tool that needs an extension.
const EXTENDED: [&str; 1] = ["test_trigger_prompt_change"];

/// All tools; one description contains the number of changes so far.
pub(crate) fn all(link: &Link) -> Vec<ToolDefinition> {
    let mut names = [&PUBLISHED[..], &asking::PUBLISHED].concat();
    if link.is_extended() {
        names.extend([&EXTENDED[..], &asking::EXTENDED].concat());
    }
    let mut tools: Vec<_> = names.into_iter().map(tool).chain(tasks::all(link)).collect();
    for (name, schema) in [("test_custom_header", header_schema()), ("json_schema_2020_12_tool", json_schema())] {
        tools.push(ToolDefinition { input_schema_json: schema.to_string().into_bytes().into(), ..tool(name) });
    }
    if let Some(trigger) = tools.iter_mut().find(|tool| tool.name == "test_trigger_tool_change") {
        trigger.description = format!("Changes the tools; did so {} times.", link.changes());
    }
    tools
}

/// Runs one tool; the result is an array of content blocks.
pub(crate) fn call(link: &Link, id: &str, call: &CallToolRequest) -> Result<Value, String> {
    match call.name.as_str() {
        "test_simple_text" => Ok(said("This is a simple text response for testing.")),
        "greet" => {
            let arguments: Value = serde_json::from_slice(&call.arguments_json).unwrap_or_default();
            Ok(said(&format!("Hello, {}!", arguments["name"].as_str().unwrap_or_default())))
        }
        "test_error_handling" => Err("This tool intentionally returns an error for testing".into()),
        "test_audio_content" => Ok(json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}])),
        "test_image_content" => Ok(json!([image()])),
        "test_embedded_resource" => Ok(json!([resource("test://embedded-resource", "text/plain", "embedded")])),
        "test_multiple_content_types" => Ok(json!([
            {"type": "text", "text": "Multiple content types test:"},
            image(),
            resource("test://mixed-content-resource", "application/json", r#"{"test":"data"}"#),
        ])),
        "test_tool_with_logging" | "test_logging_tool" => Ok(log_a_while(link, id)),
        "test_tool_with_progress" => Ok(report(link, &call.progress_token)),
        "test_reconnection" => {
            sleep(Duration::from_millis(100));
            Ok(said("Reconnection test completed successfully"))
        }
        "test_trigger_tool_change" => {
            // An unsolicited list: the tools have changed.
            link.change();
            link.send("", "", ToolListResponse { tools: all(link) });
            Ok(said("told"))
        }
        "test_trigger_prompt_change" => {
            link.change();
            link.send("", "", PromptListChanged {});
            Ok(said("told"))
        }
        "test_custom_header" | "json_schema_2020_12_tool" => Ok(said(&String::from_utf8_lossy(&call.arguments_json))),
        asks => asking::call(link, id, asks),
    }
}

fn log_a_while(link: &Link, call: &str) -> Value {
    for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        let data_json = json!(text).to_string().into_bytes().into();
        link.send("", call, LogMessage { level: "info".into(), data_json, ..LogMessage::default() });
        sleep(Duration::from_millis(50));
    }
    said("Tool with logging executed successfully")
}

fn report(link: &Link, token: &str) -> Value {
    for progress in [0, 50, 100] {
        let message = format!("Completed step {progress} of 100");
        link.send("", "", ProgressNotification { progress_token: token.into(), progress, total: 100, message });
        sleep(Duration::from_millis(50));
    }
    said("Tool with progress executed successfully")
}

fn header_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"value": {"type": "string", "description": "Any text", "x-mcp-header": "Value"}},
        "required": ["value"],
    })
}

/// Every kind of keyword that must be preserved.
fn json_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}
