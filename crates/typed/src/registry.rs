//! The tools, prompts and resources of a server, ready to be served to any number of clients concurrently.

use std::fmt;
use std::sync::Arc;

use protomcp_schema::did_you_mean;
use protomcp_server::{
    Context, Handler, Router, ServeError, Server, ServerHandle, ServerInfo, SessionHandle, SessionId, SessionView,
    Tasks,
};
use protomcp_transport::Transport;
use protomcp_types::{
    CallTool, CallToolResult, Complete, CompleteResult, CreateTaskResult, ErrorObject, GetPrompt, GetPromptResult,
    JsonObject, ListPrompts, ListPromptsResult, ListResourceTemplates, ListResourceTemplatesResult, ListResources,
    ListResourcesResult, ListTools, ListToolsResult, Notification, RawJson, ReadResource, ReadResourceResult,
    Reference, Subscribe, is_same_uri, method,
};

use crate::builder::{Builder, OnRoots};
use crate::collection::{Collection, Snapshot};
use crate::prompt::Prompt;
use crate::resource::Resource;
use crate::template::{Template, TemplateContent};
use crate::tool::Tool;
use crate::tool::entry::Entry;
use crate::tool_selection::{ToolSelection, Visibility};

/// The tools, prompts, resources and templates of a server. Cloning is cheap; clones share everything.
///
/// ```
/// use protomcp_typed::{Registry, Tool};
///
/// # fn main() -> Result<(), protomcp_typed::DefinitionError> {
/// let registry = Registry::builder("greeter", "1.0")
///     .tool(Tool::new("greet", "Say hi").handler(async || "Hello!"))
///     .build()?;
/// // While `registry.serve(transport)` serves a client:
/// registry.tools().insert(Tool::new("part", "Say goodbye").handler(async || "Goodbye!"))?;
/// assert_eq!(registry.tools().names(), ["greet", "part"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Registry(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) sessions: ServerHandle,
    pub(crate) tasks: Tasks,
    pub(crate) tools: Arc<Collection<Tool>>,
    pub(crate) selection: ToolSelection,
    pub(crate) prompts: Collection<Prompt>,
    pub(crate) resources: Collection<Resource>,
    pub(crate) templates: Collection<Template>,
    pub(crate) roots_changed: Option<OnRoots>,
}

impl Registry {
    /// Begins a registry.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> Builder {
        Builder::new(name.into(), version.into())
    }

    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// The tools, which can change at any time.
    #[must_use]
    pub fn tools(&self) -> &Collection<Tool> {
        &self.0.tools
    }

    /// The prompts, which can change at any time.
    #[must_use]
    pub fn prompts(&self) -> &Collection<Prompt> {
        &self.0.prompts
    }

    /// The resources, which can change at any time. Their names are their URIs.
    #[must_use]
    pub fn resources(&self) -> &Collection<Resource> {
        &self.0.resources
    }

    /// The resource templates, which can change at any time. Their names are their URI templates.
    #[must_use]
    pub fn templates(&self) -> &Collection<Template> {
        &self.0.templates
    }

    /// Notifies the clients that have subscribed to a resource that its contents have changed.
    pub fn resource_updated(&self, uri: &str) {
        self.0.sessions.resource_updated(uri);
    }

    /// The sessions of all servers of this registry.
    #[must_use]
    pub fn sessions(&self) -> &ServerHandle {
        &self.0.sessions
    }

    /// A server, to which layers can be added.
    #[must_use]
    pub fn server(&self) -> Server<Router<Self>> {
        Server::with_sessions(self.0.sessions.clone(), self.clone())
    }

    /// Serves one client in the background; see [`Server::connect`].
    pub fn connect(&self, transport: impl Transport) -> SessionHandle {
        self.server().connect(transport)
    }

    /// Serves one client; see [`Server::serve`].
    ///
    /// # Errors
    /// See [`Server::serve`].
    pub fn serve<T: Transport>(&self, transport: T) -> impl Future<Output = Result<(), ServeError>> + Send + use<T> {
        self.server().serve(transport)
    }

    fn is_known(&self, uri: &str) -> bool {
        self.0.resources.snapshot().keys().any(|known| is_same_uri(known, uri))
            || self.0.templates.snapshot().contents().any(|template| template.stands_for(uri))
    }
}

impl Handler for Registry {
    fn info(&self) -> ServerInfo {
        ServerInfo::clone(self.0.sessions.info())
    }

    async fn list_tools(&self, request: ListTools, context: Context) -> Result<ListToolsResult, ErrorObject> {
        let cursor = request.cursor.as_deref();
        let page = match self.0.selection.view(&context) {
            None => self.0.tools.page(cursor)?,
            Some(view) => {
                self.0.tools.snapshot().chosen(cursor, |name, tool, definition| match view.of(name, tool) {
                    Visibility::Shown => Some(definition.clone()),
                    Visibility::Hidden => None,
                    Visibility::Marked => Some(marked(definition)),
                })?
            }
        };
        Ok(ListToolsResult { tools: page.items, next_cursor: page.next, meta: None })
    }

    async fn call_tool(&self, call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        let tools = self.0.tools.snapshot();
        self.find(&tools, &call.name, &context)?.call(call, context).await
    }

    async fn call_tool_as_task(&self, call: CallTool, context: Context) -> Result<CreateTaskResult, ErrorObject> {
        let tools = self.0.tools.snapshot();
        self.find(&tools, &call.name, &context)?.begin(&self.0.tasks, call, &context).await
    }

    fn tasks(&self) -> Option<&Tasks> {
        Some(&self.0.tasks)
    }

    fn tool_definition(&self, tool: &str) -> Option<RawJson> {
        self.0.tools.snapshot().definition(tool).cloned()
    }

    async fn list_resources(&self, request: ListResources, _: Context) -> Result<ListResourcesResult, ErrorObject> {
        let page = self.0.resources.page(request.cursor.as_deref())?;
        Ok(ListResourcesResult { resources: page.items, next_cursor: page.next, meta: None })
    }

    async fn list_resource_templates(
        &self,
        request: ListResourceTemplates,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorObject> {
        let page = self.0.templates.page(request.cursor.as_deref())?;
        Ok(ListResourceTemplatesResult { resource_templates: page.items, next_cursor: page.next, meta: None })
    }

    async fn read_resource(&self, request: ReadResource, context: Context) -> Result<ReadResourceResult, ErrorObject> {
        let resources = self.0.resources.snapshot();
        // Clients encode URIs.
        let same = || resources.entries().find(|(known, _)| is_same_uri(known, &request.uri)).map(|(_, found)| found);
        if let Some(resource) = resources.find(&request.uri).or_else(same) {
            return resource.read(request.uri, context).await;
        }
        let templates = self.0.templates.snapshot();
        let mut candidates: Vec<_> = templates.contents().filter(|one| one.stands_for(&request.uri)).collect();
        candidates.sort_by_key(|template| std::cmp::Reverse(template.literal()));
        match candidates.into_iter().find_map(|template| template.read(&request.uri, &context)) {
            Some(reading) => reading.await,
            None => Err(ErrorObject::resource_not_found(&request.uri)),
        }
    }

    async fn subscribe(&self, request: Subscribe, _: Context) -> Result<(), ErrorObject> {
        if self.is_known(&request.uri) { Ok(()) } else { Err(ErrorObject::resource_not_found(&request.uri)) }
    }

    async fn list_prompts(&self, request: ListPrompts, _: Context) -> Result<ListPromptsResult, ErrorObject> {
        let page = self.0.prompts.page(request.cursor.as_deref())?;
        Ok(ListPromptsResult { prompts: page.items, next_cursor: page.next, meta: None })
    }

    async fn get_prompt(&self, request: GetPrompt, context: Context) -> Result<GetPromptResult, ErrorObject> {
        let prompts = self.0.prompts.snapshot();
        match prompts.find(&request.name) {
            Some(prompt) => prompt.run(&request, context).await,
            None => Err(with_hint(ErrorObject::unknown_prompt(&request.name), &request.name, prompts.keys())),
        }
    }

    async fn complete(&self, request: Complete, context: Context) -> Result<CompleteResult, ErrorObject> {
        let completion = match &request.reference {
            Reference::Prompt { name } => {
                let prompts = self.0.prompts.snapshot();
                let Some(prompt) = prompts.find(name) else {
                    return Err(with_hint(ErrorObject::unknown_prompt(name), name, prompts.keys()));
                };
                prompt.arguments.complete(request, context, |_| Vec::new()).await?
            }
            Reference::Resource { uri } => {
                let templates = self.0.templates.snapshot();
                let Some(template) = templates.find(uri) else {
                    let unknown = ErrorObject::invalid_params(format!("unknown resource template {uri:?}"));
                    return Err(with_hint(unknown, uri, templates.keys()));
                };
                template.arguments.complete(request, context, |name| self.values_of(template, name)).await?
            }
        };
        Ok(completion.into())
    }

    fn session_selection(&self, session: SessionId) -> Option<RawJson> {
        self.0.selection.saved(session)
    }

    fn session_restored(&self, session: &SessionView, selection: Option<&RawJson>) {
        if let Some(selection) = selection {
            self.0.selection.restore(session.id, selection);
        }
    }

    fn session_closed(&self, session: SessionId) {
        self.0.selection.forget(session);
    }

    fn notified(&self, session: SessionId, notification: &Notification) {
        if let Some(OnRoots(changed)) =
            self.0.roots_changed.as_ref().filter(|_| notification.method == method::ROOTS_CHANGED)
        {
            changed(session);
        }
    }
}

impl Registry {
    /// The tool with this name, if the caller sees it.
    fn find<'a>(&self, tools: &'a Snapshot<Entry>, name: &str, context: &Context) -> Result<&'a Entry, ErrorObject> {
        let view = self.0.selection.view(context);
        let is_shown = |(name, tool): &(&str, &Entry)| match &view {
            None => true,
            Some(view) => view.of(name, tool) != Visibility::Hidden,
        };
        if let Some(tool) = tools.find(name).filter(|tool| is_shown(&(name, tool))) {
            return Ok(tool);
        }
        let shown = tools.entries().filter(is_shown).map(|(name, _)| name);
        Err(with_hint(ErrorObject::unknown_tool(name), name, shown))
    }

    /// The values of a variable in the URIs of listed resources.
    fn values_of(&self, template: &TemplateContent, variable: &str) -> Vec<String> {
        let resources = self.0.resources.snapshot();
        let mut values: Vec<String> = resources
            .keys()
            .filter_map(|uri| template.template.captures(uri)?.get(variable).map(std::borrow::Cow::into_owned))
            .collect();
        values.sort_unstable();
        values.dedup();
        values
    }
}

/// The definition with the mark of a hidden tool.
fn marked(definition: &RawJson) -> RawJson {
    let mut members = JsonObject::from_raw(definition).unwrap_or_default();
    let meta = members.member("_meta").and_then(|meta| JsonObject::from_raw(meta).ok()).unwrap_or_default();
    members.insert(
        "_meta",
        meta.with(Context::HIDDEN_MARK, RawJson::of(&true).unwrap_or(RawJson::NULL)).to_body().into_raw(),
    );
    members.to_body().into_raw()
}

fn with_hint<'a>(mut error: ErrorObject, wrong: &str, names: impl IntoIterator<Item = &'a str>) -> ErrorObject {
    error.message = format!("{}{}", error.message, did_you_mean(wrong, names)).into();
    error
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("tools", &self.0.tools)
            .field("prompts", &self.0.prompts)
            .field("resources", &self.0.resources)
            .field("templates", &self.0.templates)
            .finish_non_exhaustive()
    }
}
