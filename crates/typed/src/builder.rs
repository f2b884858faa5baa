//! Builds a registry, and reports its faults before a client is served.

use std::fmt;
use std::sync::Arc;

use protomcp_schema::PAGE_SIZE;
use protomcp_server::{Audience, Limits, ServerHandle, ServerInfo, SessionId, Tasks};
use protomcp_types::{ServerCapabilities, TaskSupport};

use crate::collection::{Announce, Collection, Entries, define_all};
use crate::definition::DefinitionError;
use crate::group::Group;
use crate::prompt::Prompt;
use crate::registry::{Inner, Registry};
use crate::resource::Resource;
use crate::template::Template;
use crate::tool::Tool;
use crate::tool::entry::Entry;
use crate::tool_selection::ToolSelection;
use crate::workflow::Workflow;

/// Builds a [`Registry`].
#[derive(Debug)]
pub struct Builder {
    info: ServerInfo,
    limits: Limits,
    page: usize,
    tools: Vec<Tool>,
    groups: Vec<Group>,
    workflows: Vec<Workflow>,
    prompts: Vec<Prompt>,
    resources: Vec<Resource>,
    templates: Vec<Template>,
    later: Vec<Capability>,
    selection: Option<ToolSelection>,
    roots_changed: Option<OnRoots>,
}

/// Called when the roots of a client have changed.
pub(crate) struct OnRoots(pub(crate) Box<dyn Fn(SessionId) + Send + Sync>);

impl fmt::Debug for OnRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnRoots").finish_non_exhaustive()
    }
}

/// A capability that a server declares before it has an entry of that kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// Tools.
    Tools,
    /// Tools whose calls can be tasks.
    Tasks,
    /// Prompts, and completion of their arguments.
    Prompts,
    /// Resources and templates, and completion of their variables.
    Resources,
}

impl Builder {
    pub(crate) fn new(name: String, version: String) -> Self {
        Self {
            info: ServerInfo::new(name, version),
            limits: Limits::default(),
            page: PAGE_SIZE,
            tools: Vec::new(),
            groups: Vec::new(),
            workflows: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            later: Vec::new(),
            selection: None,
            roots_changed: None,
        }
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds the tools of a group.
    #[must_use]
    pub fn group(mut self, group: Group) -> Self {
        self.groups.push(group);
        self
    }

    /// Adds the tools of a workflow.
    #[must_use]
    pub fn workflow(mut self, workflow: Workflow) -> Self {
        self.workflows.push(workflow);
        self
    }

    /// Adds a prompt.
    #[must_use]
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompts.push(prompt);
        self
    }

    /// Adds a resource.
    #[must_use]
    pub fn resource(mut self, resource: Resource) -> Self {
        self.resources.push(resource);
        self
    }

    /// Adds a resource template.
    #[must_use]
    pub fn template(mut self, template: Template) -> Self {
        self.templates.push(template);
        self
    }

    /// Lets handlers show and hide tools with this selection, which belongs to one registry.
    #[must_use]
    pub fn selection(mut self, selection: &ToolSelection) -> Self {
        self.selection = Some(selection.clone());
        self
    }

    /// Declares a capability for which there is no entry yet. Capabilities of the first entries are declared without
    /// this; an entry that needs another one cannot be added later.
    #[must_use]
    pub fn declare(mut self, capability: Capability) -> Self {
        self.later.push(capability);
        self
    }

    /// Calls a function when the roots of a client have changed; [`ServerHandle::ask`] requests the new ones. It must
    /// not block. Only stateful revisions have such a notification.
    #[must_use]
    pub fn on_roots_changed(mut self, changed: impl Fn(SessionId) + Send + Sync + 'static) -> Self {
        self.roots_changed = Some(OnRoots(Box::new(changed)));
        self
    }

    /// Sets the title, for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info = self.info.with_title(title);
        self
    }

    /// Sets the instructions, for the model.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.info = self.info.with_instructions(instructions);
        self
    }

    /// Sets the limits of each session.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the number of entries on a page of a list, at least one. Default 1000.
    #[must_use]
    pub fn page_size(mut self, entries: usize) -> Self {
        self.page = entries;
        self
    }

    /// Checks every definition and compiles every schema.
    ///
    /// # Errors
    /// The first fault of a definition.
    pub fn build(mut self) -> Result<Registry, DefinitionError> {
        for group in std::mem::take(&mut self.groups) {
            self.tools.extend(group.into_tools()?);
        }
        for workflow in std::mem::take(&mut self.workflows) {
            self.tools.extend(workflow.into_tools()?);
        }
        let tools = define_all(self.tools)?;
        let prompts = define_all(self.prompts)?;
        let resources = define_all(self.resources)?;
        let templates = define_all(self.templates)?;
        let later = |capability| self.later.contains(&capability);
        let mut capabilities = ServerCapabilities::default().with_logging();
        let with_tasks = have_tasks(&tools) || later(Capability::Tasks);
        if !tools.is_empty() || with_tasks || later(Capability::Tools) {
            capabilities = capabilities.with_tools();
        }
        if with_tasks {
            capabilities = capabilities.with_tasks().with_task_extension();
        }
        if !prompts.is_empty() || later(Capability::Prompts) {
            capabilities = capabilities.with_prompts().with_completions();
        }
        if !resources.is_empty() || !templates.is_empty() || later(Capability::Resources) {
            capabilities = capabilities.with_resources().with_completions();
        }
        let sessions = ServerHandle::new(self.info.with_capabilities(capabilities), self.limits);
        let selection = self.selection.unwrap_or_default();
        selection.define(&tools).map_err(|_| DefinitionError::TooManyHidden)?;
        let announce_tools = announce_tools(sessions.clone(), selection.clone());
        let tools = Arc::new(Collection::new(tools, self.page, announce_tools));
        selection.serve(&tools, sessions.clone()).map_err(|_| DefinitionError::SelectionTaken)?;
        Ok(Registry::new(Inner {
            tools,
            selection,
            prompts: Collection::new(prompts, self.page, announce(sessions.clone(), Capability::Prompts)),
            resources: Collection::new(resources, self.page, announce(sessions.clone(), Capability::Resources)),
            templates: Collection::new(templates, self.page, announce(sessions.clone(), Capability::Resources)),
            tasks: Tasks::new(sessions.clone()),
            sessions,
            roots_changed: self.roots_changed,
        }))
    }
}

/// Notifies all clients that a list has changed, unless its capability is not declared.
fn announce<C: 'static>(sessions: ServerHandle, capability: Capability) -> Announce<C> {
    Box::new(move |_| tell(&sessions, capability))
}

/// Like [`announce`]; also fails for a new tool that supports tasks if that capability is not declared. New hidden tools
/// are hidden first.
fn announce_tools(sessions: ServerHandle, selection: ToolSelection) -> Announce<Entry> {
    Box::new(move |tools| {
        if have_tasks(tools) && sessions.info().capabilities.tasks.is_none() {
            return Err(DefinitionError::NotServed("tasks"));
        }
        if sessions.info().capabilities.tools.is_some() {
            selection.define(tools).map_err(|_| DefinitionError::TooManyHidden)?;
        }
        tell(&sessions, Capability::Tools)
    })
}

fn tell(sessions: &ServerHandle, capability: Capability) -> Result<(), DefinitionError> {
    let capabilities = &sessions.info().capabilities;
    let (offered, what) = match capability {
        Capability::Tools | Capability::Tasks => (capabilities.tools, "tools"),
        Capability::Prompts => (capabilities.prompts, "prompts"),
        Capability::Resources => (capabilities.resources, "resources"),
    };
    if offered.is_none() {
        return Err(DefinitionError::NotServed(what));
    }
    match capability {
        Capability::Tools | Capability::Tasks => sessions.tools_changed(Audience::Everyone),
        Capability::Prompts => sessions.prompts_changed(Audience::Everyone),
        Capability::Resources => sessions.resources_changed(Audience::Everyone),
    }
    Ok(())
}

fn have_tasks(tools: &Entries<Entry>) -> bool {
    tools.values().any(|tool| tool.content.tasks.support != TaskSupport::Forbidden)
}
