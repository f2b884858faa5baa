//! Keys of `metadata`, where messages of version 1.0 have no field.

/// Of tools: the full names of the messages.
pub(crate) const INPUT_TYPE: &str = "input_type";
pub(crate) const OUTPUT_TYPE: &str = "output_type";
/// Of tools: the reference, next to an inline schema.
pub(crate) const BSR_REF: &str = "bsr_ref";
/// Of tools: the JSON Schemas, where the messages say less than they do.
pub(crate) const INPUT_SCHEMA: &str = "input_schema";
pub(crate) const OUTPUT_SCHEMA: &str = "output_schema";
/// Of tools: the parts of the JSON Schemas that the messages do not express, as a JSON array.
pub(crate) const SCHEMA_LOSSES: &str = "schema_losses";
/// Of tools: the reason why there is no schema.
pub(crate) const SCHEMA_ERROR: &str = "schema_error";
/// Of tools, resources and their templates: the title.
pub(crate) const TITLE: &str = "title";
/// Of tools: hints of MCP, such as `annotations.readOnlyHint`.
pub(crate) const ANNOTATIONS: &str = "annotations.";
/// Of resources: the size in bytes.
pub(crate) const SIZE: &str = "size";
/// Of prompts and templates of resources: the icons, as JSON.
pub(crate) const ICONS: &str = "icons";
/// Of templates of resources: audience and priority, as JSON.
pub(crate) const RESOURCE_ANNOTATIONS: &str = "annotations";
/// Of calls: the arguments as JSON, where their message does not say everything. They count if they agree with the message.
pub(crate) const ARGUMENTS_JSON: &str = "arguments_json";
/// Of results, prompts and templates of resources: `_meta` of MCP, as JSON.
pub(crate) const META: &str = "_meta";
/// Of results: JSON Pointers of numbers that are not exact, as a JSON array.
pub(crate) const INEXACT: &str = "inexact";
/// Of results: the reason why the structured part is missing.
pub(crate) const UNCONVERTED: &str = "unconverted";

/// In `_meta` of a result: the same, for clients of MCP.
pub(crate) const INEXACT_META: &str = "protomcp/inexact";

/// In `_meta` of a call: the metadata of a client of proto-mcp.
pub(crate) const CLIENT_METADATA: &str = "protomcp/metadata";

/// Metadata with a meaning in MCP as well (MCP 2026-07-28, basic, trace context).
pub(crate) const TRACE: [&str; 3] = ["traceparent", "tracestate", "baggage"];
