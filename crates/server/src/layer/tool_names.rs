//! Warns of configured names that no tool has.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use protomcp_types::{ErrorObject, JsonObject, Kind, RawJson};

use crate::call::context::Context;
use crate::service::{Layer, Service};
use protomcp_session::{ServerRequest, ServerResult};

/// Compares the names of tools in a setting with the tools of a service. A name that no listed tool has is logged once, as a
/// warning: it may be misspelt, and the setting has no effect then. It may also be the name of a tool that is hidden at
/// first, such as a later step of a workflow, for which the setting holds.
///
/// The names are compared when a client lists the tools for the first time. A list of several pages is not compared. The
/// default has no names.
#[derive(Debug, Clone, Default)]
pub struct ToolNamesLayer(Arc<ToolNames>);

/// A service behind a [`ToolNamesLayer`].
#[derive(Debug)]
pub struct WithToolNames<S> {
    inner: S,
    configured: Arc<ToolNames>,
    is_compared: AtomicBool,
}

/// The spellings of a name that mean the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spelling {
    /// Only the one of the tool.
    #[default]
    Exact,
    /// Any that differs in case or in blanks around it alone, as [`folded`] has it.
    Any,
}

#[derive(Debug, Default)]
struct ToolNames {
    setting: &'static str,
    names: BTreeSet<String>,
    spelling: Spelling,
}

/// A name without case and without blanks around it. A server may take names for the same that are equal in this form.
#[must_use]
pub fn folded(name: &str) -> String {
    name.trim().to_lowercase()
}

impl ToolNamesLayer {
    /// A layer for these names. `setting` is where they are from, for the log, such as a flag.
    pub fn new<N: Into<String>>(setting: &'static str, names: impl IntoIterator<Item = N>, spelling: Spelling) -> Self {
        Self(Arc::new(ToolNames { setting, names: names.into_iter().map(Into::into).collect(), spelling }))
    }
}

impl<S: Service> Layer<S> for ToolNamesLayer {
    type Service = WithToolNames<S>;

    fn layer(&self, inner: S) -> WithToolNames<S> {
        let is_compared = AtomicBool::new(self.0.names.is_empty());
        WithToolNames { inner, configured: Arc::clone(&self.0), is_compared }
    }
}

impl<S: Service> Service for WithToolNames<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        let is_first = matches!(&request, ServerRequest::ListTools(list) if list.cursor.is_none());
        let result = self.inner.call(request, context).await?;
        if is_first
            && !self.is_compared.load(Ordering::Relaxed)
            && let Some(tools) = whole_list(&result)
            && !self.is_compared.swap(true, Ordering::Relaxed)
        {
            for name in self.configured.unknown(&tools) {
                tracing::warn!("{} names {name:?}, and no listed tool has this name", self.configured.setting);
            }
        }
        Ok(result)
    }
}

impl ToolNames {
    /// The names that no tool has.
    fn unknown<'a>(&'a self, tools: &'a [String]) -> impl Iterator<Item = &'a str> {
        let form = |name: &str| match self.spelling {
            Spelling::Exact => name.to_owned(),
            Spelling::Any => folded(name),
        };
        let tools: BTreeSet<_> = tools.iter().map(|name| form(name)).collect();
        self.names.iter().map(String::as_str).filter(move |name| !tools.contains(&form(name)))
    }
}

/// The names of the tools of a page, if no other follows.
fn whole_list(page: &ServerResult) -> Option<Vec<String>> {
    match page {
        ServerResult::ListTools(page) => page.next_cursor.is_none().then(|| names(&page.tools)),
        // A service that writes its results itself.
        ServerResult::Body(body) => {
            let members = JsonObject::from_raw(&body.clone().into_raw()).ok()?;
            is_last(&members).then(|| members.member("tools").map(names).unwrap_or_default())
        }
        _ => None,
    }
}

/// True if no page follows the one with these members.
fn is_last(members: &JsonObject) -> bool {
    members.member("nextCursor").is_none_or(|cursor| cursor.kind() == Kind::Null)
}

fn names(tools: &RawJson) -> Vec<String> {
    let tools: Vec<RawJson> = tools.to().unwrap_or_default();
    tools.iter().filter_map(|tool| JsonObject::from_raw(tool).ok()?.member("name")?.to().ok()).collect()
}

#[cfg(test)]
mod tests {
    use protomcp_types::ListToolsResult;

    use super::*;

    #[test]
    fn names_that_no_tool_has_are_found() {
        let tools = ["a", "b"].map(str::to_owned);
        for (name, is_unknown_exactly, is_unknown) in
            [("a", false, false), (" A", true, false), ("drop_tabel", true, true)]
        {
            for (spelling, expected) in [(Spelling::Exact, is_unknown_exactly), (Spelling::Any, is_unknown)] {
                let configured = ToolNames { setting: "", names: BTreeSet::from([name.to_owned()]), spelling };
                assert_eq!(configured.unknown(&tools).count() == 1, expected, "{name:?} {spelling:?}");
            }
        }
    }

    #[test]
    fn only_a_whole_list_is_compared() {
        for (cursor, is_whole) in [("", true), (r#","nextCursor":null"#, true), (r#","nextCursor":"""#, false)] {
            let members = format!(r#"{{"tools":[{{"name":"a"}},{{"later":1}}]{cursor}}}"#);
            let body = JsonObject::from_raw(&RawJson::parse(members).unwrap()).unwrap().to_body();
            let names = whole_list(&ServerResult::Body(body));
            assert_eq!(names, is_whole.then(|| vec!["a".to_owned()]), "{cursor}");
        }
        for (next_cursor, is_whole) in [(None, true), (Some("c".into()), false)] {
            let tools = RawJson::parse(r#"[{"name":"a"}]"#).unwrap();
            let page = ListToolsResult { tools, next_cursor, meta: None };
            assert_eq!(whole_list(&page.into()), is_whole.then(|| vec!["a".to_owned()]));
        }
        assert_eq!(whole_list(&ServerResult::Empty), None);
    }
}
