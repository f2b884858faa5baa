//! A tool's answer becomes a `tools/call` result.

use protomcp_proto::{CallToolResponse, ToolError};
use protomcp_types::{CallToolResult, JsonBuf, Kind, RawJson};

use crate::catalog::tool::{SchemaPolicy, Tool};
use crate::convert::{content, error_meta};
use crate::diagnostics::failure::Failure;

/// A result, and what it says about its tool.
#[derive(Debug)]
pub(crate) struct Converted {
    pub(crate) result: CallToolResult,
    /// The tool has kept what its output schema promises, for the first time as far as hosts know.
    pub(crate) proven: bool,
}

/// The result that the host gets. Mutations of the tool list are not its business.
pub(crate) fn from_wire(tool: &Tool, response: CallToolResponse) -> Converted {
    let name = tool.name().as_str();
    let structured = match structured(name, &response) {
        Ok(structured) => structured,
        // What the tool says of its own failure is worth more than ours.
        Err(_) if response.is_error => None,
        Err(failure) => return plain(failure.into_result()),
    };
    let mut result = CallToolResult::new(content::from_wire(&response.result_json));
    result.is_error = response.is_error;
    result.structured_content = structured;
    result.meta = RawJson::parse(response.metadata_json).ok().filter(|meta| meta.kind() == Kind::Object);
    if let Some(error) = response.error.filter(|_| response.is_error) {
        show_error(&mut result, &error);
    }
    match tool.output() {
        Some(schema) if !result.is_error => keep_promise(tool, schema, result),
        _ => plain(result),
    }
}

fn plain(result: CallToolResult) -> Converted {
    Converted { result, proven: false }
}

/// Structured content, verbatim; it must be an object.
fn structured(tool: &str, response: &CallToolResponse) -> Result<Option<RawJson>, Failure> {
    if response.structured_content_json.is_empty() {
        return Ok(None);
    }
    RawJson::parse(response.structured_content_json.clone())
        .ok()
        .filter(|value| value.kind() == Kind::Object)
        .map(Some)
        .ok_or_else(|| Failure::InvalidStructured { tool: tool.into() })
}

/// A tool with an output schema: its text becomes the structured content where that is missing and the text fits. A
/// promise that hosts rely on is never broken: a result that does not keep it is an error result with the same content.
fn keep_promise(tool: &Tool, schema: &crate::catalog::schema::Schema, mut result: CallToolResult) -> Converted {
    let sent = result.structured_content.is_some();
    if !sent {
        let text = content::only_text(&result.content);
        let value = text.and_then(|text| RawJson::parse(text).ok()).filter(|value| value.kind() == Kind::Object);
        result.structured_content = value.filter(|value| schema.fits(value));
    }
    let checked = tool.policy() == SchemaPolicy::Proven;
    let fits = match &result.structured_content {
        Some(value) => !sent || !checked || schema.fits(value),
        None => false,
    };
    if fits {
        return Converted { result, proven: sent && checked && !tool.promises() };
    }
    if tool.promises() {
        let failure = Failure::BrokenPromise { tool: tool.name().to_string() };
        result.content = content::with_text(&result.content, &failure.to_string());
        result.meta = Some(failure.meta());
        result.is_error = true;
    }
    plain(result)
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
    let meta = error_meta(error);
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

#[cfg(test)]
mod tests;
