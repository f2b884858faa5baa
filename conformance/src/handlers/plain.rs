//! Tools that answer by themselves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use protomcp_server::Context;
use protomcp_typed::{Builder, DefinitionError, JsonSchema, Prompt, Registry, Tool};
use protomcp_types::{ContentBlock, Level, Progress, RawJson, ResourceContents, Tool as Definition, ToolName};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::handlers::content::{PNG, WAV};

pub(crate) fn add(builder: Builder) -> Builder {
    let embedded = |uri: &str, mime_type: &str, text: &str| {
        let contents = ResourceContents::text(uri, text).with_mime_type(mime_type);
        ContentBlock::resource(&contents)
    };
    let text = embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.");
    let mixed = vec![
        ContentBlock::text("Multiple content types test:"),
        ContentBlock::image(PNG, "image/png"),
        embedded("test://mixed-content-resource", "application/json", r#"{"test":"data"}"#),
    ];
    builder
        .tool(
            Tool::new("test_simple_text", "Returns text")
                .handler(async || "This is a simple text response for testing."),
        )
        .tool(
            Tool::new("test_image_content", "Returns a picture")
                .handler(async || ContentBlock::image(PNG, "image/png")),
        )
        .tool(
            Tool::new("test_audio_content", "Returns a sound").handler(async || ContentBlock::audio(WAV, "audio/wav")),
        )
        .tool(
            Tool::new("test_embedded_resource", "Returns a resource").handler(move || std::future::ready(text.clone())),
        )
        .tool(
            Tool::new("test_multiple_content_types", "Returns several kinds of content")
                .handler(move || std::future::ready(mixed.clone())),
        )
        .tool(Tool::new("test_tool_with_logging", "Logs while it works").handler(with_logging))
        .tool(Tool::new("test_logging_tool", "Would log, if the host wanted it").handler(with_logging))
        .tool(
            Tool::new("test_error_handling", "Fails")
                .handler(async || Err::<(), _>("This tool intentionally returns an error for testing")),
        )
        .tool(Tool::new("test_tool_with_progress", "Reports progress").handler(with_progress))
        .tool(Tool::new("test_reconnection", "Closes its stream and answers later").handler(later))
        .tool(
            Tool::new("test_custom_header", "Takes an argument that is a header, too")
                .handler(header)
                .input_schema(header_schema()),
        )
        .tool(Tool::raw(json_schema()).handler(async |arguments: Value| arguments.to_string()))
}

/// Tools that change what they belong to.
pub(crate) fn add_triggers(registry: &Registry) -> Result<(), DefinitionError> {
    // Servers that share their clients have the same names in their lists, whichever of them was changed.
    let tool =
        |times: u32| Tool::new("test_changed_tool", format!("Was changed {times} times")).handler(async || "changed");
    let prompt = |times: u32| {
        Prompt::new("test_changed_prompt", format!("Was changed {times} times")).handler(async || "changed")
    };
    registry.tools().insert(tool(0))?;
    registry.prompts().insert(prompt(0))?;
    let (changes, own) = (Arc::new(AtomicU32::new(0)), registry.clone());
    let tools = Tool::new("test_trigger_tool_change", "Changes the list of tools").handler(move || {
        let outcome = own.tools().insert(tool(changes.fetch_add(1, Ordering::Relaxed) + 1));
        std::future::ready(outcome.map(|_| "changed").map_err(|error| error.to_string()))
    });
    let (changes, own) = (Arc::new(AtomicU32::new(0)), registry.clone());
    let prompts = Tool::new("test_trigger_prompt_change", "Changes the list of prompts").handler(move || {
        let outcome = own.prompts().insert(prompt(changes.fetch_add(1, Ordering::Relaxed) + 1));
        std::future::ready(outcome.map(|_| "changed").map_err(|error| error.to_string()))
    });
    registry.tools().insert(tools)?;
    registry.tools().insert(prompts)?;
    Ok(())
}

async fn with_logging(context: Context) -> &'static str {
    for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        context.log(Level::Info, None, &RawJson::text(text));
        sleep(Duration::from_millis(50)).await;
    }
    "Tool with logging executed successfully"
}

async fn with_progress(context: Context) -> &'static str {
    for done in [0, 50, 100] {
        context.progress(&Progress::new(done).of(100).with_message(format!("Completed step {done} of 100")));
        sleep(Duration::from_millis(50)).await;
    }
    "Tool with progress executed successfully"
}

async fn later(context: Context) -> &'static str {
    context.close_stream();
    sleep(Duration::from_millis(100)).await;
    "Reconnection test completed successfully"
}

#[derive(Deserialize, JsonSchema)]
struct Header {
    value: String,
}

async fn header(header: Header) -> String {
    format!("Got {}", header.value)
}

fn header_schema() -> RawJson {
    let schema = json!({
        "type": "object",
        "properties": {"value": {"type": "string", "description": "Any text", "x-mcp-header": "Value"}},
        "required": ["value"],
    });
    RawJson::of(&schema).expect("a value is JSON")
}

/// Every kind of keyword that must survive.
fn json_schema() -> Definition {
    let schema = json!({
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
    });
    let mut definition = Definition::new(ToolName::new("json_schema_2020_12_tool").expect("it is not empty"));
    definition.description = Some("Has a schema with keywords of JSON Schema 2020-12".to_owned());
    definition.input_schema = RawJson::of(&schema).expect("a value is JSON");
    definition
}
