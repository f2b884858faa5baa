//! The identity of a client or server.

use serde::{Deserialize, Serialize};

use crate::absent::null_as_default;
use crate::raw::RawJson;

/// `clientInfo` and `serverInfo` (MCP 2025-11-25, basic/lifecycle). Peers ignore optional members that their revision
/// does not define.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Implementation {
    /// The programmatic name.
    pub name: String,
    /// Any text.
    #[serde(default, deserialize_with = "null_as_default")]
    pub version: String,
    /// The display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A link to more information.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// An array of icons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icons: Option<RawJson>,
}

impl Implementation {
    /// Name and version only.
    #[must_use]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }
}
