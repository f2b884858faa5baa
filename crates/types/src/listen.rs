//! Change notifications without a session (MCP 2026-07-28, basic/utilities/subscriptions).

use serde::{Deserialize, Serialize};

use crate::absent::null_as_default;
use crate::empty::Empty;
use crate::error::ErrorObject;
use crate::method::Method;
use crate::params::Params;

/// `subscriptions/listen`; since 2026-07-28. The answer ends the subscription.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Listen {
    /// The requested notifications.
    pub notifications: SubscriptionFilter,
}

/// Kinds of change notification: those that a client requests, or those that a server will send.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionFilter {
    /// Changes of the list of tools.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "std::ops::Not::not")]
    pub tools_list_changed: bool,
    /// Changes of the list of prompts.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "std::ops::Not::not")]
    pub prompts_list_changed: bool,
    /// Changes of the list of resources, or of their templates.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "std::ops::Not::not")]
    pub resources_list_changed: bool,
    /// Changes of these resources, by URI.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub resource_subscriptions: Vec<String>,
    /// Changes of these tasks, by id (extension `io.modelcontextprotocol/tasks`).
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub task_ids: Vec<String>,
}

impl TryFrom<Params> for Listen {
    type Error = ErrorObject;

    fn try_from(params: Params) -> Result<Self, ErrorObject> {
        params.to()
    }
}

impl Method for Listen {
    const NAME: &'static str = "subscriptions/listen";
    type Params = Self;
    type Result = Empty;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_says_only_what_is_wanted() {
        for text in [
            r#"{"notifications":{}}"#,
            r#"{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a"]}}"#,
            r#"{"notifications":{"promptsListChanged":true,"resourcesListChanged":true}}"#,
            r#"{"notifications":{"taskIds":["t"]}}"#,
        ] {
            let listen: Listen = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&listen).unwrap(), text);
        }
        let off = r#"{"notifications":{"toolsListChanged":false,"resourceSubscriptions":[],"later":1}}"#;
        assert_eq!(serde_json::from_str::<Listen>(off).unwrap(), Listen::default());
        for bad in ["{}", r#"{"notifications":5}"#, r#"{"notifications":{"toolsListChanged":1}}"#] {
            assert!(serde_json::from_str::<Listen>(bad).is_err(), "{bad}");
        }
    }
}
