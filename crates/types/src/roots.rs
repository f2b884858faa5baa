//! Roots: the directories that a client offers to a server.

use serde::{Deserialize, Serialize};

use crate::capability::ClientCapabilities;
use crate::method::{ClientMethod, Method};
use crate::raw::RawJson;

/// `roots/list` (MCP 2025-11-25, client/roots).
///
/// MCP 2026-07-28 deprecates roots: they stay for a year at least. Take folders as arguments of tools instead.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ListRoots {
    /// Metadata, an object.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// The answer to [`ListRoots`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ListRootsResult {
    /// In the order of the client.
    pub roots: Vec<Root>,
    /// Metadata, an object.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

/// A directory or file that the server may work on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// Begins with `file://`.
    pub uri: String,
    /// The display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Metadata, an object.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RawJson>,
}

impl Method for ListRoots {
    const NAME: &'static str = "roots/list";
    type Params = Self;
    type Result = ListRootsResult;
}

impl ClientMethod for ListRoots {
    fn is_supported_by(_: &Self, capabilities: &ClientCapabilities) -> bool {
        capabilities.has_roots()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_may_have_names() {
        let text = r#"{"roots":[{"uri":"file:///a","name":"A"},{"uri":"file:///b"}]}"#;
        let result: ListRootsResult = serde_json::from_str(text).unwrap();
        assert_eq!(result.roots[0].name.as_deref(), Some("A"));
        assert_eq!(serde_json::to_string(&result).unwrap(), text);
        assert_eq!(serde_json::to_string(&ListRoots::default()).unwrap(), "{}");
    }
}
