//! A member that is null counts as absent: many programs write the members that have no value.

use serde::{Deserialize, Deserializer};

/// For `deserialize_with`, together with `default`: null is the default, too.
///
/// # Errors
/// If the value is neither null nor a `T`.
pub fn null_as_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use serde::de::DeserializeOwned;

    use crate::cache::CacheHint;
    use crate::call::CallToolResult;
    use crate::capability::ServerCapabilities;
    use crate::initialize::{Initialize, InitializeResult};
    use crate::listen::Listen;
    use crate::prompt::Prompt;

    /// Reads both texts, and expects one value.
    #[track_caller]
    fn same<T: DeserializeOwned + PartialEq + Debug>(with_nulls: &str, without: &str) {
        let read = |text: &str| serde_json::from_str::<T>(text).unwrap();
        assert_eq!(read(with_nulls), read(without), "{with_nulls}");
    }

    #[test]
    fn optional_members_may_be_null() {
        same::<Initialize>(
            r#"{"protocolVersion":"1","capabilities":null,"clientInfo":{"name":"a","version":null,"title":null,"icons":null}}"#,
            r#"{"protocolVersion":"1","capabilities":{},"clientInfo":{"name":"a"}}"#,
        );
        same::<Initialize>(
            r#"{"protocolVersion":"1","clientInfo":{"name":"a"}}"#,
            r#"{"protocolVersion":"1","capabilities":{},"clientInfo":{"name":"a"}}"#,
        );
        same::<InitializeResult>(
            r#"{"protocolVersion":"1","capabilities":null,"serverInfo":{"name":"a","version":null,"websiteUrl":null},"instructions":null}"#,
            r#"{"protocolVersion":"1","capabilities":{},"serverInfo":{"name":"a"}}"#,
        );
        same::<ServerCapabilities>(
            r#"{"tools":{"listChanged":null,"subscribe":null},"prompts":null,"logging":null,"tasks":{"list":null}}"#,
            r#"{"tools":{},"tasks":{}}"#,
        );
        same::<CacheHint>(r#"{"ttlMs":null,"cacheScope":null}"#, "{}");
        same::<Listen>(
            r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":null,"resourceSubscriptions":null,"taskIds":null}}"#,
            r#"{"notifications":{"toolsListChanged":true}}"#,
        );
        same::<Listen>(
            r#"{"notifications":{"toolsListChanged":null,"resourcesListChanged":null}}"#,
            r#"{"notifications":{}}"#,
        );
        same::<Prompt>(
            r#"{"name":"p","arguments":[{"name":"a","required":null}]}"#,
            r#"{"name":"p","arguments":[{"name":"a"}]}"#,
        );
        same::<Prompt>(r#"{"name":"p","arguments":null}"#, r#"{"name":"p"}"#);
        same::<CallToolResult>(r#"{"content":[],"isError":null,"structuredContent":null}"#, r#"{"content":[]}"#);
    }
}
