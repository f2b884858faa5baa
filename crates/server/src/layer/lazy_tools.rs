//! Shows clients three tools in place of a long list: `search_tools` finds tools by words, `describe_tools` returns their
//! definitions, and `call_tool` calls one.
//!
//! A list with all schemas is sent to the model in every conversation; three definitions are a few hundred tokens, and
//! only the schemas that a task needs are read. [`Server::lazy_tools`](crate::Server::lazy_tools) adds this layer.
//!
//! - `call_tool` becomes the call of the tool that it names, with the same `_meta`, task and context, before the
//!   service sees it. The result is the tool's, unchanged; the service checks the arguments as in a direct call.
//! - A tool can still be called by its own name. A tool whose name is one of the three is called with `call_tool`.
//! - The tools that a search finds are the tools of `tools/list`, as the same client would read it.
//! - A change of the list behind is not announced: the three stay the same.
//! - A host that shows MCP Apps sees the tools of apps in addition to the three, because it knows their pages by the
//!   list alone. The model neither finds nor calls tools that are for pages.

mod arguments;
pub(crate) mod definitions;
mod meta_tool;
mod rank;
pub(crate) mod request_target;
mod tool_list;
mod words;

use protomcp_schema::{ErrorMeta, INVALID_ARGUMENTS, did_you_mean};
use protomcp_types::{
    CallTool, CallToolResult, ContentBlock, ErrorObject, ListTools, ListToolsResult, Notification, RawJson,
    TaskSupport, array, code, method,
};

use crate::call::context::Context;
use crate::layer::lazy_tools::arguments::{Passed, Search};
use crate::layer::lazy_tools::definitions::KnownDefinitions;
use crate::layer::lazy_tools::meta_tool::{CALL, DESCRIBE, MetaTool, SEARCH};
use crate::layer::lazy_tools::tool_list::Listed;
use crate::service::outgoing_layer::OutgoingLayer;
use crate::service::{Layer, Service};
use protomcp_session::{ServerRequest, ServerResult, SessionId};

pub use crate::layer::lazy_tools::request_target::RequestTarget;

/// The error code of a call of a tool that does not exist.
const UNKNOWN_TOOL: &str = "UNKNOWN_TOOL";

/// The tools that a page lists by default.
const PAGE: usize = 50;

/// The settings of lazy discovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LazyTools {
    results: usize,
}

impl Default for LazyTools {
    fn default() -> Self {
        Self { results: 10 }
    }
}

impl LazyTools {
    /// Sets the number of tools that a search returns if the client sets no limit: 1 to 100, by default 10.
    #[must_use]
    pub fn with_results(mut self, results: usize) -> Self {
        self.results = results.clamp(1, meta_tool::MAX_RESULTS);
        self
    }
}

/// The layer, for a server whose calls may be tasks or not.
#[derive(Debug)]
pub(crate) struct LazyToolsLayer {
    pub(crate) settings: Option<LazyTools>,
    pub(crate) tasks: TaskSupport,
    pub(crate) behind: KnownDefinitions,
}

/// A service whose tools are found by search, unless the list is shown as it is.
#[derive(Debug)]
pub struct WithLazyTools<S> {
    inner: S,
    /// `None`: the list is shown.
    shown: Option<Shown>,
}

/// The list that clients see.
#[derive(Debug)]
struct Shown {
    settings: LazyTools,
    definitions: RawJson,
    /// The definitions of the tools behind, as far as they are known without a look at the list.
    behind: KnownDefinitions,
}

impl<S: Service> Layer<S> for LazyToolsLayer {
    type Service = WithLazyTools<S>;

    fn layer(&self, inner: S) -> WithLazyTools<S> {
        let definitions = MetaTool::definitions(self.tasks);
        let shown = |settings| Shown { settings, definitions, behind: self.behind.clone() };
        WithLazyTools { inner, shown: self.settings.map(shown) }
    }
}

impl<S: Service> Service for WithLazyTools<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        match (&self.shown, request) {
            // In boxes: the future of each request would hold them.
            (Some(shown), ServerRequest::ListTools(list)) => Box::pin(self.list(shown, &list, &context)).await,
            (Some(shown), ServerRequest::CallTool(call)) => match MetaTool::named(&call.name) {
                Some(tool) => Box::pin(self.call_meta_tool(shown, tool, call, &context)).await,
                None => self.inner.call(ServerRequest::CallTool(call), context).await,
            },
            (_, request) => self.inner.call(request, context).await,
        }
    }
}

impl Shown {
    /// The three, and these tools.
    fn with_apps(&self, tools: &[Listed]) -> Result<RawJson, ErrorObject> {
        let three = self.definitions.to::<Vec<RawJson>>().map_err(|error| ErrorObject::internal(error.to_string()))?;
        let apps = tools.iter().filter(|tool| tool.is_of_app() && MetaTool::named(&tool.name).is_none());
        Ok(array(three.into_iter().chain(apps.map(Listed::to_raw))))
    }
}

impl<S: Service> WithLazyTools<S> {
    async fn list(&self, shown: &Shown, list: &ListTools, context: &Context) -> Result<ServerResult, ErrorObject> {
        match list.cursor.as_deref() {
            None | Some("") if context.shows_apps() => {
                let tools = tool_list::read(&self.inner, context).await?;
                Ok(ListToolsResult::new(shown.with_apps(&tools)?).into())
            }
            None | Some("") => Ok(ListToolsResult::new(shown.definitions.clone()).into()),
            Some(cursor) => Err(ErrorObject::invalid_cursor(cursor)),
        }
    }

    /// The tools that the model may see.
    async fn for_model(&self, context: &Context) -> Result<Vec<Listed>, ErrorObject> {
        let mut tools = tool_list::read(&self.inner, context).await?;
        tools.retain(Listed::is_for_model);
        Ok(tools)
    }

    async fn call_meta_tool(
        &self,
        shown: &Shown,
        tool: MetaTool,
        call: CallTool,
        context: &Context,
    ) -> Result<ServerResult, ErrorObject> {
        match tool {
            MetaTool::Call => self.pass_on(shown, call, context).await,
            _ if call.task.is_some() => {
                Err(ErrorObject::method_not_found(&format!("tools/call of {} as a task", call.name)))
            }
            MetaTool::Search => Ok(match Search::read(&call) {
                Ok(search) => self.search(&search, shown.settings, context).await.unwrap_or_else(unlisted),
                Err(why) => invalid(&why),
            }
            .into()),
            MetaTool::Describe => Ok(match arguments::names(&call) {
                Ok(names) => self.describe(&names, context).await.unwrap_or_else(unlisted),
                Err(why) => invalid(&why),
            }
            .into()),
        }
    }

    async fn search(
        &self,
        search: &Search,
        settings: LazyTools,
        context: &Context,
    ) -> Result<CallToolResult, ErrorObject> {
        let tools = self.for_model(context).await?;
        Ok(CallToolResult::text(match search.query.trim() {
            "" => listing(&tools, search),
            query => matching(&tools, query, search.limit.unwrap_or(settings.results)),
        }))
    }

    async fn describe(&self, names: &[String], context: &Context) -> Result<CallToolResult, ErrorObject> {
        let tools = self.for_model(context).await?;
        let (mut blocks, mut found) = (Vec::with_capacity(names.len()), 0);
        for name in names {
            match find(&tools, name) {
                Some(tool) => {
                    found += 1;
                    blocks.push(ContentBlock::text(tool.definition().as_str()));
                }
                None => blocks.push(ContentBlock::text(unknown(&tools, name))),
            }
        }
        match found {
            0 => Ok(failed(UNKNOWN_TOOL, &unknown(&tools, &names[0]), blocks)),
            _ => Ok(CallToolResult::of(blocks)),
        }
    }

    /// True if the model may call the tool, or if there is none. Costs a look at the list if the server does not know the
    /// definition.
    async fn may_call(&self, shown: &Shown, name: &str, context: &Context) -> Result<bool, ErrorObject> {
        if let Some(tool) = shown.behind.find(name).as_ref().and_then(Listed::read) {
            return Ok(tool.is_for_model());
        }
        let tools = tool_list::read(&self.inner, context).await?;
        Ok(find(&tools, name).is_none_or(Listed::is_for_model))
    }

    /// Calls a tool for `call_tool`.
    async fn pass_on(&self, shown: &Shown, call: CallTool, context: &Context) -> Result<ServerResult, ErrorObject> {
        let is_task = call.task.is_some();
        let Passed { name, arguments } = match Passed::read(&call) {
            Ok(passed) => passed,
            Err(why) if is_task => return Err(ErrorObject::invalid_params(why)),
            Err(why) => return Ok(invalid(&why).into()),
        };
        let error = match self.may_call(shown, &name, context).await {
            Ok(true) => {
                let request = CallTool { name: name.clone(), arguments, meta: call.meta, task: call.task };
                match self.inner.call(ServerRequest::CallTool(request), context.clone()).await {
                    Err(error) if error.code == code::INVALID_PARAMS => error,
                    outcome => return outcome,
                }
            }
            Ok(false) => ErrorObject::unknown_tool(&name),
            Err(error) if is_task => return Err(error),
            Err(error) => return Ok(unlisted(error).into()),
        };
        match self.for_model(context).await {
            Ok(tools) if find(&tools, &name).is_none() => {
                let why = unknown(&tools, &name);
                if is_task {
                    return Err(ErrorObject::invalid_params(why));
                }
                Ok(failed(UNKNOWN_TOOL, &why, vec![ContentBlock::text(&why)]).into())
            }
            _ => Err(error),
        }
    }
}

/// All tools after a name, one page of them.
fn listing(tools: &[Listed], search: &Search) -> String {
    let before = tools.partition_point(|tool| tool.name.as_str() <= search.after.as_str());
    let rest = if search.after.is_empty() { tools } else { &tools[before..] };
    let shown = &rest[..rest.len().min(search.limit.unwrap_or(PAGE))];
    let mut text = match shown.len() {
        0 => format!("none of {} tools", tools.len()),
        count => format!("{count} of {} tools, by name", tools.len()),
    };
    if let (Some(last), true) = (shown.last(), shown.len() < rest.len()) {
        text += &format!("; the next page begins after {:?}", last.name);
    }
    with_lines(text, shown.iter())
}

/// The tools that match a query, best first.
fn matching(tools: &[Listed], query: &str, limit: usize) -> String {
    let texts: Vec<_> = tools.iter().map(Listed::texts).collect();
    let found = rank::rank(query, &texts);
    let shown = &found[..found.len().min(limit)];
    let text = match shown.len() {
        0 => {
            let hint = did_you_mean(query, tools.iter().map(|tool| tool.name.as_str()));
            format!("no tool matches{hint}; a search without a query lists all {}", tools.len())
        }
        count if count < found.len() => format!("the best {count} of {} matching tools", found.len()),
        1 => "1 matching tool".to_owned(),
        count => format!("{count} matching tools, best first"),
    };
    with_lines(text, shown.iter().map(|tool| &tools[*tool]))
}

fn with_lines<'a>(head: String, tools: impl Iterator<Item = &'a Listed>) -> String {
    tools.fold(head, |text, tool| text + "\n" + &tool.line())
}

fn find<'a>(tools: &'a [Listed], name: &str) -> Option<&'a Listed> {
    tools.binary_search_by(|tool| tool.name.as_str().cmp(name)).ok().map(|place| &tools[place])
}

/// The reason why a name is wrong, with the nearest one.
fn unknown(tools: &[Listed], name: &str) -> String {
    if MetaTool::named(name).is_some() {
        return format!("no tool has the name {name:?}; {SEARCH}, {DESCRIBE} and {CALL} are called directly");
    }
    let names = tools.iter().map(|tool| tool.name.as_str());
    match did_you_mean(name, names.clone()) {
        hint if hint.is_empty() => {
            let texts: Vec<_> = tools.iter().map(Listed::texts).collect();
            let near: Vec<_> = rank::rank(name, &texts).into_iter().take(3).map(|tool| &tools[tool].name).collect();
            match near.as_slice() {
                [] => format!("no tool has the name {name:?}; {SEARCH} finds tools by words"),
                near => format!("no tool has the name {name:?}; near are {near:?}"),
            }
        }
        hint => format!("no tool has the name {name:?}{hint}"),
    }
}

/// The result of a call with wrong arguments.
fn invalid(why: &str) -> CallToolResult {
    failed(INVALID_ARGUMENTS, why, vec![ContentBlock::text(why)])
}

/// The result of a search without a list.
fn unlisted(error: ErrorObject) -> CallToolResult {
    CallToolResult::error(error.message)
}

fn failed(code: &str, message: &str, blocks: Vec<ContentBlock>) -> CallToolResult {
    let meta = ErrorMeta { code: Some(code), message, suggestion: None, retryable: false, retry_after: None }.to_meta();
    CallToolResult { is_error: true, ..CallToolResult::of(blocks).with_meta(meta) }
}

/// Withholds the news that the list behind has changed.
pub(crate) struct ConstantTools;

impl OutgoingLayer for ConstantTools {
    fn notification(&self, _: SessionId, notification: Notification) -> Option<Notification> {
        (notification.method != method::TOOLS_CHANGED).then_some(notification)
    }
}
