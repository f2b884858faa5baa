//! The four lists: fetched from each server page by page, merged under the names of the gateway.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use protomcp_client::{ClientSession, Cursors, NextPage, RequestError};
use protomcp_schema::Pages;
use protomcp_server::{ServerRequest, ServerResult};
use protomcp_types::{
    ErrorObject, JsonObject, ListPrompts, ListPromptsResult, ListResourceTemplates, ListResourceTemplatesResult,
    ListResources, ListResourcesResult, ListTools, ListToolsResult, RawJson, ServerCapabilities, UriTemplate,
};

use crate::interner::Weigh;
use crate::limits::{GatewayLimits, MAX_LIST_BYTES};
use crate::upstream::Upstream;

/// A list of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ListKind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

/// The bytes that an element takes in addition to its text.
const ELEMENT_OVERHEAD: usize = 128;

/// The elements of one server, by the member that identifies them, which is in the elements of a list once.
#[derive(Debug, Default)]
pub(crate) struct ServerList {
    /// Sorted.
    elements: Vec<(String, RawJson)>,
    /// The templates of a list of templates.
    templates: Vec<UriTemplate>,
}

/// The elements of all servers.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    elements: BTreeMap<String, RawJson>,
    pages: Pages,
}

impl ServerList {
    /// Of elements with one name the first counts.
    pub(crate) fn new(kind: ListKind, mut elements: Vec<(String, RawJson)>) -> Self {
        elements.sort_by(|(one, _), (other, _)| one.cmp(other));
        elements.dedup_by(|(later, _), (first, _)| {
            let is_taken = later == first;
            if is_taken {
                tracing::warn!(?kind, name = first, "left an element out: the server has listed its name twice");
            }
            is_taken
        });
        let texts = elements.iter().filter(|_| kind == ListKind::Templates).map(|(text, _)| text);
        let templates = texts.filter_map(|text| UriTemplate::parse(text).ok()).collect();
        Self { elements, templates }
    }

    /// The element with this name or URI.
    pub(crate) fn element(&self, name: &str) -> Option<&RawJson> {
        let place = self.elements.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        Some(&self.elements[place].1)
    }

    /// True if a URI is one of a template.
    pub(crate) fn matches(&self, uri: &str) -> bool {
        self.templates.iter().any(|template| template.matches(uri))
    }
}

/// The templates follow from the elements.
impl PartialEq for ServerList {
    fn eq(&self, other: &Self) -> bool {
        self.elements == other.elements
    }
}

impl Eq for ServerList {}

impl Hash for ServerList {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.elements.hash(state);
    }
}

impl Weigh for ServerList {
    fn bytes(&self) -> usize {
        self.elements.iter().map(|(name, item)| 2 * name.len() + item.len() + ELEMENT_OVERHEAD).sum()
    }
}

/// The pages follow from the elements.
impl PartialEq for Merged {
    fn eq(&self, other: &Self) -> bool {
        self.elements == other.elements
    }
}

impl Eq for Merged {}

impl Hash for Merged {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.elements.hash(state);
    }
}

impl Weigh for Merged {
    /// Each element is in a page as well.
    fn bytes(&self) -> usize {
        self.elements.iter().map(|(name, item)| name.len() + 2 * item.len() + ELEMENT_OVERHEAD).sum()
    }
}

impl ListKind {
    /// All lists.
    pub(crate) const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::Templates, Self::Prompts];

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

/// All elements of one server. Elements that cannot be read are left out, with a warning.
pub(crate) async fn fetch(
    kind: ListKind,
    session: &ClientSession,
    limits: &GatewayLimits,
) -> Result<ServerList, RequestError> {
    let (mut elements, mut bytes, mut left_out) = (Vec::new(), 0, 0_usize);
    let (mut cursors, mut cursor) = (Cursors::default(), None);
    loop {
        let before = elements.len();
        let request = session.forward(kind.request(cursor.take())).timeout(limits.list_timeout);
        let raw = request.total_timeout(limits.list_timeout).raw().await?;
        bytes += raw.len();
        let mut page = JsonObject::from_raw(&raw).map_err(|error| invalid(&error))?;
        let items = page.take(kind.elements()).ok_or_else(|| invalid(&"a page has no elements"))?;
        for item in items.to::<Vec<RawJson>>().map_err(|error| invalid(&error))? {
            let key = JsonObject::from_raw(&item).ok().and_then(|item| item.member(kind.key())?.to::<String>().ok());
            match key {
                Some(_) if kind == ListKind::Tools && !session.learn_tool(&item) => {}
                Some(key) => elements.push((key, item)),
                None => left_out += 1,
            }
        }
        let next = page.take("nextCursor").and_then(|next| next.to::<Option<String>>().ok().flatten());
        match cursors.next(next).map_err(|error| invalid(&error))? {
            NextPage::At(_) if bytes > MAX_LIST_BYTES => return Err(invalid(&"the list is too long")),
            NextPage::At(next) => {
                cursor = Some(next);
                continue;
            }
            NextPage::End => {}
            NextPage::Repeated => elements.truncate(before),
        }
        if left_out > 0 {
            tracing::warn!(?kind, left_out, "left elements that cannot be read out of a list");
        }
        return Ok(ServerList::new(kind, elements));
    }
}

fn invalid(why: &dyn std::fmt::Display) -> RequestError {
    RequestError::InvalidAnswer(why.to_string())
}

impl Merged {
    /// Adds the elements of a server. An element whose name is taken, or belongs to another server (`is_own`), is left
    /// out, with a warning.
    pub(crate) fn add(
        &mut self,
        kind: ListKind,
        upstream: &Upstream,
        elements: &ServerList,
        is_own: impl Fn(&str) -> bool,
    ) {
        let prefix = if kind.has_prefix() { upstream.name_prefix() } else { "" };
        let server = upstream.name();
        for (key, item) in &elements.elements {
            let name = format!("{prefix}{key}");
            if kind.has_prefix() && !is_own(&name) {
                tracing::warn!(
                    server,
                    ?kind,
                    name,
                    "left an element out: its name begins with another server's prefix"
                );
                continue;
            }
            match self.elements.entry(name) {
                std::collections::btree_map::Entry::Vacant(place) => {
                    let item = if prefix.is_empty() { item.clone() } else { renamed(kind, item, place.key()) };
                    place.insert(item);
                }
                std::collections::btree_map::Entry::Occupied(place) => {
                    tracing::warn!(server, ?kind, name = place.key(), "left an element out: its name is taken");
                }
            }
        }
    }

    /// The page that begins at `cursor`, and true if another page follows.
    ///
    /// # Errors
    /// −32602 for a cursor that no page has ended with.
    pub(crate) fn page(&self, kind: ListKind, cursor: Option<&str>) -> Result<(ServerResult, bool), ErrorObject> {
        let all = || self.elements.iter().map(|(name, item)| (name.as_str(), item));
        let page = self.pages.page(all, cursor)?;
        let has_more = page.next.is_some();
        Ok((kind.result(page.items, page.next), has_more))
    }
}

/// The definition with another name; everything else stays.
pub(crate) fn renamed(kind: ListKind, item: &RawJson, name: &str) -> RawJson {
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

    fn upstream(name: &str, prefix: &str) -> Upstream {
        Upstream::new(name.to_owned(), || async { Err("it is not connected".into()) }).prefix(prefix.to_owned())
    }

    fn list(elements: Vec<(String, RawJson)>) -> ServerList {
        ServerList::new(ListKind::Tools, elements)
    }

    #[test]
    fn names_carry_the_prefix_and_nothing_else_changes() {
        let mut merged = Merged::default();
        merged.add(ListKind::Tools, &upstream("b", "b_"), &list(vec![element("x")]), |_| true);
        let elements = list(vec![element("x"), element("x"), element("b_x"), element("b_y")]);
        merged.add(ListKind::Tools, &upstream("a", ""), &elements, |name| !name.starts_with("b_"));
        let (result, has_more) = merged.page(ListKind::Tools, None).unwrap();
        let ServerResult::ListTools(page) = result else { panic!("{result:?}") };
        let expected = r#"[{"title":"T","name":"b_x","later":1.0},{ "title":"T","name":"x","later":1.0 }]"#;
        assert_eq!((page.tools.as_str(), has_more), (expected, false));
    }

    #[test]
    fn resources_have_no_prefix() {
        let mut merged = Merged::default();
        let elements = ServerList::new(ListKind::Resources, vec![("x:1".into(), RawJson::EMPTY_OBJECT)]);
        merged.add(ListKind::Resources, &upstream("a", "a_"), &elements, |_| false);
        let (result, _) = merged.page(ListKind::Resources, None).unwrap();
        assert!(matches!(result, ServerResult::ListResources(page) if page.resources.as_str() == "[{}]"));
    }

    #[test]
    fn elements_are_found_by_name_and_template() {
        let first = RawJson::parse("1").unwrap();
        let elements = ["test:{id}", "a", "{bad", "a"].map(|name| (name.to_owned(), first.clone()));
        let list = ServerList::new(ListKind::Templates, elements.into());
        assert_eq!((list.elements.len(), list.element("a"), list.element("b")), (3, Some(&first), None));
        assert!(list.matches("test:7") && !list.matches("other:7"));
    }
}
