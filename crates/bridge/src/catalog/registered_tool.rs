//! A tool as the process has registered it, for checks of definitions.

use protomcp_envelope::ToolDefinition;
use protomcp_types::RawJson;

use crate::catalog::tool::{SchemaPolicy, Tool};

/// A tool as the process has registered it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegisteredTool {
    /// Its name; may be empty.
    pub name: String,
    /// Its description; empty if there is none.
    pub description: String,
    /// The text of its input schema, which may not be JSON; empty if there is none.
    pub input_schema: String,
    /// The definition that clients see when the tool is shown, with its output schema. `None`: they never see it.
    pub definition: Option<RawJson>,
}

impl RegisteredTool {
    pub(crate) fn read(wire: &ToolDefinition) -> Self {
        let (shown, _) = Tool::all(std::slice::from_ref(wire), SchemaPolicy::Always, |_| None);
        Self {
            name: wire.name.clone(),
            description: wire.description.clone(),
            input_schema: String::from_utf8_lossy(&wire.input_schema_json).into_owned(),
            definition: shown.first().map(|(_, tool)| tool.json().clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_schema_is_kept_with_the_one_in_its_place() {
        let wire = ToolDefinition {
            name: "a".into(),
            input_schema_json: "{".into(),
            output_schema_json: r#"{"type":"object"}"#.into(),
            ..Default::default()
        };
        let tool = RegisteredTool::read(&wire);
        assert_eq!(tool.input_schema, "{");
        let shown = r#"{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}"#;
        assert_eq!(tool.definition.unwrap().as_str(), shown);
        assert!(RegisteredTool::read(&ToolDefinition::default()).definition.is_none());
    }
}
