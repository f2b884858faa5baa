//! The definition of a tool, and lists of them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json_buf::JsonBuf;
use crate::json_object::JsonObject;
use crate::list::{ListToolsResult, array};
use crate::name::ToolName;
use crate::raw::RawJson;

/// The definition of a tool (MCP 2025-11-25, schema, `Tool`). Schemas are forwarded as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// The programmatic name.
    pub name: ToolName,
    /// The display name; since 2025-06-18.
    pub title: Option<String>,
    /// A description, for models.
    pub description: Option<String>,
    /// The JSON Schema of its arguments; an object with `type` `object`.
    pub input_schema: RawJson,
    /// The JSON Schema of its structured results; since 2025-06-18.
    pub output_schema: Option<RawJson>,
    /// Hints about its behaviour; since 2025-03-26.
    pub annotations: Option<ToolAnnotations>,
    /// An array of icons; since 2025-11-25.
    pub icons: Option<RawJson>,
    /// Task support; 2025-11-25 only.
    pub execution: Option<RawJson>,
    /// Metadata, an object.
    pub meta: Option<RawJson>,
    /// Members that this program does not know.
    pub other: JsonObject,
}

/// Hints that clients must not trust. An absent hint has a default, which is not always `false`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolAnnotations {
    /// The display name, before tools had a `title`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The tool changes nothing. Default `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// The tool may destroy something. Default `true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calling the tool twice has the effect of calling it once. Default `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// The tool interacts with an open world. Default `true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

impl Tool {
    /// `{"type":"object"}`: any arguments.
    pub const ANY_OBJECT: &'static str = r#"{"type":"object"}"#;

    /// A tool that accepts any arguments.
    #[must_use]
    pub fn new(name: ToolName) -> Self {
        Self {
            name,
            title: None,
            description: None,
            input_schema: RawJson::trusted(Self::ANY_OBJECT),
            output_schema: None,
            annotations: None,
            icons: None,
            execution: None,
            meta: None,
            other: JsonObject::new(),
        }
    }

    /// The definition as JSON.
    #[must_use]
    pub fn to_body(&self) -> JsonBuf {
        let mut object = JsonBuf::object()
            .text("name", &self.name)
            .text_if("title", self.title.as_deref())
            .text_if("description", self.description.as_deref())
            .raw("inputSchema", &self.input_schema)
            .raw_if("outputSchema", self.output_schema.as_ref());
        if let Some(annotations) = &self.annotations {
            object = object.value("annotations", annotations);
        }
        object = object
            .raw_if("icons", self.icons.as_ref())
            .raw_if("execution", self.execution.as_ref())
            .raw_if("_meta", self.meta.as_ref());
        self.other.iter().fold(object, |object, (name, value)| object.raw(name, value)).finish()
    }

    /// The definition as JSON text.
    #[must_use]
    pub fn to_raw(&self) -> RawJson {
        self.to_body().into_raw()
    }
}

impl Serialize for Tool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_raw().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Tool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let mut members = JsonObject::deserialize(deserializer)?;
        let mut typed = |name: &str| members.take(name).filter(|raw| *raw != RawJson::NULL);
        let name = typed("name").ok_or_else(|| D::Error::missing_field("name"))?;
        let title = typed("title").map(|raw| raw.to()).transpose();
        let description = typed("description").map(|raw| raw.to()).transpose();
        let annotations = typed("annotations").map(|raw| raw.to()).transpose();
        Ok(Self {
            name: name.to().map_err(D::Error::custom)?,
            title: title.map_err(D::Error::custom)?,
            description: description.map_err(D::Error::custom)?,
            input_schema: typed("inputSchema").ok_or_else(|| D::Error::missing_field("inputSchema"))?,
            output_schema: typed("outputSchema"),
            annotations: annotations.map_err(D::Error::custom)?,
            icons: typed("icons"),
            execution: typed("execution"),
            meta: typed("_meta"),
            other: members,
        })
    }
}

impl ListToolsResult {
    /// The only page, from definitions.
    #[must_use]
    pub fn of<'a>(tools: impl IntoIterator<Item = &'a Tool>) -> Self {
        Self::new(array(tools.into_iter().map(Tool::to_raw)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_survives_with_everything_in_it() {
        let text = concat!(
            r#"{"name":"a","title":"A","description":"d","inputSchema":{"type":"object","$defs":{"z":1.50}},"#,
            r#""outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"icons":[],"#,
            r#""execution":{"taskSupport":"optional"},"_meta":{"x":1},"later":[9007199254740993]}"#
        );
        let tool: Tool = serde_json::from_str(text).unwrap();
        assert_eq!(tool.to_raw().as_str(), text);
        assert_eq!(serde_json::to_string(&tool).unwrap(), text);
        assert_eq!(ListToolsResult::of([&tool, &tool]).tools.as_str(), format!("[{text},{text}]"));
    }

    #[test]
    fn a_definition_needs_a_name_and_a_schema() {
        for text in [r#"{"inputSchema":{}}"#, r#"{"name":"a"}"#, r#"{"name":"","inputSchema":{}}"#, "5"] {
            assert!(serde_json::from_str::<Tool>(text).is_err(), "{text}");
        }
        let tool = Tool::new(ToolName::new("a").unwrap());
        assert_eq!(tool.to_raw().as_str(), r#"{"name":"a","inputSchema":{"type":"object"}}"#);
    }
}
