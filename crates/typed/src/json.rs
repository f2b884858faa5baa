//! Values that travel as JSON.

use std::borrow::Cow;

use protomcp_types::{ErrorObject, RawJson};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};

/// A result as JSON: structured content of a tool together with its text, or the text of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize> Json<T> {
    pub(crate) fn to_raw(&self) -> Result<RawJson, ErrorObject> {
        RawJson::of(&self.0).map_err(|error| {
            tracing::error!(%error, "a result cannot be written as JSON");
            ErrorObject::internal("the result cannot be written as JSON")
        })
    }
}

/// Arguments exactly as the client wrote them, for tools that forward or parse them. Every object matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verbatim(pub RawJson);

impl<'de> Deserialize<'de> for Verbatim {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RawJson::deserialize(deserializer).map(Self)
    }
}

impl JsonSchema for Verbatim {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Verbatim".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}
