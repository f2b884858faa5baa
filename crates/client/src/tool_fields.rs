//! The arguments of each tool that belong into header fields, as far as its definition was listed.

use std::collections::HashMap;
use std::sync::Arc;

use protomcp_types::Tool;

use crate::mirror::Mirrored;

/// The mirrored arguments of the listed tools. Tools without any are not kept.
#[derive(Debug, Default)]
pub(crate) struct ToolFields(HashMap<String, Arc<Mirrored>>);

impl ToolFields {
    /// Learns from a definition. False: it is invalid, and the tool cannot be called on this connection.
    pub(crate) fn learn(&mut self, tool: &Tool) -> bool {
        match Mirrored::of(&tool.input_schema) {
            Ok(mirrored) if mirrored.is_empty() => {
                self.0.remove(tool.name.as_str());
                true
            }
            Ok(mirrored) => {
                if self.0.len() < MAX_TOOLS || self.0.contains_key(tool.name.as_str()) {
                    self.0.insert(tool.name.as_str().to_owned(), Arc::new(mirrored));
                } else {
                    tracing::warn!(tool = %tool.name, "too many tools with x-mcp-header: its header fields are not sent");
                }
                true
            }
            Err(why) => {
                tracing::warn!(tool = %tool.name, why, "left a tool out of the list");
                self.0.remove(tool.name.as_str());
                false
            }
        }
    }

    /// The mirrored arguments of a tool, if it has any.
    pub(crate) fn find(&self, tool: &str) -> Option<Arc<Mirrored>> {
        self.0.get(tool).cloned()
    }
}

/// The tools whose annotations are kept.
const MAX_TOOLS: usize = 10_000;
