//! The result of a call for the client: converted, and checked against the output schema of its tool.

use protomcp_envelope::CallToolResponse;
use protomcp_schema::mismatched_result;
use protomcp_types::{CallToolResult, Kind, RawJson};
use protomcp_wire::{content, tool_result};

use crate::catalog::schema::Schema;
use crate::catalog::tool::{SchemaPolicy, Tool};
use crate::diagnostics::failure::Failure;
use crate::diagnostics::setting::SettingNames;

/// A result, and what it proves about its tool.
#[derive(Debug)]
pub(crate) struct Converted {
    pub(crate) result: CallToolResult,
    /// The tool has sent structured content that matches its output schema for the first time.
    pub(crate) proven: bool,
}

/// Converts the answer of a tool.
pub(crate) fn convert(tool: &Tool, response: CallToolResponse, settings: SettingNames) -> Converted {
    match (tool_result::to_mcp(response), tool.output()) {
        (Ok(result), Some(schema)) if !result.is_error => enforce(tool, schema, result, settings),
        (Ok(result), _) => unproven(result),
        (Err(_), _) => unproven(Failure::InvalidStructured { tool: tool.name().to_string() }.into_result(settings)),
    }
}

fn unproven(result: CallToolResult) -> Converted {
    Converted { result, proven: false }
}

/// For a tool with an output schema: its text becomes the structured content if that is missing and the text matches. A
/// client that relies on the schema never gets a mismatch: such a result becomes an error result with the same content.
fn enforce(tool: &Tool, schema: &Schema, mut result: CallToolResult, settings: SettingNames) -> Converted {
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
        result = mismatched_result(&result, &failure.to_string(), failure.meta(settings));
    }
    unproven(result)
}

#[cfg(test)]
mod tests;
