//! The role of a message for the side that reads it.
//!
//! Ids of the two directions are separate name spaces, so the kind of a message decides whether it answers us or is a
//! request of the peer; its id is never looked up for that.

use protomcp_envelope::Msg;

use crate::config::Side;

/// The role of a message for its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Answers a request of this side.
    Answer,
    /// A request that expects a reply.
    Request,
    /// Expects no reply.
    Notification,
    /// Advances the handshake.
    Handshake,
    /// A piece of a large answer.
    Piece,
    /// Meant for the other side.
    Foreign,
}

impl Kind {
    /// Classifies `message` as read by `side`.
    pub(crate) fn of(side: Side, message: &Msg) -> Self {
        match side {
            Side::Bridge => Self::from_tool(message),
            Side::Tool => Self::from_bridge(message),
        }
    }

    fn from_tool(message: &Msg) -> Self {
        match message {
            Msg::CallResult(_)
            | Msg::CreateTask(_)
            | Msg::TaskStatusResponse(_)
            | Msg::MiddlewareInterceptResponse(_)
            | Msg::ResourceListResponse(_)
            | Msg::ResourceTemplateListResponse(_)
            | Msg::ReadResourceResponse(_)
            | Msg::PromptListResponse(_)
            | Msg::GetPromptResponse(_)
            | Msg::CompletionResponse(_)
            | Msg::HandOverResponse(_)
            | Msg::TakeOverResponse(_)
            | Msg::Pong(_) => Self::Answer,
            Msg::EnableTools(_)
            | Msg::DisableTools(_)
            | Msg::SetAllowed(_)
            | Msg::SetBlocked(_)
            | Msg::GetActiveTools(_)
            | Msg::Batch(_)
            | Msg::SamplingRequest(_)
            | Msg::ListRootsRequest(_)
            | Msg::ElicitationRequest(_)
            | Msg::Ping(_) => Self::Request,
            Msg::Progress(_)
            | Msg::Log(_)
            | Msg::ResourceChanged(_)
            | Msg::SdkInfo(_)
            | Msg::PromptListChanged(_)
            | Msg::ResourceListChanged(_)
            | Msg::ElicitationComplete(_) => Self::Notification,
            Msg::ToolList(_) | Msg::RegisterMiddleware(_) | Msg::ReloadResponse(_) => Self::Handshake,
            Msg::StreamHeader(_) | Msg::StreamChunk(_) | Msg::RawHeader(_) => Self::Piece,
            _ => Self::Foreign,
        }
    }

    fn from_bridge(message: &Msg) -> Self {
        match message {
            Msg::ActiveTools(_)
            | Msg::RegisterMiddlewareResponse(_)
            | Msg::SamplingResponse(_)
            | Msg::ListRootsResponse(_)
            | Msg::ElicitationResponse(_)
            | Msg::Pong(_) => Self::Answer,
            Msg::Reload(_)
            | Msg::ListTools(_)
            | Msg::CallTool(_)
            | Msg::TaskStatus(_)
            | Msg::TaskResult(_)
            | Msg::TaskCancel(_)
            | Msg::MiddlewareIntercept(_)
            | Msg::ListResourcesRequest(_)
            | Msg::ListResourceTemplatesRequest(_)
            | Msg::ReadResourceRequest(_)
            | Msg::ListPromptsRequest(_)
            | Msg::GetPromptRequest(_)
            | Msg::CompletionRequest(_)
            | Msg::HandOver(_)
            | Msg::TakeOver(_)
            | Msg::Ping(_) => Self::Request,
            Msg::Cancel(_) | Msg::BridgeInfo(_) => Self::Notification,
            _ => Self::Foreign,
        }
    }
}

/// True if a message of this name answers a request of its reader, or is a piece of an answer: only then its id is one of
/// the reader's. A frame whose message is not known has the name `empty`.
pub(crate) fn may_answer(name: &str) -> bool {
    name.ends_with("_response")
        || matches!(
            name,
            "call_result"
                | "create_task"
                | "tool_list"
                | "active_tools"
                | "pong"
                | "stream_header"
                | "stream_chunk"
                | "raw_header"
                | "empty"
        )
}

/// True if this names a request that reads or changes the tool list. `active_tools` answers all of them.
pub(crate) fn is_list_control(name: &str) -> bool {
    matches!(name, "enable_tools" | "disable_tools" | "set_allowed" | "set_blocked" | "get_active_tools" | "batch")
}
