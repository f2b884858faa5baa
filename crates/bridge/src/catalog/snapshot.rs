//! The lists that requests read: immutable, shared, replaced as a whole.

use std::collections::HashMap;
use std::sync::Arc;

use protomcp_envelope::ToolDefinition;
use protomcp_server::SessionId;
use protomcp_toollist::{Selection, ToolList};
use protomcp_types::{ErrorObject, ToolName};

use crate::catalog::resources_and_prompts::Catalog;
use crate::catalog::tool::Tool;
use protomcp_schema::{Page, Pages};

/// The lists of every session.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    base: Arc<View>,
    overlays: HashMap<SessionId, Arc<View>>,
    catalog: Arc<Catalog>,
    registered: Arc<[ToolDefinition]>,
}

impl Snapshot {
    pub(crate) fn new(base: Arc<View>, overlays: HashMap<SessionId, Arc<View>>, catalog: Arc<Catalog>) -> Self {
        Self { base, overlays, catalog, registered: Arc::default() }
    }

    /// With the definitions that the process has sent.
    pub(crate) fn with_registered(self, registered: Arc<[ToolDefinition]>) -> Self {
        Self { registered, ..self }
    }

    /// The definitions that the process has sent, in their order.
    pub(crate) fn registered(&self) -> &[ToolDefinition] {
        &self.registered
    }

    /// The tools of one session.
    pub(crate) fn view(&self, session: SessionId) -> &Arc<View> {
        self.overlays.get(&session).unwrap_or(&self.base)
    }

    /// Resources, templates and prompts; the same for all.
    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Every session sees the same tools in both.
    pub(crate) fn looks_like(&self, other: &Self) -> bool {
        let same = |one: &View, other: &View| one.active().eq(other.active());
        let mut own = self.overlays.keys().chain(other.overlays.keys());
        same(&self.base, &other.base) && own.all(|session| same(self.view(*session), other.view(*session)))
    }

    /// The tools of a session without its own selection.
    pub(crate) fn base(&self) -> &View {
        &self.base
    }
}

/// The tools seen through one selection.
#[derive(Debug, Default)]
pub(crate) struct View {
    tools: Arc<ToolList<ToolName, Arc<Tool>>>,
    selection: Selection<ToolName>,
    pages: Pages,
}

impl View {
    pub(crate) fn new(tools: Arc<ToolList<ToolName, Arc<Tool>>>, selection: Selection<ToolName>) -> Self {
        Self { tools, selection, pages: Pages::default() }
    }

    /// A tool the session may call.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.find(&self.selection, name)
    }

    /// A tool that the process has registered, hidden or not.
    pub(crate) fn registered(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.find(&Selection::open(), name)
    }

    /// The tools that the session may call, sorted by name.
    pub(crate) fn active(&self) -> impl Iterator<Item = (&ToolName, &Arc<Tool>)> {
        self.tools.view(&self.selection)
    }

    /// A page of `tools/list`; see [`Pages::page`].
    pub(crate) fn page(&self, cursor: Option<&str>) -> Result<Page, ErrorObject> {
        self.pages.page(|| self.active().map(|(name, tool)| (name.as_str(), tool.json())), cursor)
    }
}
