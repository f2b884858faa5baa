//! The four lists: fetched from each server page by page, merged under the names of the gateway.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use protomcp_client::{ClientSession, RequestError};
use protomcp_schema::Pages;
use protomcp_server::{ServerRequest, ServerResult};
use protomcp_types::{
    ErrorObject, JsonObject, ListPrompts, ListPromptsResult, ListResourceTemplates, ListResourceTemplatesResult,
    ListResources, ListResourcesResult, ListTools, ListToolsResult, RawJson, ServerCapabilities,
};

use crate::limits::{GatewayLimits, MAX_LIST_BYTES, MAX_PAGES};

/// A list of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ListKind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

/// The elements of one server, by the member that identifies them.
pub(crate) type Elements = Vec<(String, RawJson)>;

/// The elements of all servers.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    elements: BTreeMap<String, RawJson>,
    pages: Pages,
}

impl ListKind {
    fn request(self, cursor: Option<String>) -> ServerRequest {
        match self {
            Self::Tools => ServerRequest::ListTools(ListTools { cursor, meta: None }),
            Self::Resources => ServerRequest::ListResources(ListResources { cursor, meta: None }),
            Self::Templates => ServerRequest::ListResourceTemplates(ListResourceTemplates { cursor, meta: None }),
            Self::Prompts => ServerRequest::ListPrompts(ListPrompts { cursor, meta: None }),
        }
    }

    /// The member of a page with its elements.
    fn elements(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }

    /// The member that identifies an element.
    fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    /// True if names carry the prefix of their server.
    fn has_prefix(self) -> bool {
        matches!(self, Self::Tools | Self::Prompts)
    }

    /// True if a server with these capabilities has the list.
    pub(crate) fn is_offered(self, capabilities: &ServerCapabilities) -> bool {
        match self {
            Self::Tools => capabilities.tools.is_some(),
            Self::Resources | Self::Templates => capabilities.resources.is_some(),
            Self::Prompts => capabilities.prompts.is_some(),
        }
    }

    fn result(self, items: RawJson, next_cursor: Option<String>) -> ServerResult {
        match self {
            Self::Tools => ListToolsResult { tools: items, next_cursor, meta: None }.into(),
            Self::Resources => ListResourcesResult { resources: items, next_cursor, meta: None }.into(),
            Self::Templates => {
                ListResourceTemplatesResult { resource_templates: items, next_cursor, meta: None }.into()
            }
            Self::Prompts => ListPromptsResult { prompts: items, next_cursor, meta: None }.into(),
        }
    }
}

/// All elements of one server, in its own order. Elements that cannot be read are left out, with a warning.
pub(crate) async fn fetch(
    kind: ListKind,
    session: &ClientSession,
    limits: &GatewayLimits,
) -> Result<Elements, RequestError> {
    let (mut elements, mut bytes) = (Elements::new(), 0);
    let (mut cursors, mut cursor) = (HashSet::new(), None);
    loop {
        let request = session.forward(kind.request(cursor.take())).timeout(limits.list_timeout);
        let raw = request.total_timeout(limits.list_timeout).raw().await?;
        bytes += raw.len();
        let mut page = JsonObject::from_raw(&raw).map_err(|error| invalid(&error))?;
        let items = page.take(kind.elements()).ok_or_else(|| invalid(&"a page has no elements"))?;
        for item in items.to::<Vec<RawJson>>().map_err(|error| invalid(&error))? {
            let key = JsonObject::from_raw(&item).ok().and_then(|item| item.member(kind.key())?.to::<String>().ok());
            match key {
                Some(key) => elements.push((key, item)),
                None => tracing::warn!(?kind, "left an element that cannot be read out of a list"),
            }
        }
        match page.take("nextCursor").and_then(|next| next.to::<Option<String>>().ok().flatten()) {
            None => return Ok(elements),
            Some(_) if bytes > MAX_LIST_BYTES => return Err(invalid(&"the list is too long")),
            Some(next) if cursors.len() + 1 < MAX_PAGES && cursors.insert(next.clone()) => cursor = Some(next),
            Some(_) => return Err(invalid(&"the list does not end")),
        }
    }
}

fn invalid(why: &dyn std::fmt::Display) -> RequestError {
    RequestError::InvalidAnswer(why.to_string())
}

impl Merged {
    /// Adds the elements of a server. An element whose name is taken is left out, with a warning.
    pub(crate) fn add(&mut self, kind: ListKind, server: &str, prefix: &str, elements: Elements) {
        let prefix = if kind.has_prefix() { prefix } else { "" };
        for (key, item) in elements {
            let name = format!("{prefix}{key}");
            match self.elements.entry(name) {
                std::collections::btree_map::Entry::Vacant(place) => {
                    let item = if prefix.is_empty() { item } else { renamed(kind, &item, place.key()) };
                    place.insert(item);
                }
                std::collections::btree_map::Entry::Occupied(place) => {
                    tracing::warn!(server, ?kind, name = place.key(), "left an element out: its name is taken");
                }
            }
        }
    }

    /// The page that begins at `cursor`. The list is returned as well if another page follows.
    ///
    /// # Errors
    /// −32602 for a cursor that no page has ended with.
    pub(crate) fn page(
        self: Arc<Self>,
        kind: ListKind,
        cursor: Option<&str>,
    ) -> Result<(ServerResult, Option<Arc<Self>>), ErrorObject> {
        let all = || self.elements.iter().map(|(name, item)| (name.as_str(), item));
        let page = self.pages.page(all, cursor)?;
        let rest = page.next.is_some().then(|| Arc::clone(&self));
        Ok((kind.result(page.items, page.next), rest))
    }
}

/// The definition with another name; everything else stays.
fn renamed(kind: ListKind, item: &RawJson, name: &str) -> RawJson {
    match JsonObject::from_raw(item) {
        Ok(members) => members.with(kind.key(), RawJson::text(name)).to_body().into_raw(),
        Err(_) => item.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(name: &str) -> (String, RawJson) {
        let text = format!(r#"{{ "title":"T","name":"{name}","later":1.0 }}"#);
        (name.to_owned(), RawJson::parse(text).unwrap())
    }

    #[test]
    fn names_carry_the_prefix_and_nothing_else_changes() {
        let mut merged = Merged::default();
        merged.add(ListKind::Tools, "b", "b_", vec![element("x")]);
        merged.add(ListKind::Tools, "a", "", vec![element("x"), element("x"), element("b_x")]);
        let (result, rest) = Arc::new(merged).page(ListKind::Tools, None).unwrap();
        let ServerResult::ListTools(page) = result else { panic!("{result:?}") };
        let expected = r#"[{"title":"T","name":"b_x","later":1.0},{ "title":"T","name":"x","later":1.0 }]"#;
        assert_eq!((page.tools.as_str(), rest.is_none()), (expected, true));
    }

    #[test]
    fn resources_have_no_prefix() {
        let mut merged = Merged::default();
        merged.add(ListKind::Resources, "a", "a_", vec![("x:1".into(), RawJson::EMPTY_OBJECT)]);
        let (result, _) = Arc::new(merged).page(ListKind::Resources, None).unwrap();
        assert!(matches!(result, ServerResult::ListResources(page) if page.resources.as_str() == "[{}]"));
    }
}
