//! Doors for the fuzzer into what is private; only there when it compiles.

use protomcp_proto::{CallToolResponse, ToolDefinition};
use protomcp_types::CallToolResult;

use crate::call::result;
use crate::catalog::tool::{SchemaPolicy, Tool};
use crate::diagnostics::setting::Setting;

/// The result that a host gets for the answer of a tool so defined; `None` when no tool can be defined so.
pub fn result_of(
    definition: ToolDefinition,
    policy: SchemaPolicy,
    response: CallToolResponse,
) -> Option<CallToolResult> {
    let (tools, _) = Tool::all(&[definition], policy, |_| None);
    let (_, tool) = tools.first()?;
    Some(result::convert(tool, response, Setting::name).result)
}
