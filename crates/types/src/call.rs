//! Calling a tool.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::absent::null_as_default;
use crate::content::ContentBlock;
use crate::error::ErrorObject;
use crate::json_object::JsonObject;
use crate::list::array;
use crate::method::Method;
use crate::params::Params;
use crate::raw::{Kind, RawJson};

/// `tools/call` (MCP 2025-11-25, server/tools). The arguments are forwarded byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTool {
    /// The name in the request; such a tool may not exist.
    pub name: String,
    /// An object; `{}` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<RawJson>,
    /// Metadata; holds the progress token.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
    /// Asks for a task; 2025-11-25 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<RawJson>,
}

/// The answer to [`CallTool`]. A failed tool answers too, with `is_error`, so that the model can read the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallToolResult {
    /// An array of content blocks.
    #[serde(default = "no_content")]
    pub content: RawJson,
    /// An object; since 2025-06-18.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<RawJson>,
    /// True if the tool failed.
    #[serde(default, deserialize_with = "null_as_default")]
    pub is_error: bool,
    /// Metadata, an object.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

impl CallTool {
    /// A call without arguments.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), arguments: None, meta: None, task: None }
    }

    /// Sets the arguments.
    #[must_use]
    pub fn with_arguments(mut self, arguments: RawJson) -> Self {
        self.arguments = Some(arguments);
        self
    }

    /// The text of the arguments, `{}` when there are none.
    #[must_use]
    pub fn arguments_or_empty(&self) -> RawJson {
        self.arguments.clone().unwrap_or(RawJson::EMPTY_OBJECT)
    }
}

/// Reads the parameters without copying their values.
impl TryFrom<Params> for CallTool {
    type Error = ErrorObject;

    fn try_from(mut params: Params) -> Result<Self, ErrorObject> {
        let name = params.required("name")?;
        let mut object = |member: &'static str| match params.take(member) {
            Some(raw) if raw.kind() == Kind::Object => Ok(Some(raw)),
            Some(raw) if raw.kind() == Kind::Null => Ok(None),
            Some(_) => Err(ErrorObject::invalid_params(format!("invalid params: {member} must be an object"))),
            None => Ok(None),
        };
        Ok(Self { name, arguments: object("arguments")?, meta: object("_meta")?, task: object("task")? })
    }
}

/// Shares the values, and writes the name alone.
impl From<CallTool> for Params {
    fn from(call: CallTool) -> Self {
        let CallTool { name, arguments, meta, task } = call;
        let named = JsonObject::new().with("name", RawJson::text(&name));
        let members = [("arguments", arguments), ("_meta", meta), ("task", task)];
        Self::Named(members.into_iter().fold(named, |named, (member, value)| match value {
            Some(value) => named.with(member, value),
            None => named,
        }))
    }
}

impl CallToolResult {
    /// A result with content, an array.
    #[must_use]
    pub fn new(content: RawJson) -> Self {
        Self { content, structured_content: None, is_error: false, meta: None }
    }

    /// A result with one block of text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::of([ContentBlock::text(text)])
    }

    /// A result from blocks.
    #[must_use]
    pub fn of(blocks: impl IntoIterator<Item = ContentBlock>) -> Self {
        Self::new(array(blocks.into_iter().map(|block| block.to_raw())))
    }

    /// A failure with one block of text.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// Sets the structured content, an object.
    #[must_use]
    pub fn with_structured(mut self, structured: RawJson) -> Self {
        self.structured_content = Some(structured);
        self
    }

    /// Sets `_meta`, an object.
    #[must_use]
    pub fn with_meta(mut self, meta: RawJson) -> Self {
        self.meta = Some(meta);
        self
    }

    /// The structured content as a Rust type; `None` if there is none.
    ///
    /// # Errors
    /// If it has another shape.
    ///
    /// ```
    /// use protomcp_types::{CallToolResult, RawJson};
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Sum {
    ///     sum: i64,
    /// }
    ///
    /// let result = CallToolResult::text("5").with_structured(RawJson::parse(r#"{"sum": 5}"#).unwrap());
    /// assert_eq!(result.structured::<Sum>().unwrap().unwrap().sum, 5);
    /// assert!(CallToolResult::text("5").structured::<Sum>().unwrap().is_none());
    /// ```
    pub fn structured<T: DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        self.structured_content.as_ref().map(RawJson::to).transpose()
    }
}

impl Method for CallTool {
    const NAME: &'static str = "tools/call";
    type Params = Self;
    type Result = CallToolResult;
}

fn no_content() -> RawJson {
    RawJson::EMPTY_ARRAY
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::code;

    fn call(text: &'static str) -> Result<CallTool, ErrorObject> {
        CallTool::try_from(Params::Named(JsonObject::from_raw(&RawJson::parse(text).unwrap()).unwrap()))
    }

    #[test]
    fn arguments_are_kept_to_the_byte() {
        let read = call(r#"{"name":"a","arguments":{ "z": 9007199254740993, "a": "\u00e9" },"_meta":{}}"#).unwrap();
        assert_eq!(read.arguments.unwrap().as_str(), r#"{ "z": 9007199254740993, "a": "\u00e9" }"#);
        assert_eq!(read.meta, Some(RawJson::EMPTY_OBJECT));
        let read = call(r#"{"name":"a","arguments":null}"#).unwrap();
        assert_eq!(read.arguments_or_empty(), RawJson::EMPTY_OBJECT);
    }

    #[test]
    fn a_call_is_the_parameters_that_it_serializes_to() {
        for text in [r#"{"name":"a"}"#, r#"{"name":"ä\"","arguments":{"b":[ 1 ]},"_meta":{"c":1},"task":{"ttl":5}}"#] {
            let call = call(text).unwrap();
            assert_eq!(Params::from(call.clone()), Params::of(&call).unwrap(), "{text}");
        }
    }

    #[test]
    fn a_malformed_call_is_invalid_params() {
        for text in
            ["{}", r#"{"name":5}"#, r#"{"name":null}"#, r#"{"name":"a","arguments":[]}"#, r#"{"name":"a","_meta":1}"#]
        {
            assert_eq!(call(text).unwrap_err().code, code::INVALID_PARAMS, "{text}");
        }
        assert_eq!(CallTool::try_from(Params::Absent).unwrap_err().code, code::INVALID_PARAMS);
    }

    #[test]
    fn structured_content_is_read_into_a_type() {
        let result = CallToolResult::text("5");
        assert_eq!(result.structured::<Vec<u8>>().unwrap(), None);
        let result = result.with_structured(RawJson::parse("[5]").unwrap());
        assert_eq!(result.structured::<Vec<u8>>().unwrap(), Some(vec![5]));
        assert!(result.structured::<String>().is_err());
    }

    #[test]
    fn results_are_built_from_blocks() {
        let text = |result: CallToolResult| serde_json::to_string(&result).unwrap();
        assert_eq!(text(CallToolResult::text("hi")), r#"{"content":[{"type":"text","text":"hi"}],"isError":false}"#);
        assert_eq!(
            text(CallToolResult::error("no").with_structured(RawJson::EMPTY_OBJECT)),
            r#"{"content":[{"type":"text","text":"no"}],"structuredContent":{},"isError":true}"#
        );
    }
}
