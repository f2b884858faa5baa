//! The messages of a client that the caller of the session acts on.

use std::collections::BTreeMap;
use std::sync::Arc;

use prost::Message;

use crate::authorization::Authorization;
use crate::message::mcp_message::Payload;
use crate::message::{
    CallToolRequest, CompleteRequest, GetPromptRequest, ListPromptsRequest, ListResourcesRequest, ListTemplatesRequest,
    ListToolsRequest, ReadResourceRequest, SubscribeRequest, UnsubscribeRequest,
};
use crate::session::agreement::Agreement;

/// A request that is owed an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct BinaryRequest {
    /// Its id. It is the client's, and used again after the answer.
    pub id: u64,
    /// Its parameters. What was for the session is removed: token and timeout.
    pub call: BinaryCall,
}

/// The parameters of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum BinaryCall {
    /// A page of the tools.
    ListTools(ListToolsRequest),
    /// A tool call.
    CallTool(CallToolRequest),
    /// A page of the resources.
    ListResources(ListResourcesRequest),
    /// The contents of a resource.
    ReadResource(ReadResourceRequest),
    /// A page of the prompts.
    ListPrompts(ListPromptsRequest),
    /// The messages of a prompt.
    GetPrompt(GetPromptRequest),
    /// Values of an argument.
    Complete(CompleteRequest),
    /// A page of the templates of resources.
    ListTemplates(ListTemplatesRequest),
    /// The beginning of a subscription to a resource.
    Subscribe(SubscribeRequest),
    /// The end of a subscription.
    Unsubscribe(UnsubscribeRequest),
}

impl BinaryCall {
    /// The request in a payload; `None`: it is none, or it begins the conversation.
    pub(crate) fn of(payload: Payload) -> Option<Self> {
        Some(match payload {
            Payload::ListToolsRequest(request) => Self::ListTools(request),
            Payload::CallToolRequest(request) => Self::CallTool(request),
            Payload::ListResourcesRequest(request) => Self::ListResources(request),
            Payload::ReadResourceRequest(request) => Self::ReadResource(request),
            Payload::ListPromptsRequest(request) => Self::ListPrompts(request),
            Payload::GetPromptRequest(request) => Self::GetPrompt(request),
            Payload::CompleteRequest(request) => Self::Complete(request),
            Payload::ListTemplatesRequest(request) => Self::ListTemplates(request),
            Payload::SubscribeRequest(request) => Self::Subscribe(request),
            Payload::UnsubscribeRequest(request) => Self::Unsubscribe(request),
            _ => return None,
        })
    }

    /// The memory that it takes, about: its bytes, and the bytes of the entries of its lists and maps.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::ListTools(request) => request.encoded_len() + request.bsr_refs.len() * ENTRY,
            Self::CallTool(CallToolRequest { name, arguments, metadata, .. }) => {
                let arguments = arguments.as_ref().map_or(0, Message::encoded_len);
                name.len() + arguments + metadata_weight(metadata)
            }
            Self::ListResources(request) => request.encoded_len(),
            Self::ReadResource(request) => request.encoded_len(),
            Self::ListPrompts(request) => request.encoded_len(),
            Self::GetPrompt(GetPromptRequest { name, arguments, metadata }) => {
                name.len() + metadata_weight(arguments) + metadata_weight(metadata)
            }
            Self::Complete(request) => request.encoded_len() + request.context.len() * ENTRY,
            Self::ListTemplates(request) => request.encoded_len(),
            Self::Subscribe(request) => request.encoded_len(),
            Self::Unsubscribe(request) => request.encoded_len(),
        }
    }
}

/// The memory that metadata takes, about.
pub(crate) fn metadata_weight(metadata: &BTreeMap<String, String>) -> usize {
    metadata.iter().map(|(key, value)| ENTRY + key.len() + value.len()).sum()
}

/// The memory of an entry in addition to its bytes: two texts, their allocations, and its place in the map.
const ENTRY: usize = 160;

/// A message that the caller has to act on.
#[derive(Debug, Clone, PartialEq)]
pub enum BinaryInbound {
    /// The conversation has begun; the client gets the answer.
    Initialized(Arc<Agreement>),
    /// Answer it with [`BinarySession::reply`](crate::BinarySession::reply).
    Request(BinaryRequest),
    /// The client has cancelled the request with this id. It has its answer: drop the work on it.
    Cancelled(u64),
    /// A message waits for the check of its token by [`SessionConfig::verifier`](crate::SessionConfig::verifier). Pass the
    /// outcome to [`BinarySession::verified`](crate::BinarySession::verified); until then the session takes no frames.
    Verify(Authorization),
}
