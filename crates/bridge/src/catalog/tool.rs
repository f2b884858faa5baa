//! A tool as clients see it, made from the registration of the tool process.
//!
//! Definitions come from code of others, so each is used as far as possible: a broken schema is replaced by one that
//! allows anything, and the author is warned; a registration can never end the bridge.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use protomcp_envelope::ToolDefinition;
use protomcp_types::{JsonBuf, Kind, RawJson, TaskSupport, ToolName, replace_lone_surrogates};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::catalog::arguments::Input;
use crate::catalog::faults::{Faults, clipped};
use crate::catalog::schema::Schema;

/// Decides when a tool's output schema is advertised. Strict clients reject results without the structured content that
/// a schema requires, and published SDKs advertise schemas without sending it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SchemaPolicy {
    /// With the definition of the tool.
    Always,
    /// After the first matching structured result of the tool.
    #[default]
    Proven,
    /// Never.
    Never,
}

/// One registered tool.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    name: ToolName,
    output: Option<Arc<Schema>>,
    /// Clients see the output schema.
    promises: bool,
    policy: SchemaPolicy,
    parts: Arc<Parts>,
    json: RawJson,
}

/// The parts of a definition, checked.
#[derive(Debug, PartialEq)]
struct Parts {
    title: String,
    description: String,
    input: Input,
    hints: Option<RawJson>,
    icons: Option<RawJson>,
    meta: Option<RawJson>,
    tasks: TaskSupport,
}

impl Tool {
    /// Builds the whole list. `before` finds the earlier tool of a name, so that its proof is kept.
    pub(crate) fn all<'a>(
        definitions: &[ToolDefinition],
        policy: SchemaPolicy,
        before: impl Fn(&ToolName) -> Option<&'a Self>,
    ) -> (Vec<(ToolName, Arc<Self>)>, Vec<String>) {
        let mut faults = Faults::default();
        let mut seen = HashSet::new();
        let mut tools = Vec::with_capacity(definitions.len());
        for definition in definitions {
            let mut fault = |what: Fault| faults.add(what.others(), || what.line(&definition.name));
            let Ok(name) = ToolName::new(definition.name.as_str()) else {
                fault(Fault::EmptyName);
                continue;
            };
            if !seen.insert(name.clone()) {
                fault(Fault::Duplicate);
            } else if !name.is_conventional() {
                fault(Fault::UnusualName);
            }
            let tool = Self::new(name.clone(), definition, policy, before(&name), &mut fault);
            tools.push((name, Arc::new(tool)));
        }
        (tools, faults.into_lines())
    }

    fn new(
        name: ToolName,
        wire: &ToolDefinition,
        policy: SchemaPolicy,
        before: Option<&Self>,
        fault: &mut impl FnMut(Fault),
    ) -> Self {
        let input = input_schema(&wire.input_schema_json).map_or_else(
            |why| {
                fault(Fault::InputSchema(why));
                Input::replacement(any_object())
            },
            Input::new,
        );
        let output = if wire.output_schema_json.is_empty() {
            None
        } else {
            match object_schema(&wire.output_schema_json) {
                Ok(schema) => Some(Arc::new(Schema::new(schema))),
                Err(why) => {
                    fault(Fault::OutputSchema(why));
                    None
                }
            }
        };
        let promises = output.is_some()
            && match policy {
                SchemaPolicy::Always => true,
                SchemaPolicy::Proven => before.is_some_and(|before| before.promises && before.output == output),
                SchemaPolicy::Never => false,
            };
        let icons = RawJson::parse_lossy(wire.icons_json.clone()).ok();
        let parts = Parts {
            title: wire.title.clone(),
            description: wire.description.clone(),
            input: input.checked_by_process(wire.checks_arguments),
            hints: hints(wire),
            icons,
            meta: object(&wire.metadata_json),
            tasks: task_support(wire),
        };
        let json = parts.to_json(&name, promises.then_some(output.as_deref()).flatten());
        Self { name, output, promises, policy, parts: Arc::new(parts), json }
    }

    pub(crate) fn name(&self) -> &ToolName {
        &self.name
    }

    /// The definition as an element of `tools/list`.
    pub(crate) fn json(&self) -> &RawJson {
        &self.json
    }

    /// The output schema, advertised or not.
    pub(crate) fn output(&self) -> Option<&Schema> {
        self.output.as_deref()
    }

    /// The schema of its arguments.
    pub(crate) fn input(&self) -> &Input {
        &self.parts.input
    }

    /// Its support of tasks: forbidden, optional or required.
    pub(crate) fn task_support(&self) -> TaskSupport {
        self.parts.tasks
    }

    /// When the output schema is shown.
    pub(crate) fn policy(&self) -> SchemaPolicy {
        self.policy
    }

    /// True if clients rely on structured results.
    pub(crate) fn promises(&self) -> bool {
        self.promises
    }

    /// The same tool with its output schema advertised, unless it already is or must not be.
    pub(crate) fn proven(&self) -> Option<Self> {
        let output = self.output.as_ref().filter(|_| !self.promises && self.policy == SchemaPolicy::Proven)?;
        let json = self.parts.to_json(&self.name, Some(output));
        Some(Self { promises: true, json, ..self.clone() })
    }
}

/// Equal for clients.
impl PartialEq for Tool {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json
    }
}

impl Parts {
    fn to_json(&self, name: &ToolName, output: Option<&Schema>) -> RawJson {
        let some = |text: &'_ str| (!text.is_empty()).then(|| text.to_owned());
        JsonBuf::object()
            .text("name", name.as_str())
            .text_if("title", some(&self.title).as_deref())
            .text_if("description", some(&self.description).as_deref())
            .raw("inputSchema", self.input.text())
            .raw_if("outputSchema", output.map(Schema::text))
            .raw_if("annotations", self.hints.as_ref())
            .raw_if("icons", self.icons.as_ref())
            .raw_if("execution", execution(self.tasks).as_ref())
            .raw_if("_meta", self.meta.as_ref())
            .finish()
            .into_raw()
    }
}

/// A fault of a definition, and its remedy.
enum Fault {
    EmptyName,
    UnusualName,
    Duplicate,
    InputSchema(String),
    OutputSchema(String),
}

impl Fault {
    /// The line in the log about one tool.
    fn line(&self, tool: &str) -> String {
        let tool = clipped(tool);
        match self {
            Self::EmptyName => "a tool without a name was left out".into(),
            Self::UnusualName => format!(
                "tool \"{tool}\": some hosts accept only letters, digits, '_', '-' and '.' in names, 128 at most"
            ),
            Self::Duplicate => format!("tool \"{tool}\" is registered twice; the last definition counts"),
            Self::InputSchema(why) => {
                format!("tool \"{tool}\": its input schema is replaced by one that allows anything, because {why}")
            }
            Self::OutputSchema(why) => format!("tool \"{tool}\": its output schema is left out, because {why}"),
        }
    }

    /// The words for several tools with the same fault.
    fn others(&self) -> &'static str {
        match self {
            Self::EmptyName => "tools without a name",
            Self::UnusualName => "tools with names that some hosts do not accept",
            Self::Duplicate => "definitions of tools that are registered already",
            Self::InputSchema(_) => "tools whose input schemas are replaced",
            Self::OutputSchema(_) => "tools whose output schemas are left out",
        }
    }
}

/// The only member of a schema that MCP prescribes.
#[derive(Deserialize)]
struct Typed<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
}

/// An input schema in the form of MCP: an object schema; an empty text means a tool without parameters.
fn input_schema(text: &Bytes) -> Result<RawJson, String> {
    if text.is_empty() { Ok(any_object()) } else { object_schema(text) }
}

fn object_schema(text: &Bytes) -> Result<RawJson, String> {
    let text = &replace_lone_surrogates(text.clone());
    let (raw, typed) =
        RawJson::parse_as::<Typed<'_>>(text).map_err(|error| format!("it is not a JSON object: {error}"))?;
    match typed.kind.map(RawValue::get) {
        Some(r#""object""#) if raw.as_bytes().starts_with(b"{") => Ok(raw),
        // A union at the top level has no type; MCP requires one, and arguments are always an object.
        None if raw.as_bytes().starts_with(b"{") => Ok(with_type(&raw)),
        _ => Err("its type is not \"object\"".into()),
    }
}

fn with_type(schema: &RawJson) -> RawJson {
    let members = schema.as_str()[1..].trim_start();
    let comma = if members.starts_with('}') { "" } else { "," };
    RawJson::parse(format!(r#"{{"type":"object"{comma}{members}"#))
        .expect("an object with one more member is an object")
}

/// The original protocol has optional tasks, our extension also required ones.
fn task_support(wire: &ToolDefinition) -> TaskSupport {
    if wire.task_required {
        TaskSupport::Required
    } else if wire.task_support {
        TaskSupport::Optional
    } else {
        TaskSupport::Forbidden
    }
}

/// MCP 2025-11-25, server/tools: tasks are forbidden by default.
fn execution(tasks: TaskSupport) -> Option<RawJson> {
    match tasks {
        TaskSupport::Forbidden => None,
        TaskSupport::Optional | TaskSupport::Required => Some(tasks.put(None)),
    }
}

fn any_object() -> RawJson {
    RawJson::parse(Bytes::from_static(br#"{"type":"object"}"#)).expect("it is JSON")
}

/// The text, if it is a JSON object.
fn object(text: &Bytes) -> Option<RawJson> {
    RawJson::parse_lossy(text.clone()).ok().filter(|json| json.kind() == Kind::Object)
}

/// Only stated hints: SDKs also send `false` for "not stated", and MCP's default for a missing `destructiveHint` is
/// true, so a false hint is omitted. Full annotations come through the envelope extension.
fn hints(wire: &ToolDefinition) -> Option<RawJson> {
    if let Some(all) = object(&wire.annotations_json) {
        return Some(all);
    }
    let stated = [
        ("readOnlyHint", wire.read_only_hint),
        ("destructiveHint", wire.destructive_hint),
        ("idempotentHint", wire.idempotent_hint),
        ("openWorldHint", wire.open_world_hint),
    ];
    let mut object = JsonBuf::object();
    for (name, _) in stated.into_iter().filter(|(_, stated)| *stated) {
        object = object.boolean(name, true);
    }
    stated.iter().any(|(_, stated)| *stated).then(|| object.finish().into_raw())
}

#[cfg(test)]
mod tests;
