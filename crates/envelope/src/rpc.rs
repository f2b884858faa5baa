//! The answer that each request is owed.
//!
//! [`Rpc`] is a table in the type system: one line per pair at the end of this file. A link that can send any `Rpc` and
//! wait for its `Response` needs no function per message, and an answer of the wrong kind has one error,
//! [`UnexpectedMessage`].

use std::fmt;

use crate::generated::envelope::Msg;
use crate::generated::*;

/// A request that is owed exactly one answer with the same request id.
pub trait Rpc: Into<Msg> {
    /// The type of the answer.
    type Response: TryFrom<Msg, Error = UnexpectedMessage>;
    /// The name of the request in the envelope, such as `call_tool`.
    const NAME: &'static str;
}

/// The answer to a tool call: its result, or a task that continues.
// The large variant is the usual one; a box would cost every call an allocation.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone, PartialEq)]
pub enum CallAnswer {
    /// The result of the call.
    Result(CallToolResponse),
    /// The call became a task; [`TaskResultRequest`] asks for its result later.
    Task(CreateTaskResponse),
}

/// An answer of any kind, where the protocol accepts any acknowledgement (docs/envelope.md, "Requests and answers").
#[derive(Debug, Clone, PartialEq)]
pub struct AnyAnswer(pub Msg);

/// The other side answered a request with a message of another kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnexpectedMessage {
    /// The name of the message that was owed, such as `tool_list`.
    pub wanted: &'static str,
    /// The name of the message received.
    pub got: &'static str,
}

impl fmt::Display for UnexpectedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, got {}", self.wanted, self.got)
    }
}

impl std::error::Error for UnexpectedMessage {}

impl Envelope {
    /// An envelope with `msg`. The `request_id` is empty for messages without an answer.
    pub fn new(request_id: impl Into<String>, msg: impl Into<Msg>) -> Self {
        Self { request_id: request_id.into(), msg: Some(msg.into()), ..Self::default() }
    }

    /// The name of its message, such as `call_tool`; `empty` if it has none or an unknown one.
    pub fn name(&self) -> &'static str {
        self.msg.as_ref().map_or("empty", message_name)
    }
}

impl TryFrom<Msg> for CallAnswer {
    type Error = UnexpectedMessage;

    fn try_from(msg: Msg) -> Result<Self, UnexpectedMessage> {
        match msg {
            Msg::CallResult(result) => Ok(Self::Result(result)),
            Msg::CreateTask(task) => Ok(Self::Task(task)),
            other => Err(UnexpectedMessage { wanted: "call_result or create_task", got: message_name(&other) }),
        }
    }
}

impl TryFrom<Msg> for AnyAnswer {
    type Error = UnexpectedMessage;

    fn try_from(msg: Msg) -> Result<Self, UnexpectedMessage> {
        Ok(Self(msg))
    }
}

/// For each member of the envelope: its name and both conversions.
macro_rules! messages {
    ($($variant:ident($message:ident) = $name:literal,)*) => {
        /// The name of a message in the envelope, such as `call_tool`.
        pub fn message_name(msg: &Msg) -> &'static str {
            match msg {
                $(Msg::$variant(_) => $name,)*
            }
        }

        $(
            impl From<$message> for Msg {
                fn from(message: $message) -> Self {
                    Self::$variant(message)
                }
            }

            impl TryFrom<Msg> for $message {
                type Error = UnexpectedMessage;

                fn try_from(msg: Msg) -> Result<Self, UnexpectedMessage> {
                    match msg {
                        Msg::$variant(message) => Ok(message),
                        other => Err(UnexpectedMessage { wanted: $name, got: message_name(&other) }),
                    }
                }
            }
        )*
    };
}

/// One line per pair of request and answer.
macro_rules! pairs {
    ($($name:literal $request:ident => $response:ident,)*) => {
        $(
            impl Rpc for $request {
                type Response = $response;
                const NAME: &'static str = $name;
            }
        )*
    };
}

messages! {
    Reload(ReloadRequest) = "reload",
    ListTools(ListToolsRequest) = "list_tools",
    CallTool(CallToolRequest) = "call_tool",
    ReloadResponse(ReloadResponse) = "reload_response",
    ToolList(ToolListResponse) = "tool_list",
    CallResult(CallToolResponse) = "call_result",
    EnableTools(EnableToolsRequest) = "enable_tools",
    DisableTools(DisableToolsRequest) = "disable_tools",
    SetAllowed(SetAllowedRequest) = "set_allowed",
    SetBlocked(SetBlockedRequest) = "set_blocked",
    GetActiveTools(GetActiveToolsRequest) = "get_active_tools",
    Batch(BatchUpdateRequest) = "batch",
    ActiveTools(ActiveToolsResponse) = "active_tools",
    Progress(ProgressNotification) = "progress",
    Cancel(CancelRequest) = "cancel",
    Log(LogMessage) = "log",
    CreateTask(CreateTaskResponse) = "create_task",
    TaskStatus(TaskStatusRequest) = "task_status",
    TaskStatusResponse(TaskStatusResponse) = "task_status_response",
    TaskResult(TaskResultRequest) = "task_result",
    TaskCancel(TaskCancelRequest) = "task_cancel",
    RegisterMiddleware(RegisterMiddlewareRequest) = "register_middleware",
    RegisterMiddlewareResponse(RegisterMiddlewareResponse) = "register_middleware_response",
    MiddlewareIntercept(MiddlewareInterceptRequest) = "middleware_intercept",
    MiddlewareInterceptResponse(MiddlewareInterceptResponse) = "middleware_intercept_response",
    StreamHeader(StreamHeader) = "stream_header",
    StreamChunk(StreamChunk) = "stream_chunk",
    RawHeader(RawHeader) = "raw_header",
    ListResourcesRequest(ListResourcesRequest) = "list_resources_request",
    ResourceListResponse(ResourceListResponse) = "resource_list_response",
    ListResourceTemplatesRequest(ListResourceTemplatesRequest) = "list_resource_templates_request",
    ResourceTemplateListResponse(ResourceTemplateListResponse) = "resource_template_list_response",
    ReadResourceRequest(ReadResourceRequest) = "read_resource_request",
    ReadResourceResponse(ReadResourceResponse) = "read_resource_response",
    ResourceChanged(ResourceChangedNotification) = "resource_changed",
    ListPromptsRequest(ListPromptsRequest) = "list_prompts_request",
    PromptListResponse(PromptListResponse) = "prompt_list_response",
    GetPromptRequest(GetPromptRequest) = "get_prompt_request",
    GetPromptResponse(GetPromptResponse) = "get_prompt_response",
    CompletionRequest(CompletionRequest) = "completion_request",
    CompletionResponse(CompletionResponse) = "completion_response",
    SamplingRequest(SamplingRequest) = "sampling_request",
    SamplingResponse(SamplingResponse) = "sampling_response",
    ListRootsRequest(ListRootsRequest) = "list_roots_request",
    ListRootsResponse(ListRootsResponse) = "list_roots_response",
    SdkInfo(SdkInfo) = "sdk_info",
    BridgeInfo(BridgeInfo) = "bridge_info",
    ElicitationRequest(ElicitationRequest) = "elicitation_request",
    ElicitationResponse(ElicitationResponse) = "elicitation_response",
    PromptListChanged(PromptListChanged) = "prompt_list_changed",
    ResourceListChanged(ResourceListChanged) = "resource_list_changed",
    ElicitationComplete(ElicitationComplete) = "elicitation_complete",
    Ping(Ping) = "ping",
    Pong(Pong) = "pong",
    HandOver(HandOverRequest) = "hand_over",
    HandOverResponse(HandOverResponse) = "hand_over_response",
    TakeOver(TakeOverRequest) = "take_over",
    TakeOverResponse(TakeOverResponse) = "take_over_response",
}

pairs! {
    "reload" ReloadRequest => ReloadResponse,
    "list_tools" ListToolsRequest => ToolListResponse,
    "call_tool" CallToolRequest => CallAnswer,
    "enable_tools" EnableToolsRequest => ActiveToolsResponse,
    "disable_tools" DisableToolsRequest => ActiveToolsResponse,
    "set_allowed" SetAllowedRequest => ActiveToolsResponse,
    "set_blocked" SetBlockedRequest => ActiveToolsResponse,
    "get_active_tools" GetActiveToolsRequest => ActiveToolsResponse,
    "batch" BatchUpdateRequest => ActiveToolsResponse,
    "task_status" TaskStatusRequest => TaskStatusResponse,
    "task_result" TaskResultRequest => CallToolResponse,
    "task_cancel" TaskCancelRequest => AnyAnswer,
    "register_middleware" RegisterMiddlewareRequest => RegisterMiddlewareResponse,
    "middleware_intercept" MiddlewareInterceptRequest => MiddlewareInterceptResponse,
    "list_resources_request" ListResourcesRequest => ResourceListResponse,
    "list_resource_templates_request" ListResourceTemplatesRequest => ResourceTemplateListResponse,
    "read_resource_request" ReadResourceRequest => ReadResourceResponse,
    "list_prompts_request" ListPromptsRequest => PromptListResponse,
    "get_prompt_request" GetPromptRequest => GetPromptResponse,
    "completion_request" CompletionRequest => CompletionResponse,
    "sampling_request" SamplingRequest => SamplingResponse,
    "list_roots_request" ListRootsRequest => ListRootsResponse,
    "elicitation_request" ElicitationRequest => ElicitationResponse,
    "ping" Ping => Pong,
    "hand_over" HandOverRequest => HandOverResponse,
    "take_over" TakeOverRequest => TakeOverResponse,
}
