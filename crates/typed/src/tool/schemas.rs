//! The two schemas of a tool: from its types to the advertised and enforced form.

use protomcp_schema::Validator;
use protomcp_types::RawJson;
use serde_json::{Value, json};

use crate::definition::DefinitionError;
use crate::schema::edit::SchemaPatch;
use crate::schema::{close, into_object, is_object, wrap};
use crate::tool::UnknownKeys;

/// The source of the schema of the arguments.
pub(super) enum Input {
    /// From a type; `None`: no arguments.
    Inferred(Option<Value>),
    Given(RawJson),
    /// Made of the schemas of several actions.
    Union(Value),
}

/// The source of the schema of the structured content.
pub(super) enum Output {
    Inferred(Option<Value>),
    Given(RawJson),
    None,
}

/// Both sources, and their changes.
pub(super) struct Schemas {
    pub(super) input: Input,
    pub(super) output: Output,
    pub(super) input_edits: Vec<SchemaPatch>,
    pub(super) output_edits: Vec<SchemaPatch>,
    pub(super) unknown_keys: UnknownKeys,
}

/// An advertised schema, and its compiled form.
pub(super) struct CompiledSchema {
    pub(super) text: RawJson,
    pub(super) validator: Validator,
}

pub(super) struct CompiledSchemas {
    pub(super) input: CompiledSchema,
    pub(super) output: Option<CompiledSchema>,
    /// True if the structured content is wrapped into an object.
    pub(super) wrap: bool,
}

impl Schemas {
    pub(super) fn new(input: Input, output: Output) -> Self {
        let unknown_keys = UnknownKeys::default();
        Self { input, output, input_edits: Vec::new(), output_edits: Vec::new(), unknown_keys }
    }

    pub(super) fn finish(self, owner: &str) -> Result<CompiledSchemas, DefinitionError> {
        let not_an_object = || DefinitionError::NotAnObject { owner: owner.to_owned() };
        let (given, input) = match self.input {
            Input::Given(text) => {
                let schema = parse(&text, owner, "input")?;
                (Some(text), schema)
            }
            Input::Union(schema) => (None, schema),
            Input::Inferred(schema) => {
                let schema = schema.unwrap_or_else(|| json!({"type": "object", "properties": {}}));
                let mut schema = into_object(schema).ok_or_else(not_an_object)?;
                // A type that allows anything accepts unknown arguments.
                if self.unknown_keys == UnknownKeys::Deny && schema != json!({"type": "object"}) {
                    close(&mut schema);
                }
                (None, schema)
            }
        };
        // MCP 2025-11-25, server/tools: arguments are an object.
        if !is_object(&input) {
            return Err(not_an_object());
        }
        let input = compile(given, input, &self.input_edits, owner, "input")?;
        let (output, wrap) = match self.output {
            // A type that allows anything has no schema to advertise.
            Output::None | Output::Inferred(None) => (None, false),
            Output::Inferred(Some(schema)) if schema == json!({}) => (None, false),
            Output::Given(text) => {
                let schema = parse(&text, owner, "output")?;
                (Some(compile(Some(text), schema, &self.output_edits, owner, "output")?), false)
            }
            Output::Inferred(Some(mut schema)) => {
                self.output_edits.iter().try_for_each(|edit| edit.apply(&mut schema, owner))?;
                let wrapped = !is_object(&schema);
                let schema = if wrapped { wrap(schema) } else { schema };
                (Some(compile(None, schema, &[], owner, "output")?), wrapped)
            }
        };
        Ok(CompiledSchemas { input, output, wrap })
    }
}

/// Compiles a schema after its edits. A `given` text without edits is advertised as it is.
fn compile(
    given: Option<RawJson>,
    mut schema: Value,
    edits: &[SchemaPatch],
    owner: &str,
    which: &'static str,
) -> Result<CompiledSchema, DefinitionError> {
    edits.iter().try_for_each(|edit| edit.apply(&mut schema, owner))?;
    let bad = |why: String| DefinitionError::BadSchema { owner: owner.to_owned(), which, why };
    let text = match given.filter(|_| edits.is_empty()) {
        Some(text) => text,
        None => RawJson::of(&schema).map_err(|error| bad(error.to_string()))?,
    };
    let validator = Validator::compile(schema).map_err(bad)?;
    Ok(CompiledSchema { text, validator })
}

fn parse(text: &RawJson, owner: &str, which: &'static str) -> Result<Value, DefinitionError> {
    text.to().map_err(|error| DefinitionError::BadSchema { owner: owner.to_owned(), which, why: error.to_string() })
}
