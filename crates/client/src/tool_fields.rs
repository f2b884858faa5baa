//! The arguments of each tool that belong into header fields, as far as its definition was listed.

use std::collections::HashMap;
use std::sync::Arc;

use protomcp_types::Tool;

use crate::mirror::Mirrored;

/// The mirrored arguments of the listed tools. Tools without any are not kept.
#[derive(Debug, Default)]
pub(crate) struct ToolFields {
    tools: HashMap<String, Arc<Mirrored>>,
    /// The bytes of all.
    size: usize,
}

impl ToolFields {
    /// Learns from a definition. False: it is invalid, and the tool cannot be called on this connection.
    pub(crate) fn learn(&mut self, tool: &Tool) -> bool {
        let name = tool.name.as_str();
        self.forget(name);
        match Mirrored::of(&tool.input_schema) {
            Ok(mirrored) if mirrored.is_empty() => true,
            Ok(mirrored) => {
                let size = self.size + size(name, &mirrored);
                if self.tools.len() < MAX_TOOLS && size <= MAX_BYTES {
                    self.tools.insert(name.to_owned(), Arc::new(mirrored));
                    self.size = size;
                } else {
                    tracing::warn!(tool = %tool.name, "too many tools with x-mcp-header: its header fields are not sent");
                }
                true
            }
            Err(why) => {
                tracing::warn!(tool = %tool.name, why, "left a tool out of the list");
                false
            }
        }
    }

    fn forget(&mut self, tool: &str) {
        if let Some(mirrored) = self.tools.remove(tool) {
            self.size -= size(tool, &mirrored);
        }
    }

    /// The mirrored arguments of a tool, if it has any.
    pub(crate) fn find(&self, tool: &str) -> Option<Arc<Mirrored>> {
        self.tools.get(tool).cloned()
    }
}

fn size(tool: &str, mirrored: &Mirrored) -> usize {
    tool.len() + mirrored.size()
}

/// The tools whose annotations are kept.
const MAX_TOOLS: usize = 10_000;

/// The bytes of their names and annotations. A server may give its tools other names in each list, and none is forgotten.
const MAX_BYTES: usize = 8 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use protomcp_types::RawJson;

    use super::*;

    fn tool(name: &str, field: &str) -> Tool {
        let definition = format!(
            r#"{{"name":"{name}","inputSchema":{{"type":"object","properties":{{"a":{{"type":"string","x-mcp-header":"{field}"}}}}}}}}"#
        );
        RawJson::parse(definition).unwrap().to().unwrap()
    }

    #[test]
    fn the_memory_for_all_tools_is_bounded() {
        let mut known = ToolFields::default();
        let long = "x".repeat(15_000);
        for number in 0..600 {
            assert!(known.learn(&tool(&format!("t{number}"), &long)));
        }
        assert!(known.size <= MAX_BYTES && known.find("t0").is_some() && known.find("t599").is_none());
        // A definition in place of another one takes its room.
        for name in ["t0", "t1"] {
            assert!(known.learn(&tool(name, "A")));
        }
        assert!(known.learn(&tool("t599", &long)) && known.find("t599").is_some());
        for number in 0..600 {
            assert!(!known.learn(&tool(&format!("t{number}"), "not a name")));
        }
        assert_eq!((known.size, known.tools.len()), (0, 0));
    }
}
