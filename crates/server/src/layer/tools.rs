//! Shows and calls only some of the tools of a service.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use protomcp_types::{ErrorObject, JsonObject, Kind, RawJson, array};

use crate::call::context::Context;
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

    fn names(&self) -> &BTreeSet<String> {
        let (Self::Allow(names) | Self::Block(names)) = self;
        names
    }
}

/// Leaves other tools out of `tools/list`, and answers calls of them as if they did not exist. A name that no tool has is
/// logged once, as a warning: it may be misspelt.
#[derive(Debug, Clone)]
pub struct ToolPolicyLayer(Arc<ToolPolicy>);

/// A service behind a [`ToolPolicyLayer`].
#[derive(Debug)]
pub struct WithToolPolicy<S> {
    inner: S,
    policy: Arc<ToolPolicy>,
    /// A whole list was compared with the names of the policy.
    is_compared: AtomicBool,
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
        WithToolPolicy { inner, policy: Arc::clone(&self.0), is_compared: AtomicBool::new(false) }
    }
}

impl<S: Service> Service for WithToolPolicy<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        match request {
            ServerRequest::CallTool(call) if !self.policy.allows(&call.name) => {
                Err(ErrorObject::unknown_tool(&call.name))
            }
            ServerRequest::ListTools(ref list) if self.policy.restricts() => {
                let is_first = list.cursor.is_none();
                self.list(self.inner.call(request, context).await?, is_first)
            }
            request => self.inner.call(request, context).await,
        }
    }
}

/// True if no page follows the one with these members.
fn is_last(members: &JsonObject) -> bool {
    members.member("nextCursor").is_none_or(|cursor| cursor.kind() == Kind::Null)
}

impl<S> WithToolPolicy<S> {
    /// A page with the allowed tools only. `is_first`: it is the first one.
    fn list(&self, page: ServerResult, is_first: bool) -> Result<ServerResult, ErrorObject> {
        match page {
            ServerResult::ListTools(mut page) => {
                page.tools = self.allowed(&page.tools, is_first && page.next_cursor.is_none())?;
                Ok(page.into())
            }
            // A service that writes its results itself.
            ServerResult::Body(body) => {
                let unreadable = |error| ErrorObject::internal(format!("the list of tools cannot be read: {error}"));
                let mut members = JsonObject::from_raw(&body.into_raw()).map_err(unreadable)?;
                if let Some(tools) = members.member("tools") {
                    let tools = self.allowed(tools, is_first && is_last(&members))?;
                    members.insert("tools", tools);
                }
                Ok(ServerResult::Body(members.to_body()))
            }
            other => Ok(other),
        }
    }

    /// The ones among the definitions that the policy allows. One without a name cannot be called, and is left out.
    /// `is_whole`: there are no others.
    fn allowed(&self, tools: &RawJson, is_whole: bool) -> Result<RawJson, ErrorObject> {
        let tools: Vec<RawJson> =
            tools.to().map_err(|error| ErrorObject::internal(format!("the list of tools cannot be read: {error}")))?;
        let named = tools.into_iter().filter_map(|tool| {
            let name = JsonObject::from_raw(&tool).ok()?.member("name")?.to::<String>().ok()?;
            Some((name, tool))
        });
        let named: Vec<(String, RawJson)> = named.collect();
        if is_whole && !self.is_compared.swap(true, Ordering::Relaxed) {
            for name in unknown(&self.policy, named.iter().map(|(name, _)| name.as_str())) {
                tracing::warn!("the policy for tools names {name:?}, and there is no such tool");
            }
        }
        Ok(array(named.into_iter().filter(|(name, _)| self.policy.allows(name)).map(|(_, tool)| tool)))
    }
}

/// The names of a policy that no tool has.
fn unknown<'a>(policy: &'a ToolPolicy, tools: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let blocks = matches!(policy, ToolPolicy::Block(_));
    let form = |name: &str| if blocks { folded(name) } else { name.to_owned() };
    let tools: BTreeSet<_> = tools.map(form).collect();
    policy.names().iter().map(String::as_str).filter(|name| !tools.contains(&form(name))).collect()
}

/// A name without case and without blanks around it.
fn folded(name: &str) -> String {
    name.trim().to_lowercase()
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
    fn names_that_no_tool_has_are_found() {
        let found = |policy: &ToolPolicy| unknown(policy, ["a", "b"].into_iter()).join(" ");
        assert_eq!(found(&ToolPolicy::block(["a", "drop_tabel"])), "drop_tabel");
        assert_eq!(found(&ToolPolicy::allow(["a", "b"])), "");
        assert_eq!((found(&ToolPolicy::block([" A"])), found(&ToolPolicy::allow(["A"]))), (String::new(), "A".into()));
    }

    #[test]
    fn a_list_ends_without_a_cursor_or_with_null() {
        for (page, expected) in [("{}", true), (r#"{"nextCursor":null}"#, true), (r#"{"nextCursor":""}"#, false)] {
            let members = JsonObject::from_raw(&RawJson::parse(page).unwrap()).unwrap();
            assert_eq!(is_last(&members), expected, "{page}");
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
