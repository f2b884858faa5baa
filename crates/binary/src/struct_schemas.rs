//! Schemas without descriptors: every tool takes a `google.protobuf.Struct`.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::{BoxFuture, ready};
use protomcp_types::{RawJson, Tool};

use crate::any::Any;
use crate::message;
use crate::metadata::{INPUT_SCHEMA, INPUT_TYPE, OUTPUT_SCHEMA};
use crate::schemas::{Converted, MessageNames, SchemaError, ToolMessages, ToolSchemas, Unresolved};
use crate::well_known::{self, STRUCT_NAME};

/// Shows every tool as one that takes a `google.protobuf.Struct`, and calls only tools that do.
///
/// Arguments are not validated here: the server of the tool does that, by its JSON Schema. Results are `Struct`,
/// `ListValue` or `Value`; results of other well-known types are read as well.
#[derive(Debug, Clone, Copy, Default)]
pub struct StructSchemas;

/// A tool that takes a `Struct`.
#[derive(Debug)]
struct StructMessages {
    names: MessageNames,
    input_schema: RawJson,
    output_schema: Option<RawJson>,
}

impl ToolSchemas for StructSchemas {
    fn of_json<'a>(&'a self, tool: &'a Tool) -> BoxFuture<'a, Result<Arc<dyn ToolMessages>, SchemaError>> {
        let (input, output) = (tool.input_schema.clone(), tool.output_schema.clone());
        Box::pin(ready(Ok(StructMessages::shared(input, output))))
    }

    fn of_proto<'a>(&'a self, tool: &'a message::Tool) -> BoxFuture<'a, Result<Arc<dyn ToolMessages>, SchemaError>> {
        let json = |key: &str| tool.metadata.get(key).and_then(|text| RawJson::parse(text.clone()).ok());
        let outcome = match tool.metadata.get(INPUT_TYPE).map(String::as_str) {
            Some(STRUCT_NAME) => {
                let input = json(INPUT_SCHEMA).unwrap_or_else(|| RawJson::parse(Tool::ANY_OBJECT).expect("it is JSON"));
                Ok(StructMessages::shared(input, json(OUTPUT_SCHEMA)))
            }
            _ => Err(SchemaError::Unresolved {
                cause: Unresolved::NotFound,
                message: format!("tool {:?} needs a client that reads descriptors", tool.name),
            }),
        };
        Box::pin(ready(outcome))
    }
}

impl StructMessages {
    fn shared(input_schema: RawJson, output_schema: Option<RawJson>) -> Arc<dyn ToolMessages> {
        let output_type = output_schema.is_some().then(|| STRUCT_NAME.to_owned());
        let names = MessageNames { bsr_ref: None, input_type: STRUCT_NAME.into(), output_type };
        Arc::new(Self { names, input_schema, output_schema })
    }
}

impl ToolMessages for StructMessages {
    fn names(&self) -> &MessageNames {
        &self.names
    }

    fn descriptor_set(&self) -> Bytes {
        Bytes::from_static(STRUCT_FILE)
    }

    fn input_schema(&self) -> RawJson {
        self.input_schema.clone()
    }

    fn output_schema(&self) -> Option<RawJson> {
        self.output_schema.clone()
    }

    fn arguments_to_json(&self, arguments: Option<&Any>) -> Result<RawJson, SchemaError> {
        let Some(arguments) = arguments else { return Ok(RawJson::EMPTY_OBJECT) };
        match (arguments.type_name(), well_known::to_json(arguments)) {
            (STRUCT_NAME, Some(json)) => json,
            (name, _) => Err(SchemaError::Invalid(format!("the arguments must be a {STRUCT_NAME}, not {name:?}"))),
        }
    }

    fn arguments_to_any(&self, arguments: &RawJson) -> Result<Any, SchemaError> {
        let Converted { value, inexact } = well_known::to_any(arguments)?;
        match (value.type_name(), inexact.first()) {
            (STRUCT_NAME, None) => Ok(value),
            (STRUCT_NAME, Some(place)) => {
                Err(SchemaError::Invalid(format!("{STRUCT_NAME} cannot hold the number at {place}")))
            }
            _ => Err(SchemaError::Invalid("the arguments must be an object".into())),
        }
    }

    fn result_to_any(&self, structured: &RawJson) -> Result<Converted<Any>, SchemaError> {
        well_known::to_any(structured)
    }

    fn result_to_json(&self, data: &Any) -> Result<Converted<RawJson>, SchemaError> {
        let json = well_known::to_json(data).unwrap_or_else(|| {
            Err(SchemaError::Invalid(format!("the type {:?} of the result is unknown", data.type_name())))
        });
        json.map(Converted::exact)
    }
}

/// `google/protobuf/struct.proto` as a descriptor set.
const STRUCT_FILE: &[u8] = include_bytes!("gen/struct.binpb");

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;

    #[test]
    fn the_descriptor_set_is_that_of_the_compiler() {
        let mut set = protox::compile(["google/protobuf/struct.proto"], ["."]).expect("it is built into the compiler");
        set.file.iter_mut().for_each(|file| file.source_code_info = None);
        if std::env::var_os("UPDATE_GENERATED").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/gen/struct.binpb");
            std::fs::write(path, set.encode_to_vec()).expect("the file can be written");
        }
        assert!(set.encode_to_vec() == STRUCT_FILE, "run this test with UPDATE_GENERATED=1");
    }

    #[tokio::test]
    async fn arguments_are_a_struct() {
        let tool = Tool::new(protomcp_types::ToolName::new("t").unwrap());
        let messages = StructSchemas.of_json(&tool).await.unwrap();
        assert_eq!(messages.arguments_to_json(None).unwrap(), RawJson::EMPTY_OBJECT);
        let json = RawJson::parse(r#"{"a":1}"#).unwrap();
        let any = messages.arguments_to_any(&json).unwrap();
        assert_eq!(messages.arguments_to_json(Some(&any)).unwrap(), json);
        let other = Any { type_url: "x/google.protobuf.Value".into(), ..any };
        assert!(matches!(messages.arguments_to_json(Some(&other)), Err(SchemaError::Invalid(_))));
        for wrong in ["[]", "5", r#"{"a":9007199254740993}"#] {
            assert!(messages.arguments_to_any(&RawJson::parse(wrong).unwrap()).is_err(), "{wrong}");
        }
    }
}
