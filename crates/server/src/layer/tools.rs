//! Shows and calls only some of the tools of a service.

use std::collections::BTreeSet;
use std::sync::Arc;

use protomcp_types::{ErrorObject, JsonObject, RawJson, array};

use crate::call::context::Context;
use crate::layer::tool_names::{Spelling, ToolNamesLayer, WithToolNames, folded};
use crate::service::{Layer, Service};
use protomcp_session::{ServerRequest, ServerResult};

/// The tools that clients may see and call, by the names that clients use.
///
/// ```
/// use protomcp_server::layer::tools::ToolPolicy;
///
/// let policy = ToolPolicy::block(["drop_table"]);
/// assert!(policy.allows("select") && !policy.allows("drop_table"));
/// assert!(!ToolPolicy::allow(["select"]).allows("insert"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolPolicy {
    /// These and no others.
    Allow(BTreeSet<String>),
    /// All but these, and others whose names differ in case or blanks around them alone: a server may take them for the same.
    Block(BTreeSet<String>),
}

impl ToolPolicy {
    /// Only tools with these names.
    pub fn allow<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::Allow(names.into_iter().map(Into::into).collect())
    }

    /// All tools but those with these names.
    pub fn block<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::Block(names.into_iter().map(Into::into).collect())
    }

    /// True if clients may see and call the tool.
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        match self {
            Self::Allow(names) => names.contains(tool),
            Self::Block(names) => !names.iter().any(|name| folded(name) == folded(tool)),
        }
    }

    /// True if it leaves out any tool.
    fn restricts(&self) -> bool {
        !matches!(self, Self::Block(names) if names.is_empty())
    }

    /// The layer that warns of names that no tool has.
    fn names(&self) -> ToolNamesLayer {
        let (names, spelling) = match self {
            Self::Allow(names) => (names, Spelling::Exact),
            Self::Block(names) => (names, Spelling::Any),
        };
        ToolNamesLayer::new("the policy for tools", names.iter().cloned(), spelling)
    }
}

/// Leaves other tools out of `tools/list`, and answers calls of them as if they did not exist. A name that no tool has is
/// logged once, as a warning: it may be misspelt.
#[derive(Debug, Clone)]
pub struct ToolPolicyLayer(Arc<ToolPolicy>);

/// A service behind a [`ToolPolicyLayer`].
#[derive(Debug)]
pub struct WithToolPolicy<S> {
    inner: WithToolNames<S>,
    policy: Arc<ToolPolicy>,
}

impl ToolPolicyLayer {
    /// A layer with this policy.
    #[must_use]
    pub fn new(policy: ToolPolicy) -> Self {
        Self(Arc::new(policy))
    }
}

impl<S: Service> Layer<S> for ToolPolicyLayer {
    type Service = WithToolPolicy<S>;

    fn layer(&self, inner: S) -> WithToolPolicy<S> {
        WithToolPolicy { inner: self.0.names().layer(inner), policy: Arc::clone(&self.0) }
    }
}

impl<S: Service> Service for WithToolPolicy<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        match request {
            ServerRequest::CallTool(call) if !self.policy.allows(&call.name) => {
                Err(ErrorObject::unknown_tool(&call.name))
            }
            ServerRequest::ListTools(_) if self.policy.restricts() => {
                self.list(self.inner.call(request, context).await?)
            }
            request => self.inner.call(request, context).await,
        }
    }
}

impl<S> WithToolPolicy<S> {
    /// A page with the allowed tools only.
    fn list(&self, page: ServerResult) -> Result<ServerResult, ErrorObject> {
        match page {
            ServerResult::ListTools(mut page) => {
                page.tools = self.allowed(&page.tools)?;
                Ok(page.into())
            }
            // A service that writes its results itself.
            ServerResult::Body(body) => {
                let unreadable = |error| ErrorObject::internal(format!("the list of tools cannot be read: {error}"));
                let mut members = JsonObject::from_raw(&body.into_raw()).map_err(unreadable)?;
                if let Some(tools) = members.member("tools") {
                    let tools = self.allowed(tools)?;
                    members.insert("tools", tools);
                }
                Ok(ServerResult::Body(members.to_body()))
            }
            other => Ok(other),
        }
    }

    /// The ones among the definitions that the policy allows. One without a name cannot be called, and is left out.
    fn allowed(&self, tools: &RawJson) -> Result<RawJson, ErrorObject> {
        let tools: Vec<RawJson> =
            tools.to().map_err(|error| ErrorObject::internal(format!("the list of tools cannot be read: {error}")))?;
        let named = tools.into_iter().filter_map(|tool| {
            let name = JsonObject::from_raw(&tool).ok()?.member("name")?.to::<String>().ok()?;
            Some((name, tool))
        });
        Ok(array(named.filter(|(name, _)| self.policy.allows(name)).map(|(_, tool)| tool)))
    }
}

#[cfg(test)]
mod tests {
    use protomcp_types::{CallTool, ListTools, ListToolsResult, code};

    use super::*;

    struct Tools {
        writes_itself: bool,
    }

    impl Service for Tools {
        async fn call(&self, request: ServerRequest, _: Context) -> Result<ServerResult, ErrorObject> {
            let tools = RawJson::parse(r#"[{"name":"a" },{"name":"b"},{"later":1}]"#).unwrap();
            match request {
                ServerRequest::ListTools(_) if self.writes_itself => {
                    let body = JsonObject::new().with("tools", tools).with("nextCursor", RawJson::text("c"));
                    Ok(ServerResult::Body(body.to_body()))
                }
                ServerRequest::ListTools(_) => {
                    Ok(ListToolsResult { tools, next_cursor: Some("c".into()), meta: None }.into())
                }
                _ => Ok(ServerResult::Empty),
            }
        }
    }

    #[test]
    fn no_spelling_of_a_blocked_name_passes() {
        let policy = ToolPolicy::block(["Delete", "löschen"]);
        for name in ["Delete", "delete", "DELETE", " Delete", "Delete ", "\tdelete\n", "LÖSCHEN"] {
            assert!(!policy.allows(name), "{name:?}");
        }
        assert!(policy.allows("Delete_all") && policy.allows("De lete"));
        assert!(!ToolPolicy::allow(["Delete"]).allows("delete"));
    }

    #[tokio::test]
    async fn only_allowed_tools_are_listed_and_called() {
        for (policy, allowed, blocked) in [
            (ToolPolicy::allow(["a", "c"]), "a", "b"),
            (ToolPolicy::block(["b", "c"]), "a", "b"),
            (ToolPolicy::block(["a"]), "b", "a"),
        ] {
            for writes_itself in [true, false] {
                let service = ToolPolicyLayer::new(policy.clone()).layer(Tools { writes_itself });
                let call = |name: &str| service.call(ServerRequest::CallTool(CallTool::new(name)), Context::detached());
                assert!(matches!(call(allowed).await, Ok(ServerResult::Empty)));
                assert_eq!(call(blocked).await.unwrap_err().code, code::INVALID_PARAMS);
                let list = ServerRequest::ListTools(ListTools { cursor: None, meta: None });
                let tools = match service.call(list, Context::detached()).await.unwrap() {
                    ServerResult::ListTools(page) => page.tools,
                    ServerResult::Body(body) => {
                        JsonObject::from_raw(&body.into_raw()).unwrap().member("tools").unwrap().clone()
                    }
                    other => panic!("{other:?}"),
                };
                let name = format!(r#""name":"{allowed}""#);
                assert!(tools.as_str().contains(&name) && tools.as_str().matches("name").count() == 1, "{tools}");
            }
        }
    }
}
