//! Access for the fuzzer to private parts; compiled for the fuzzer only.

use protomcp_envelope::{CallToolResponse, ToolDefinition};
use protomcp_types::CallToolResult;

use crate::call::result;
use crate::catalog::tool::{SchemaPolicy, Tool};
use crate::diagnostics::setting::Setting;

/// The result for a client of this answer of a tool with this definition; `None` if the definition is invalid.
pub fn result_of(
    definition: ToolDefinition,
    policy: SchemaPolicy,
    response: CallToolResponse,
) -> Option<CallToolResult> {
    let (tools, _) = Tool::all(&[definition], policy, |_| None);
    let (_, tool) = tools.first()?;
    Some(result::convert(tool, response, Setting::name).result)
}
