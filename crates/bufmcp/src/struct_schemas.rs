//! Schemas without descriptors: every tool takes a `google.protobuf.Struct`.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use protomcp_types::{RawJson, Tool};

use crate::any::Any;
use crate::message;
use crate::metadata::{INPUT_SCHEMA, INPUT_TYPE, OUTPUT_SCHEMA};
use crate::schemas::{Converted, Imports, MessageNames, SchemaError, ToolMessages, ToolSchemas, Unresolved};
use crate::well_known::{self, STRUCT_NAME};

/// Shows every tool as one that takes a `google.protobuf.Struct`, and calls only tools that do.
///
/// Arguments are not validated here: the server of the tool does that, by its JSON Schema. Results are `Struct`,
/// `ListValue` or `Value`; results of other well-known types are read as well.
#[derive(Debug, Clone, Copy, Default)]
pub struct StructSchemas;

/// A tool that takes a `Struct`.
#[derive(Debug)]
pub(crate) struct StructMessages {
    names: MessageNames,
    input_schema: RawJson,
    output_schema: Option<RawJson>,
    losses: Option<String>,
}

impl ToolSchemas for StructSchemas {
    fn of_json<'a>(&'a self, tool: &'a Tool) -> BoxFuture<'a, Result<Arc<dyn ToolMessages>, SchemaError>> {
        let (input, output) = (tool.input_schema.clone(), tool.output_schema.clone());
        let messages: Arc<dyn ToolMessages> = Arc::new(StructMessages::new(input, output));
        ready(Ok(messages)).boxed()
    }

    fn of_proto<'a>(&'a self, tool: &'a message::Tool) -> BoxFuture<'a, Result<Arc<dyn ToolMessages>, SchemaError>> {
        let outcome = match StructMessages::of_proto(tool) {
            Some(messages) => Ok(Arc::new(messages) as Arc<dyn ToolMessages>),
            None => Err(SchemaError::Unresolved {
                cause: Unresolved::NotFound,
                message: format!("tool {:?} needs a client that reads descriptors", tool.name),
            }),
        };
        ready(outcome).boxed()
    }
}

impl StructMessages {
    pub(crate) fn new(input_schema: RawJson, output_schema: Option<RawJson>) -> Self {
        let output_type = output_schema.is_some().then(|| STRUCT_NAME.to_owned());
        let names = MessageNames { bsr_ref: None, input_type: STRUCT_NAME.into(), output_type };
        Self { names, input_schema, output_schema, losses: None }
    }

    /// The tool of a server that says that it takes a `Struct`; `None` for any other one.
    pub(crate) fn of_proto(tool: &message::Tool) -> Option<Self> {
        if tool.metadata.get(INPUT_TYPE)? != STRUCT_NAME {
            return None;
        }
        let json = |key: &str| tool.metadata.get(key).and_then(|text| RawJson::parse(text.clone()).ok());
        let input = json(INPUT_SCHEMA).unwrap_or_else(|| RawJson::parse(Tool::ANY_OBJECT).expect("it is JSON"));
        Some(Self::new(input, json(OUTPUT_SCHEMA)))
    }

    /// Says why the tool does not have its own message, as a JSON array of losses.
    #[cfg(feature = "descriptors")]
    pub(crate) fn with_losses(mut self, losses: String) -> Self {
        self.losses = Some(losses);
        self
    }

    fn to_json(arguments: Option<&Any>) -> Result<RawJson, SchemaError> {
        let Some(arguments) = arguments else { return Ok(RawJson::EMPTY_OBJECT) };
        match (arguments.type_name(), well_known::to_json(arguments)) {
            (STRUCT_NAME, Some(json)) => json,
            (name, _) => Err(SchemaError::Invalid(format!("the arguments must be a {STRUCT_NAME}, not {name:?}"))),
        }
    }

    fn to_any(arguments: &RawJson) -> Result<Any, SchemaError> {
        let Converted { value, inexact } = well_known::to_any(arguments)?;
        match (value.type_name(), inexact.first()) {
            (STRUCT_NAME, None) => Ok(value),
            (STRUCT_NAME, Some(place)) => {
                Err(SchemaError::Invalid(format!("{STRUCT_NAME} cannot hold the number at {place}")))
            }
            _ => Err(SchemaError::Invalid("the arguments must be an object".into())),
        }
    }
}

/// The message of a result as JSON, if its type is well known.
pub(crate) fn well_known_to_json(data: &Any) -> Result<Converted<RawJson>, SchemaError> {
    let json = well_known::to_json(data).unwrap_or_else(|| {
        Err(SchemaError::Invalid(format!("the type {:?} of the result is unknown", data.type_name())))
    });
    json.map(Converted::exact)
}

/// Converts a value of this many bytes: immediately if it is small, otherwise on its own thread.
pub(crate) fn convert<'a, T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> Result<T, SchemaError> + Send + 'static,
) -> BoxFuture<'a, Result<T, SchemaError>> {
    if bytes <= QUICK {
        return ready(work()).boxed();
    }
    tokio::task::spawn_blocking(work)
        .map(|done| done.unwrap_or_else(|_| Err(SchemaError::Invalid("the conversion failed".into()))))
        .boxed()
}

/// The arguments or results that are converted immediately, on the thread of the caller, in bytes.
pub(crate) const QUICK: usize = 32 << 10;

impl ToolMessages for StructMessages {
    fn names(&self) -> &MessageNames {
        &self.names
    }

    fn descriptor_set(&self, imports: Imports) -> Bytes {
        match imports {
            Imports::Complete => Bytes::from_static(STRUCT_FILE),
            Imports::WithoutWellKnown => Bytes::new(),
        }
    }

    fn input_schema(&self) -> RawJson {
        self.input_schema.clone()
    }

    fn output_schema(&self) -> Option<RawJson> {
        self.output_schema.clone()
    }

    fn losses(&self) -> Option<String> {
        self.losses.clone()
    }

    fn arguments_to_json<'a>(&'a self, arguments: Option<&'a Any>) -> BoxFuture<'a, Result<RawJson, SchemaError>> {
        let (bytes, arguments) = (arguments.map_or(0, |any| any.value.len()), arguments.cloned());
        convert(bytes, move || Self::to_json(arguments.as_ref()))
    }

    fn arguments_to_any<'a>(&'a self, arguments: &'a RawJson) -> BoxFuture<'a, Result<Any, SchemaError>> {
        let arguments = arguments.clone();
        convert(arguments.len(), move || Self::to_any(&arguments))
    }

    fn result_to_any<'a>(&'a self, structured: &'a RawJson) -> BoxFuture<'a, Result<Converted<Any>, SchemaError>> {
        let structured = structured.clone();
        convert(structured.len(), move || well_known::to_any(&structured))
    }

    fn result_to_json<'a>(&'a self, data: &'a Any) -> BoxFuture<'a, Result<Converted<RawJson>, SchemaError>> {
        let data = data.clone();
        convert(data.value.len(), move || well_known_to_json(&data))
    }
}

/// `google/protobuf/struct.proto` as a descriptor set.
const STRUCT_FILE: &[u8] = include_bytes!("gen/struct.binpb");

#[cfg(test)]
mod tests {
    use prost::Message;
    use protomcp_testing::assert_committed;

    use super::*;

    #[test]
    fn the_descriptor_set_matches_the_compiler() {
        let mut set = protox::compile(["google/protobuf/struct.proto"], ["."]).expect("it is built into the compiler");
        set.file.iter_mut().for_each(|file| file.source_code_info = None);
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/gen/struct.binpb");
        assert_committed(path, set.encode_to_vec(), "UPDATE_GENERATED");
    }

    #[tokio::test]
    async fn arguments_are_a_struct() {
        let tool = Tool::new(protomcp_types::ToolName::new("t").unwrap());
        let messages = StructSchemas.of_json(&tool).await.unwrap();
        assert_eq!(messages.arguments_to_json(None).await.unwrap(), RawJson::EMPTY_OBJECT);
        let json = RawJson::parse(r#"{"a":1}"#).unwrap();
        let any = messages.arguments_to_any(&json).await.unwrap();
        assert_eq!(messages.arguments_to_json(Some(&any)).await.unwrap(), json);
        let other = Any { type_url: "x/google.protobuf.Value".into(), ..any };
        assert!(matches!(messages.arguments_to_json(Some(&other)).await, Err(SchemaError::Invalid(_))));
        for wrong in ["[]", "5", r#"{"a":9007199254740993}"#] {
            assert!(messages.arguments_to_any(&RawJson::parse(wrong).unwrap()).await.is_err(), "{wrong}");
        }
    }
}
