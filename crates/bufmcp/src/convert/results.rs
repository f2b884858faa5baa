//! Calls and their results.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protomcp_types::{CallToolResult, ContentBlock, JsonObject, RawJson};
use serde_json::Value;

use crate::any::Any;
use crate::convert::agreement::Agreement;
use crate::fault::Fault;
use crate::message::{CallToolResponse, ToolContent, ToolResult, call_tool_response, tool_content::Content};
use crate::metadata::{CLIENT_METADATA, INEXACT, META, TRACE, UNCONVERTED};
use crate::schemas::{Converted, SchemaError, ToolMessages};
use crate::struct_schemas::convert;
use crate::{code, well_known};

/// `_meta` of a call, from the metadata of the client: trace context under its own names, the rest together.
pub(crate) fn call_meta(metadata: &BTreeMap<String, String>) -> Option<RawJson> {
    let (mut meta, mut rest) = (JsonObject::new(), BTreeMap::new());
    for (key, value) in metadata {
        if TRACE.contains(&key.as_str()) {
            meta.insert(key.clone(), RawJson::text(value));
        } else {
            rest.insert(key, value);
        }
    }
    if !rest.is_empty() {
        meta.insert(CLIENT_METADATA, RawJson::of(&rest).expect("texts are JSON"));
    }
    (!meta.is_empty()).then(|| meta.to_body().into_raw())
}

/// Structured content as a message.
pub(crate) struct Structured {
    pub(crate) converted: Converted<Any>,
    /// True if the message says everything.
    pub(crate) is_exact: bool,
}

impl Structured {
    /// A value as a message of a tool. A message that says something else is none: unless a registry has defined it, the
    /// value is sent as a well-known type then.
    pub(crate) async fn of(json: &RawJson, messages: &dyn ToolMessages) -> Result<Self, SchemaError> {
        let converted = messages.result_to_any(json).await?;
        if converted.value.type_name().starts_with("google.protobuf.") {
            return Ok(Self::well_known(converted));
        }
        let agreement = match messages.result_to_json(&converted.value).await {
            Ok(said) => Agreement::of_any_size(json, &said.value).await,
            Err(_) => Agreement::None,
        };
        if agreement == Agreement::None && messages.names().bsr_ref.is_none() {
            let json = json.clone();
            return convert(json.len(), move || well_known::to_any(&json)).await.map(Self::well_known);
        }
        Ok(Self { converted, is_exact: agreement == Agreement::Exact })
    }

    fn well_known(converted: Converted<Any>) -> Self {
        Self { is_exact: converted.inexact.is_empty(), converted }
    }
}

/// The result of a call: structured content, which is converted already, as data in front of the blocks.
///
/// A text block that only repeats the structured content is left out if its message says everything. If not, the message
/// is followed by a text with the JSON, of the type `application/json`.
///
/// # Errors
/// If the result is not one of MCP.
pub(crate) fn result_to_proto(
    result: &CallToolResult,
    converted: Option<Result<Structured, SchemaError>>,
) -> Result<CallToolResponse, Fault> {
    let mut metadata = BTreeMap::new();
    let mut content = Vec::new();
    let mut structured = None;
    match converted {
        Some(Ok(Structured { converted, is_exact })) => {
            if !converted.inexact.is_empty() {
                metadata.insert(INEXACT.to_owned(), Value::from(converted.inexact).to_string());
            }
            content.push(block(Content::Data(converted.value), JSON));
            structured = result.structured_content.as_ref();
            if let Some(json) = structured.filter(|_| !is_exact) {
                content.push(block(Content::Text(json.as_str().to_owned()), JSON));
            }
        }
        Some(Err(error)) => _ = metadata.insert(UNCONVERTED.to_owned(), error.to_string()),
        None => {}
    }
    let blocks: Vec<RawJson> = result.content.to().map_err(|_| malformed())?;
    let repeated = structured.map(RawJson::to::<Value>).transpose().map_err(|_| malformed())?;
    for raw in blocks {
        match ContentBlock::from_raw(raw) {
            ContentBlock::Text { text, .. } if repeated.as_ref().is_some_and(|value| repeats(&text, value)) => {}
            ContentBlock::Text { text, .. } => content.push(block(Content::Text(text), "")),
            ContentBlock::Image { data, mime_type, .. } => {
                let bytes = STANDARD.decode(&data).map_err(|_| malformed())?;
                content.push(block(Content::Image(bytes.into()), &mime_type));
            }
            other => {
                let data = well_known::to_any(&other.to_raw()).map_err(|_| malformed())?;
                content.push(block(Content::Data(data.value), CONTENT_BLOCK));
            }
        }
    }
    if let Some(meta) = &result.meta {
        metadata.insert(META.to_owned(), meta.as_str().to_owned());
    }
    let success = ToolResult { content, is_error: result.is_error };
    Ok(CallToolResponse { result: Some(call_tool_response::Result::Success(success)), metadata })
}

fn block(content: Content, mime_type: &str) -> ToolContent {
    ToolContent { content: Some(content), mime_type: mime_type.to_owned() }
}

/// True if a text is the JSON of this value.
fn repeats(text: &str, value: &Value) -> bool {
    let may = matches!(text.trim_start().as_bytes().first(), Some(b'{' | b'['));
    may && serde_json::from_str::<Value>(text).is_ok_and(|read| read == *value)
}

fn malformed() -> Fault {
    Fault::new(code::INTERNAL_ERROR, "the tool has returned a malformed result")
}

/// The media type of structured content.
pub(crate) const JSON: &str = "application/json";

/// The media type of a block of MCP that has no counterpart: audio, a link, an embedded resource.
pub(crate) const CONTENT_BLOCK: &str = "application/vnd.mcp.content+json";
