//! The tools of a server, as values that rules read.

use std::time::Duration;

use protomcp_types::RawJson;
use serde_json::Value;

/// The tools of a server.
#[derive(Debug, Clone, Default)]
pub struct ToolSet {
    /// The name under which a host knows the server. Many hosts put it before the names of tools.
    pub server: String,
    /// The instructions of the server.
    pub instructions: Option<String>,
    /// The definitions in the order of the server.
    pub tools: Vec<ToolDefinition>,
    /// The time from the start of the server to its list of tools, if it was measured.
    pub listed_after: Option<Duration>,
}

/// A definition of a tool. Its parts may be wrong: that is found out by the rules.
#[derive(Debug, Clone)]
pub struct ToolDefinition {
    /// The name; may be empty.
    pub name: String,
    /// The description; empty if there is none.
    pub description: String,
    /// The text of its input schema as it was registered; empty if there is none.
    pub input_text: String,
    /// The definition as hosts receive it. `Value::Null` if they do not receive it.
    pub served: Value,
    /// The bytes of that definition.
    pub size: usize,
}

impl ToolDefinition {
    /// A definition from an element of `tools/list`.
    #[must_use]
    pub fn listed(definition: &RawJson) -> Self {
        let served = definition.to_value();
        let text = |name: &str| served[name].as_str().unwrap_or_default().to_owned();
        let input_text = served.get("inputSchema").map(Value::to_string).unwrap_or_default();
        let (name, description) = (text("name"), text("description"));
        Self { name, description, input_text, size: definition.len(), served }
    }

    /// A definition as a tool process has registered it. `served`: as hosts receive it, if they do.
    #[must_use]
    pub fn registered(name: &str, description: &str, input_text: &str, served: Option<&RawJson>) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            input_text: input_text.to_owned(),
            served: served.map(RawJson::to_value).unwrap_or_default(),
            size: served.map_or(0, RawJson::len),
        }
    }

    /// The input schema as hosts receive it.
    pub(crate) fn input(&self) -> Option<&Value> {
        self.served.get("inputSchema")
    }

    /// The output schema as hosts receive it.
    pub(crate) fn output(&self) -> Option<&Value> {
        self.served.get("outputSchema").filter(|schema| !schema.is_null())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_definition_can_be_read() {
        let empty = ToolDefinition::listed(&RawJson::parse(r#"{"name":5}"#).unwrap());
        assert_eq!((empty.name.as_str(), empty.input_text.as_str(), empty.input()), ("", "", None));
        let served = RawJson::parse(r#"{"name":"a","inputSchema":{},"outputSchema":null}"#).unwrap();
        let tool = ToolDefinition::registered("a", "", "{", Some(&served));
        assert!(tool.input().is_some() && tool.output().is_none() && tool.size == served.len());
    }
}
