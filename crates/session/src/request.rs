//! The requests of a client and the results of a server: one enum each.
//!
//! Layers wrap these two types and nothing else. A method that has no variant travels as [`ServerRequest::Other`], so
//! that a layer can still see it.

use std::borrow::Cow;

use protomcp_types::{
    CallTool, CallToolResult, CancelTask, Complete, CompleteResult, CreateTaskResult, ErrorObject, GetPrompt,
    GetPromptResult, GetTask, GetTaskPayload, JsonBuf, JsonObject, ListPrompts, ListPromptsResult,
    ListResourceTemplates, ListResourceTemplatesResult, ListResources, ListResourcesResult, ListTasks, ListTasksResult,
    ListTools, ListToolsResult, Method, Params, RawJson, ReadResource, ReadResourceResult, ServerCapabilities,
    Subscribe, Task, Unsubscribe,
};

use crate::info::Limits;
use crate::input::InputRequired;

/// A request that the session does not answer by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerRequest {
    /// `tools/list`
    ListTools(ListTools),
    /// `tools/call`. With `task` only if the client may request one; it is then answered by
    /// [`ServerResult::CreateTask`].
    CallTool(CallTool),
    /// `resources/list`
    ListResources(ListResources),
    /// `resources/templates/list`
    ListResourceTemplates(ListResourceTemplates),
    /// `resources/read`
    ReadResource(ReadResource),
    /// `resources/subscribe`; the session keeps the subscription when the answer is not an error.
    Subscribe(Subscribe),
    /// `resources/unsubscribe`; the session forgets the subscription when the answer is not an error.
    Unsubscribe(Unsubscribe),
    /// `prompts/list`
    ListPrompts(ListPrompts),
    /// `prompts/get`
    GetPrompt(GetPrompt),
    /// `completion/complete`
    Complete(Complete),
    /// `tasks/get`
    GetTask(GetTask),
    /// `tasks/result`
    GetTaskPayload(GetTaskPayload),
    /// `tasks/list`
    ListTasks(ListTasks),
    /// `tasks/cancel`
    CancelTask(CancelTask),
    /// Any other method.
    Other {
        /// Its name.
        method: Cow<'static, str>,
        /// Its parameters, unread.
        params: Params,
    },
}

/// The answer to a [`ServerRequest`]. It stays typed until it is written, because its shape depends on the revision.
#[derive(Debug, Clone)]
pub enum ServerResult {
    /// Answers `tools/list`.
    ListTools(ListToolsResult),
    /// Answers `tools/call`.
    CallTool(CallToolResult),
    /// Answers `resources/list`.
    ListResources(ListResourcesResult),
    /// Answers `resources/templates/list`.
    ListResourceTemplates(ListResourceTemplatesResult),
    /// Answers `resources/read`.
    ReadResource(ReadResourceResult),
    /// Answers `prompts/list`.
    ListPrompts(ListPromptsResult),
    /// Answers `prompts/get`.
    GetPrompt(GetPromptResult),
    /// Answers `completion/complete`.
    Complete(CompleteResult),
    /// Answers a `tools/call` that continues as a task.
    CreateTask(CreateTaskResult),
    /// Answers `tasks/get` and `tasks/cancel`.
    Task(Task),
    /// Answers `tasks/list`.
    ListTasks(ListTasksResult),
    /// Asks the client first; only for requests that may ask (see
    /// `Context::input_required` of the server).
    InputRequired(InputRequired),
    /// `{}`
    Empty,
    /// Any other object.
    Body(JsonBuf),
}

impl ServerRequest {
    /// Reads the parameters of a request.
    ///
    /// # Errors
    /// −32602 when they do not fit the method.
    pub fn read(method: Cow<'static, str>, params: Params) -> Result<Self, ErrorObject> {
        match method.as_ref() {
            CallTool::NAME => params.try_into().map(Self::CallTool),
            ListTools::NAME => params.try_into().map(Self::ListTools),
            ListResources::NAME => params.try_into().map(Self::ListResources),
            ListResourceTemplates::NAME => params.try_into().map(Self::ListResourceTemplates),
            ReadResource::NAME => params.try_into().map(Self::ReadResource),
            Subscribe::NAME => params.try_into().map(Self::Subscribe),
            Unsubscribe::NAME => params.try_into().map(Self::Unsubscribe),
            ListPrompts::NAME => params.try_into().map(Self::ListPrompts),
            GetPrompt::NAME => params.try_into().map(Self::GetPrompt),
            Complete::NAME => params.try_into().map(Self::Complete),
            GetTask::NAME => params.try_into().map(Self::GetTask),
            GetTaskPayload::NAME => params.try_into().map(Self::GetTaskPayload),
            ListTasks::NAME => params.try_into().map(Self::ListTasks),
            CancelTask::NAME => params.try_into().map(Self::CancelTask),
            _ => Ok(Self::Other { method, params }),
        }
    }

    /// The requests beyond [`Limits::max_pending`] among which this one finds room. Lists, and requests about the state
    /// of tasks, have [`Limits::CONTROL_ROOM`]: they need no turn of a tool, and calls do not keep them out.
    #[must_use]
    pub fn extra_room(&self) -> usize {
        match self {
            Self::ListTools(_)
            | Self::ListResources(_)
            | Self::ListResourceTemplates(_)
            | Self::ListPrompts(_)
            | Self::GetTask(_)
            | Self::ListTasks(_)
            | Self::CancelTask(_) => Limits::CONTROL_ROOM,
            _ => 0,
        }
    }

    /// True if a server with these capabilities answers a method. One that does not know a feature does not have its
    /// methods either (MCP 2025-11-25, basic/lifecycle, capability negotiation).
    #[must_use]
    pub fn is_offered(method: &str, capabilities: &ServerCapabilities) -> bool {
        match method {
            CallTool::NAME | ListTools::NAME => capabilities.tools.is_some(),
            ListResources::NAME | ListResourceTemplates::NAME | ReadResource::NAME => capabilities.resources.is_some(),
            Subscribe::NAME | Unsubscribe::NAME => capabilities.resources.is_some_and(|can| can.subscribe),
            ListPrompts::NAME | GetPrompt::NAME => capabilities.prompts.is_some(),
            Complete::NAME => capabilities.completions.is_some(),
            GetTask::NAME | GetTaskPayload::NAME => capabilities.tasks.is_some(),
            ListTasks::NAME => capabilities.tasks.is_some_and(|can| can.list.is_some()),
            CancelTask::NAME => capabilities.tasks.is_some_and(|can| can.cancel.is_some()),
            _ => true,
        }
    }

    /// True if a request with this method goes to a service with these capabilities: also for lists that it does not
    /// have, which are empty. Some hosts ask for all lists, whatever the server declares, and show an error as a server
    /// that has failed.
    #[must_use]
    pub fn is_answered(method: &str, capabilities: &ServerCapabilities) -> bool {
        let is_empty = matches!(method, ListResources::NAME | ListResourceTemplates::NAME | ListPrompts::NAME);
        is_empty || Self::is_offered(method, capabilities)
    }

    /// The name of the method.
    #[must_use]
    pub fn method(&self) -> &str {
        match self {
            Self::ListTools(_) => ListTools::NAME,
            Self::CallTool(_) => CallTool::NAME,
            Self::ListResources(_) => ListResources::NAME,
            Self::ListResourceTemplates(_) => ListResourceTemplates::NAME,
            Self::ReadResource(_) => ReadResource::NAME,
            Self::Subscribe(_) => Subscribe::NAME,
            Self::Unsubscribe(_) => Unsubscribe::NAME,
            Self::ListPrompts(_) => ListPrompts::NAME,
            Self::GetPrompt(_) => GetPrompt::NAME,
            Self::Complete(_) => Complete::NAME,
            Self::GetTask(_) => GetTask::NAME,
            Self::GetTaskPayload(_) => GetTaskPayload::NAME,
            Self::ListTasks(_) => ListTasks::NAME,
            Self::CancelTask(_) => CancelTask::NAME,
            Self::Other { method, .. } => method,
        }
    }

    /// The parameters of the request, as a client sends them. Arguments are shared, not copied.
    ///
    /// # Panics
    /// If the parameters do not serialize as an object; the ones of MCP do.
    #[must_use]
    pub fn into_params(self) -> Params {
        match self {
            Self::ListTools(request) => params_of(&request),
            Self::CallTool(call) => {
                let members = JsonObject::new().with("name", RawJson::text(&call.name));
                with_members(members, [("arguments", call.arguments), ("_meta", call.meta), ("task", call.task)])
            }
            Self::ListResources(request) => params_of(&request),
            Self::ListResourceTemplates(request) => params_of(&request),
            Self::ReadResource(request) => params_of(&request),
            Self::Subscribe(request) => params_of(&request),
            Self::Unsubscribe(request) => params_of(&request),
            Self::ListPrompts(request) => params_of(&request),
            Self::GetPrompt(request) => {
                let members = JsonObject::new().with("name", RawJson::text(&request.name));
                with_members(members, [("arguments", request.arguments), ("_meta", request.meta)])
            }
            Self::Complete(request) => params_of(&request),
            Self::GetTask(request) => params_of(&request),
            Self::GetTaskPayload(request) => params_of(&request),
            Self::ListTasks(request) => params_of(&request),
            Self::CancelTask(request) => params_of(&request),
            Self::Other { params, .. } => params,
        }
    }

    /// The bytes that a client chooses the number of: arguments, URIs, names and `_meta`.
    #[must_use]
    pub fn weight(&self) -> usize {
        let raw = |raw: &Option<RawJson>| raw.as_ref().map_or(0, RawJson::len);
        let own = match self {
            Self::CallTool(call) => call.name.len() + raw(&call.arguments),
            Self::GetPrompt(get) => get.name.len() + raw(&get.arguments),
            Self::Complete(Complete { argument, context, .. }) => {
                argument.value.len() + context.as_ref().map_or(0, |context| raw(&context.arguments))
            }
            Self::ReadResource(read) => read.uri.len(),
            Self::Subscribe(request) => request.uri.len(),
            Self::Other { params, .. } => return params.weight(),
            _ => 0,
        };
        own + self.meta().map_or(0, RawJson::len)
    }

    /// The name of the tool that is called, if one is.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::CallTool(call) => Some(&call.name),
            Self::ListTools(_)
            | Self::ListResources(_)
            | Self::ListResourceTemplates(_)
            | Self::ReadResource(_)
            | Self::Subscribe(_)
            | Self::Unsubscribe(_)
            | Self::ListPrompts(_)
            | Self::GetPrompt(_)
            | Self::Complete(_)
            | Self::GetTask(_)
            | Self::GetTaskPayload(_)
            | Self::ListTasks(_)
            | Self::CancelTask(_)
            | Self::Other { .. } => None,
        }
    }

    /// The `_meta` of the request.
    #[must_use]
    pub fn meta(&self) -> Option<&RawJson> {
        match self {
            Self::ListTools(request) => request.meta.as_ref(),
            Self::CallTool(request) => request.meta.as_ref(),
            Self::ListResources(request) => request.meta.as_ref(),
            Self::ListResourceTemplates(request) => request.meta.as_ref(),
            Self::ReadResource(request) => request.meta.as_ref(),
            Self::Subscribe(request) => request.meta.as_ref(),
            Self::Unsubscribe(request) => request.meta.as_ref(),
            Self::ListPrompts(request) => request.meta.as_ref(),
            Self::GetPrompt(request) => request.meta.as_ref(),
            Self::Complete(request) => request.meta.as_ref(),
            Self::GetTask(request) => request.meta.as_ref(),
            Self::GetTaskPayload(request) => request.meta.as_ref(),
            Self::ListTasks(request) => request.meta.as_ref(),
            Self::CancelTask(request) => request.meta.as_ref(),
            Self::Other { params, .. } => params.member("_meta"),
        }
    }
}

impl ServerResult {
    /// The bytes of the result that its service chooses the number of.
    #[must_use]
    pub fn weight(&self) -> usize {
        let raw = |raw: &Option<RawJson>| raw.as_ref().map_or(0, RawJson::len);
        match self {
            Self::CallTool(result) => result.content.len() + raw(&result.structured_content) + raw(&result.meta),
            Self::GetPrompt(result) => result.messages.len() + raw(&result.meta),
            Self::ReadResource(result) => result.contents.iter().map(JsonBuf::len).sum::<usize>() + raw(&result.meta),
            Self::Complete(result) => {
                result.completion.values.iter().map(String::len).sum::<usize>() + raw(&result.meta)
            }
            Self::ListTools(page) => page.tools.len() + raw(&page.meta),
            Self::ListResources(page) => page.resources.len() + raw(&page.meta),
            Self::ListResourceTemplates(page) => page.resource_templates.len() + raw(&page.meta),
            Self::ListPrompts(page) => page.prompts.len() + raw(&page.meta),
            Self::ListTasks(page) => page.tasks.len() + raw(&page.meta),
            Self::CreateTask(result) => raw(&result.meta),
            Self::InputRequired(required) => required.weight(),
            Self::Body(body) => body.len(),
            Self::Task(_) | Self::Empty => 0,
        }
    }
}

fn params_of<T: serde::Serialize>(request: &T) -> Params {
    Params::of(request).expect("the parameters of a method are an object")
}

fn with_members<const N: usize>(members: JsonObject, more: [(&'static str, Option<RawJson>); N]) -> Params {
    let add = |members: JsonObject, (name, value): (&'static str, Option<RawJson>)| match value {
        Some(value) => members.with(name, value),
        None => members,
    };
    more.into_iter().fold(members, add).into()
}

macro_rules! from_results {
    ($($variant:ident($result:ident)),* $(,)?) => {
        $(impl From<$result> for ServerResult {
            fn from(result: $result) -> Self {
                Self::$variant(result)
            }
        })*
    };
}

from_results!(
    ListTools(ListToolsResult),
    CallTool(CallToolResult),
    ListResources(ListResourcesResult),
    ListResourceTemplates(ListResourceTemplatesResult),
    ReadResource(ReadResourceResult),
    ListPrompts(ListPromptsResult),
    GetPrompt(GetPromptResult),
    Complete(CompleteResult),
    CreateTask(CreateTaskResult),
    Task(Task),
    ListTasks(ListTasksResult),
);
