//! Everything that a server offers, ready to be served to any number of hosts at once.

use std::fmt;
use std::sync::Arc;

use protomcp_mcp::{
    Audience, Context, Handler, Limits, Router, Server, ServerInfo, ServerRequest, ServerResult, Service, SessionId,
    SessionView, Sessions,
};
use protomcp_types::{CallTool, CallToolResult, ErrorObject, ListTools, ListToolsResult, ServerCapabilities};

use crate::collection::{Collection, define_all};
use crate::definition::DefinitionError;
use crate::schema::nearest::hint;
use crate::tool::Tool;

/// The tools of a server. Cloning is cheap, and all clones are one.
///
/// ```
/// use protomcp_typed::{Registry, Tool};
///
/// # fn main() -> Result<(), protomcp_typed::DefinitionError> {
/// let registry = Registry::builder("greeter", "1.0")
///     .tool(Tool::new("greet", "Say hi").handler(async || "Hello!"))
///     .build()?;
/// // `registry.server().serve(transport)` serves a host; meanwhile:
/// registry.tools().insert(Tool::new("part", "Say goodbye").handler(async || "Goodbye!"))?;
/// assert_eq!(registry.tools().names(), ["greet", "part"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Registry(Arc<Inner>);

struct Inner {
    sessions: Sessions,
    tools: Collection<Tool>,
}

/// Puts a [`Registry`] together.
#[derive(Debug)]
pub struct Builder {
    info: ServerInfo,
    limits: Limits,
    page: usize,
    tools: Vec<Tool>,
    later: Vec<Offer>,
}

/// What a server can offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// Tools.
    Tools,
}

/// How many entries a page of a list holds unless said otherwise.
pub const PAGE: usize = 1000;

impl Registry {
    /// Begins a registry.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> Builder {
        Builder {
            info: ServerInfo::new(name, version),
            limits: Limits::default(),
            page: PAGE,
            tools: Vec::new(),
            later: Vec::new(),
        }
    }

    /// The tools, which can change at any time.
    #[must_use]
    pub fn tools(&self) -> &Collection<Tool> {
        &self.0.tools
    }

    /// The sessions of all servers of this registry.
    #[must_use]
    pub fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    /// A server, to which layers can be added.
    #[must_use]
    pub fn server(&self) -> Server<Router<Self>> {
        Server::over(self.0.sessions.clone(), Router::new(self.clone()))
    }
}

impl Builder {
    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Tells hosts from the start that there will be something, although there is nothing yet.
    #[must_use]
    pub fn serve_later(mut self, offer: Offer) -> Self {
        self.later.push(offer);
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

    /// Sets how many entries a page of a list holds, at least one. [`PAGE`] unless said otherwise.
    #[must_use]
    pub fn page_size(mut self, entries: usize) -> Self {
        self.page = entries;
        self
    }

    /// Checks every definition and compiles every schema.
    ///
    /// # Errors
    /// The first definition that is wrong.
    pub fn build(self) -> Result<Registry, DefinitionError> {
        let tools = define_all(self.tools)?;
        let mut capabilities = ServerCapabilities::default().with_logging();
        if !tools.is_empty() || self.later.contains(&Offer::Tools) {
            capabilities = capabilities.with_tools();
        }
        let sessions = Sessions::new(self.info.with_capabilities(capabilities), self.limits);
        let announce = {
            let sessions = sessions.clone();
            Box::new(move || {
                if sessions.info().capabilities.tools.is_none() {
                    return Err(DefinitionError::NotServed("tools"));
                }
                sessions.tools_changed(Audience::Everyone);
                Ok(())
            })
        };
        Ok(Registry(Arc::new(Inner { tools: Collection::new(tools, self.page, announce), sessions })))
    }
}

impl Handler for Registry {
    fn info(&self) -> ServerInfo {
        ServerInfo::clone(self.0.sessions.info())
    }

    async fn list_tools(&self, request: ListTools, _: Context) -> Result<ListToolsResult, ErrorObject> {
        let page = self.0.tools.page(request.cursor.as_deref())?;
        Ok(ListToolsResult { tools: page.items, next_cursor: page.next, meta: None })
    }

    async fn call_tool(&self, call: CallTool, context: Context) -> Result<CallToolResult, ErrorObject> {
        let tools = self.0.tools.snapshot();
        let Some(tool) = tools.find(&call.name) else {
            let mut error = ErrorObject::unknown_tool(&call.name);
            error.message = format!("{}{}", error.message, hint(&call.name, tools.keys())).into();
            return Err(error);
        };
        match tool.call(ServerRequest::CallTool(call), context).await? {
            ServerResult::CallTool(result) => Ok(result),
            other => {
                tracing::error!(?other, "a layer of a tool answers with something else");
                Err(ErrorObject::internal("the tool has answered with something else"))
            }
        }
    }

    fn session_opened(&self, session: &SessionView) {
        self.0.tools.snapshot().contents().for_each(|tool| tool.session_opened(session));
    }

    fn session_closed(&self, session: SessionId) {
        self.0.tools.snapshot().contents().for_each(|tool| tool.session_closed(session));
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("tools", &self.0.tools).finish_non_exhaustive()
    }
}
