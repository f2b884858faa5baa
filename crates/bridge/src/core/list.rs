//! The tool list of the current process, as each session sees it.
//!
//! There is one base list; a session gets its own selection once one of its calls has changed its view. A change for
//! all is applied to the base and to every such selection.

use std::collections::HashMap;
use std::sync::Arc;

use protomcp_envelope::ToolDefinition;
use protomcp_link::Middleware;
use protomcp_server::{Audience, SessionId};
use protomcp_toollist::{Command, Rejected, Selection, ToolList};
use protomcp_types::ToolName;

use crate::catalog::registration::Registration;
use crate::catalog::resources_and_prompts::Catalog;
use crate::catalog::snapshot::{Snapshot, View};
use crate::catalog::tool::{SchemaPolicy, Tool};
use crate::core::io::Effect;
use crate::diagnostics::report::Report;

/// The part of the selection that survives a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Everything: the process continues and remembers its hidden tools.
    Selection,
    /// Nothing: a new process starts with an open list and hides its hidden tools itself.
    Nothing,
}

/// The scope of the changes that a tool makes to the tool list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolLists {
    /// The list of one session: for changes in a result, or while only calls of that session are running. Otherwise
    /// every list.
    #[default]
    PerSession,
    /// Every list, for each caller, as before there were lists of sessions.
    Shared,
}

/// Tools, and the selections through which they are seen.
#[derive(Debug)]
pub(crate) struct List {
    policy: SchemaPolicy,
    lists: ToolLists,
    /// A tool changes the list for no session.
    is_fixed: bool,
    tools: Arc<ToolList<ToolName, Arc<Tool>>>,
    /// The last faults of the tools.
    faults: Vec<String>,
    /// In their order of arrival, to tell a real reload from a repeated registration.
    definitions: Registration,
    base: Selection<ToolName>,
    overlays: HashMap<SessionId, Selection<ToolName>>,
    /// The resources, templates and prompts of the snapshot.
    catalog: Arc<Catalog>,
    snapshot: Arc<Snapshot>,
}

impl List {
    pub(crate) fn new(policy: SchemaPolicy, lists: ToolLists) -> Self {
        Self {
            policy,
            lists,
            is_fixed: false,
            tools: Arc::default(),
            faults: Vec::new(),
            definitions: Registration::default(),
            base: Selection::open(),
            overlays: HashMap::new(),
            catalog: Arc::default(),
            snapshot: Arc::default(),
        }
    }

    /// A list that tools change for no session, because the next call of the session may go to another process.
    pub(crate) fn fixed(self) -> Self {
        Self { is_fixed: true, ..self }
    }

    /// True if the answer to a reload request registers something else than before.
    pub(crate) fn differs_from(&self, registered: &Registration) -> bool {
        registered.differs_from(&self.definitions)
    }

    /// Replaces the tools. Returns true if any session sees a difference.
    pub(crate) fn register(&mut self, registered: Registration, keep: Keep, fx: &mut Vec<Effect>) -> bool {
        if let Some(definitions) = &registered.tools {
            let proven = |name: &ToolName| self.tools.find(&Selection::open(), name).map(AsRef::as_ref);
            let policy = match self.policy {
                SchemaPolicy::Proven if registered.structured => SchemaPolicy::Always,
                policy => policy,
            };
            let (tools, faults) = Tool::all(definitions, policy, proven);
            // A process that sends the same list again has the same faults.
            if keep == Keep::Nothing || self.faults != faults {
                fx.extend(faults.iter().map(|fault| Effect::Report(Report::Definition(fault.clone()))));
                self.faults = faults;
            }
            let mut list = ToolList::new();
            list.register(tools);
            self.tools = Arc::new(list);
        }
        if keep == Keep::Nothing {
            self.base = Selection::open();
            self.overlays.clear();
        }
        for command in &registered.early {
            if let Err(rejected) = self.base.apply(command) {
                fx.push(refused(rejected));
            }
        }
        let tools = registered.tools.or_else(|| self.definitions.tools.take());
        self.definitions = Registration { tools, early: Vec::new(), ..registered };
        self.publish(fx)
    }

    /// The process sent a new list unasked.
    pub(crate) fn listed(&mut self, tools: Vec<ToolDefinition>, fx: &mut Vec<Effect>) {
        let registered = Registration { tools: Some(tools.into()), ..self.definitions.clone() };
        if self.register(registered, Keep::Selection, fx) {
            fx.push(Effect::ToolsChanged(Audience::Everyone));
        }
    }

    /// The process registered one more middleware: a reload with the same one does not count as a change.
    pub(crate) fn intercepts(&mut self, middleware: Middleware) {
        let known = &mut self.definitions.middleware;
        known.retain(|known| known.name != middleware.name);
        known.push(middleware);
    }

    /// A tool sent a result that matches its output schema: clients see the schema from now on.
    pub(crate) fn proven(&mut self, name: &ToolName, fx: &mut Vec<Effect>) {
        let Some(proven) = self.tools.find(&Selection::open(), name).and_then(|tool| tool.proven()) else { return };
        let proven = Arc::new(proven);
        let choose = |tool: &Arc<Tool>| Arc::clone(if tool.name() == name { &proven } else { tool });
        let tools = self.tools.registered().map(|(known, tool)| (known.clone(), choose(tool))).collect();
        Arc::make_mut(&mut self.tools).register(tools);
        if self.publish(fx) {
            fx.push(Effect::ToolsChanged(Audience::Everyone));
        }
    }

    /// Applies a command for one session, or for all.
    pub(crate) fn control(
        &mut self,
        session: Option<SessionId>,
        command: Result<Command<ToolName>, Rejected>,
        fx: &mut Vec<Effect>,
    ) {
        let applied = command.and_then(|command| match self.whose(session) {
            // MCP 2026-07-28, server/tools: a request never changes the view of another one, so there is nothing to
            // select.
            Some(SessionId::STATELESS) => {
                tracing::debug!(?command, "a stateless or ended call wants to enable or disable tools: not applied");
                Ok(())
            }
            Some(session) => self.control_one(session, &command, fx),
            None => self.control_all(&command, fx),
        });
        if let Err(rejected) = applied {
            fx.push(refused(rejected));
        }
    }

    fn control_one(
        &mut self,
        session: SessionId,
        command: &Command<ToolName>,
        fx: &mut Vec<Effect>,
    ) -> Result<(), Rejected> {
        let before = self.selection(Some(session));
        let mut after = before.clone();
        let change = self.tools.apply_to(&mut after, command)?;
        if *before != after {
            self.overlays.insert(session, after);
            self.publish(fx);
        }
        if !change.is_empty() {
            fx.push(Effect::ToolsChanged(Audience::Session(session)));
        }
        Ok(())
    }

    fn control_all(&mut self, command: &Command<ToolName>, fx: &mut Vec<Effect>) -> Result<(), Rejected> {
        let mut changed = !self.tools.apply_to(&mut self.base, command)?.is_empty();
        for selection in self.overlays.values_mut() {
            changed |= !self.tools.apply_to(selection, command)?.is_empty();
        }
        self.publish(fx);
        if changed {
            fx.push(Effect::ToolsChanged(Audience::Everyone));
        }
        Ok(())
    }

    /// Publishes another catalog with the next change of the list.
    pub(crate) fn set_catalog(&mut self, catalog: &Arc<Catalog>) {
        self.catalog = Arc::clone(catalog);
    }

    /// Publishes the catalog if it is another one.
    pub(crate) fn show(&mut self, catalog: &Arc<Catalog>, fx: &mut Vec<Effect>) {
        if !Arc::ptr_eq(&self.catalog, catalog) {
            self.set_catalog(catalog);
            self.publish(fx);
        }
    }

    /// Drops the selection of a session.
    pub(crate) fn forget(&mut self, session: SessionId, fx: &mut Vec<Effect>) {
        if self.overlays.remove(&session).is_some() {
            self.publish(fx);
        }
    }

    fn whose(&self, session: Option<SessionId>) -> Option<SessionId> {
        match self.lists {
            _ if self.is_fixed => Some(SessionId::STATELESS),
            ToolLists::PerSession => session,
            ToolLists::Shared => session.filter(|session| *session == SessionId::STATELESS),
        }
    }

    /// The tools that the session, or a session without its own selection, may call; sorted.
    pub(crate) fn active_names(&self, session: Option<SessionId>) -> Vec<String> {
        self.tools.view(self.selection(session)).map(|(name, _)| name.to_string()).collect()
    }

    fn selection(&self, session: Option<SessionId>) -> &Selection<ToolName> {
        session.and_then(|session| self.overlays.get(&session)).unwrap_or(&self.base)
    }

    /// Publishes the present list. Returns true if any session sees a difference.
    fn publish(&mut self, fx: &mut Vec<Effect>) -> bool {
        let view = |selection: &Selection<ToolName>| Arc::new(View::new(Arc::clone(&self.tools), selection.clone()));
        let overlays = self.overlays.iter().map(|(session, selection)| (*session, view(selection))).collect();
        let registered = self.definitions.tools.clone().unwrap_or_default();
        let snapshot = Snapshot::new(view(&self.base), overlays, Arc::clone(&self.catalog)).with_registered(registered);
        let before = std::mem::replace(&mut self.snapshot, Arc::new(snapshot));
        fx.push(Effect::Publish(Arc::clone(&self.snapshot)));
        !before.looks_like(&self.snapshot)
    }

    #[cfg(test)]
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
}

fn refused(rejected: Rejected) -> Effect {
    Effect::Report(Report::ControlRejected { why: rejected.to_string() })
}
