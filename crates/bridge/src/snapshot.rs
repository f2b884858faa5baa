//! The list that requests read: immutable, shared, replaced as a whole.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use protomcp_mcp::SessionId;
use protomcp_toollist::{Selection, ToolList};
use protomcp_types::{ErrorObject, RawJson, ToolName, array};

use crate::tool::Tool;

/// Tools on one page of `tools/list`.
pub(crate) const PAGE: usize = 1000;
/// What a cursor of ours begins with; after it the name of the last tool on the page before, in hexadecimal.
const CURSOR: &str = "after-";

/// What every session sees.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    base: Arc<View>,
    overlays: HashMap<SessionId, Arc<View>>,
}

impl Snapshot {
    pub(crate) fn new(base: Arc<View>, overlays: HashMap<SessionId, Arc<View>>) -> Self {
        Self { base, overlays }
    }

    /// The list of one session.
    pub(crate) fn view(&self, session: SessionId) -> &Arc<View> {
        self.overlays.get(&session).unwrap_or(&self.base)
    }

    /// Whether every session sees the same in both.
    pub(crate) fn looks_like(&self, other: &Self) -> bool {
        self.overlays.is_empty() && other.overlays.is_empty() && self.base.active().eq(other.base.active())
    }

    #[cfg(test)]
    pub(crate) fn base(&self) -> &View {
        &self.base
    }
}

/// The tools seen through one selection.
#[derive(Debug, Default)]
pub(crate) struct View {
    tools: Arc<ToolList<ToolName, Arc<Tool>>>,
    selection: Selection<ToolName>,
    /// Serialized once, when the first host asks.
    pages: OnceLock<Vec<Page>>,
}

/// One page of `tools/list`, ready to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// The JSON array of definitions.
    pub(crate) tools: RawJson,
    /// The cursor of the page after it.
    pub(crate) next: Option<String>,
}

impl View {
    pub(crate) fn new(tools: Arc<ToolList<ToolName, Arc<Tool>>>, selection: Selection<ToolName>) -> Self {
        Self { tools, selection, pages: OnceLock::new() }
    }

    /// A tool the session may call.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.find(&self.selection, name)
    }

    /// What the session may call, sorted by name.
    pub(crate) fn active(&self) -> impl Iterator<Item = (&ToolName, &Arc<Tool>)> {
        self.tools.view(&self.selection)
    }

    /// The page that begins at `cursor`. A cursor names the last tool before the page, so a list that changes between
    /// two pages repeats nothing and skips nothing that stayed.
    ///
    /// # Errors
    /// −32602 for a cursor that no page of ours has ended with. An empty one is the beginning.
    pub(crate) fn page(&self, cursor: Option<&str>) -> Result<Page, ErrorObject> {
        let pages = self.pages.get_or_init(|| self.serialize(None));
        let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) else {
            return Ok(pages.first().cloned().unwrap_or(Page { tools: RawJson::EMPTY_ARRAY, next: None }));
        };
        let last =
            parse_cursor(cursor).ok_or_else(|| ErrorObject::invalid_params(format!("invalid cursor \"{cursor}\"")))?;
        let stored = pages.iter().position(|page| page.next.as_deref() == Some(cursor));
        match stored.and_then(|before| pages.get(before + 1)) {
            Some(page) => Ok(page.clone()),
            None => Ok(self
                .serialize(Some(&last))
                .into_iter()
                .next()
                .unwrap_or(Page { tools: RawJson::EMPTY_ARRAY, next: None })),
        }
    }

    fn serialize(&self, after: Option<&str>) -> Vec<Page> {
        let tools: Vec<_> = self.active().filter(|(name, _)| after.is_none_or(|after| name.as_str() > after)).collect();
        let chunks = tools.chunks(PAGE);
        let count = chunks.len();
        let page = |(index, chunk): (usize, &[(&ToolName, &Arc<Tool>)])| {
            let next = chunk.last().filter(|_| index + 1 < count).map(|(name, _)| write_cursor(name.as_str()));
            Page { tools: array(chunk.iter().map(|(_, tool)| tool.json().clone())), next }
        };
        chunks.enumerate().map(page).collect()
    }
}

fn write_cursor(last: &str) -> String {
    use std::fmt::Write;
    last.bytes().fold(CURSOR.to_owned(), |mut cursor, byte| {
        write!(cursor, "{byte:02x}").expect("a string takes everything");
        cursor
    })
}

fn parse_cursor(cursor: &str) -> Option<String> {
    let hex = cursor.strip_prefix(CURSOR)?;
    let digits = hex.len().is_multiple_of(2) && !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !digits {
        return None;
    }
    let bytes: Option<Vec<_>> =
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).ok()).collect();
    String::from_utf8(bytes?).ok()
}

#[cfg(test)]
mod tests {
    use protomcp_proto::ToolDefinition;

    use super::*;
    use crate::tool::SchemaPolicy;

    fn view(names: impl IntoIterator<Item = String>) -> View {
        let definitions: Vec<_> = names.into_iter().map(|name| ToolDefinition { name, ..Default::default() }).collect();
        let mut list = ToolList::new();
        list.register(Tool::all(&definitions, SchemaPolicy::Always, |_| None).0);
        View::new(Arc::new(list), Selection::open())
    }

    fn names(page: &Page) -> Vec<String> {
        let tools: Vec<serde_json::Value> = page.tools.to().unwrap();
        tools.into_iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn pages_are_sorted_and_complete() {
        let view = view((0..2500).rev().map(|n| format!("t{n:04}")));
        let mut seen = Vec::new();
        let mut cursor = None;
        loop {
            let page = view.page(cursor.as_deref()).unwrap();
            seen.extend(names(&page));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, (0..2500).map(|n| format!("t{n:04}")).collect::<Vec<_>>());
    }

    #[test]
    fn a_cursor_outlives_a_change_of_the_list() {
        let old = view((0..1500).map(|n| format!("t{n:04}")));
        let cursor = old.page(None).unwrap().next.unwrap();
        let new = view((500..1501).map(|n| format!("t{n:04}")).chain(["a".into()]));
        let page = new.page(Some(&cursor)).unwrap();
        assert_eq!((names(&page).first().unwrap().as_str(), names(&page).len(), page.next), ("t1000", 501, None));
    }

    #[test]
    fn only_our_cursors_are_accepted_and_an_empty_one_is_the_beginning() {
        let view = view(["a".into()]);
        assert_eq!(names(&view.page(Some("")).unwrap()), ["a"]);
        for bad in ["x", "after-", "after-6", "after-6g", "after-ff", "61"] {
            assert_eq!(view.page(Some(bad)).unwrap_err().code, -32602, "{bad}");
        }
        assert!(names(&view.page(Some("after-61")).unwrap()).is_empty());
    }
}
