//! The messages of a client that the caller of the session acts on.

use std::sync::Arc;

use crate::message::{CallToolRequest, ListResourcesRequest, ListToolsRequest, ReadResourceRequest};
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
}

/// A message that the caller has to act on.
#[derive(Debug, Clone, PartialEq)]
pub enum BinaryInbound {
    /// The conversation has begun; the client gets the answer.
    Initialized(Arc<Agreement>),
    /// Answer it with [`BinarySession::reply`](crate::BinarySession::reply).
    Request(BinaryRequest),
}
