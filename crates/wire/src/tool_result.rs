//! The answer of a tool as a `tools/call` result.

use std::fmt;

use protomcp_envelope::{CallToolResponse, ToolError};
use protomcp_types::{CallToolResult, JsonBuf, Kind, RawJson};

use crate::{content, metadata, tool_error};

/// The structured content is not a JSON object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidStructured;

impl fmt::Display for InvalidStructured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("invalid structured content: expected JSON object")
    }
}

impl std::error::Error for InvalidStructured {}

/// The result for the client, without the changes of the tool list, which are for the bridge.
///
/// # Errors
/// When the tool has succeeded with structured content that is not a JSON object. In the answer of a tool that has failed
/// it is left out: the error of the tool has the reason.
pub fn to_mcp(response: CallToolResponse) -> Result<CallToolResult, InvalidStructured> {
    let structured = match structured(&response) {
        Ok(structured) => structured,
        Err(_) if response.is_error => None,
        Err(invalid) => return Err(invalid),
    };
    let mut result = CallToolResult::new(content::to_mcp(&response.result_json));
    result.is_error = response.is_error;
    result.structured_content = structured;
    result.meta = metadata::to_mcp(response.metadata_json);
    if let Some(error) = response.error.filter(|_| response.is_error) {
        show_error(&mut result, &error);
    }
    Ok(result)
}

/// Structured content, to the byte.
fn structured(response: &CallToolResponse) -> Result<Option<RawJson>, InvalidStructured> {
    if response.structured_content_json.is_empty() {
        return Ok(None);
    }
    let value = RawJson::parse_lossy(response.structured_content_json.clone()).ok();
    value.filter(|value| value.kind() == Kind::Object).map(Some).ok_or(InvalidStructured)
}

/// The tool's own error, readable for the model and for programs.
fn show_error(result: &mut CallToolResult, error: &ToolError) {
    let said = error.message.is_empty() || content::mentions(&result.content, &error.message);
    let advised = error.suggestion.is_empty() || content::mentions(&result.content, &error.suggestion);
    let missing = match (said, advised) {
        (true, true) => None,
        (false, true) => Some(error.message.clone()),
        (true, false) => Some(format!("Suggestion: {}", error.suggestion)),
        (false, false) => Some(format!("{}\nSuggestion: {}", error.message, error.suggestion)),
    };
    if let Some(text) = missing {
        result.content = content::with_text(&result.content, &text);
    }
    let meta = tool_error::to_meta(error);
    result.meta = Some(match result.meta.take() {
        Some(own) => merge(&own, &meta),
        None => meta,
    });
}

/// `own` with the members of `added`; what both have is taken from `added`.
fn merge(own: &RawJson, added: &RawJson) -> RawJson {
    type Object = std::collections::BTreeMap<String, RawJson>;
    let (mut members, added): (Object, Object) = (own.to().unwrap_or_default(), added.to().unwrap_or_default());
    members.extend(added);
    members.iter().fold(JsonBuf::object(), |object, (name, value)| object.raw(name, value)).finish().into_raw()
}
