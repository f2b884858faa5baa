//! The name of a tool.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The name of a tool: never empty, compared code point by code point, cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolName(Arc<str>);

/// A tool name is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a tool name is empty")]
pub struct EmptyToolName;

impl ToolName {
    /// Checks that `name` is not empty.
    ///
    /// # Errors
    /// If it is.
    pub fn new(name: impl Into<Arc<str>>) -> Result<Self, EmptyToolName> {
        let name = name.into();
        if name.is_empty() { Err(EmptyToolName) } else { Ok(Self(name)) }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if every client can be expected to accept the name: at most 128 of the letters `A`–`Z`, `a`–`z`, digits,
    /// `_`, `.` and `-` (MCP 2025-11-25, server/tools, tool names). Tools with other names are served too.
    #[must_use]
    pub fn is_conventional(&self) -> bool {
        self.0.len() <= 128 && self.0.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
    }
}

impl TryFrom<&str> for ToolName {
    type Error = EmptyToolName;

    fn try_from(name: &str) -> Result<Self, EmptyToolName> {
        Self::new(name)
    }
}

impl TryFrom<String> for ToolName {
    type Error = EmptyToolName;

    fn try_from(name: String) -> Result<Self, EmptyToolName> {
        Self::new(name)
    }
}

impl Deref for ToolName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Lets a map of names be queried with a `&str`.
impl Borrow<str> for ToolName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl Serialize for ToolName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ToolName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_never_empty_and_may_be_unconventional() {
        assert_eq!(ToolName::new(""), Err(EmptyToolName));
        assert!(serde_json::from_str::<ToolName>("\"\"").is_err());
        for (name, conventional) in [
            ("a", true),
            ("A.b-c_9", true),
            ("a b", false),
            ("é", false),
            (&"x".repeat(128), true),
            (&"x".repeat(129), false),
        ] {
            assert_eq!(ToolName::new(name).unwrap().is_conventional(), conventional, "{name}");
        }
    }
}
