//! The field numbers of the first published implementation, where they differ.
//!
//! It inserts a field in front of the others of `ListToolsRequest`, so that each number is one too high. A request in
//! those numbers either does not decode, or turns its search words into a filter. Nothing in the bytes says which
//! numbers they use, so the choice is a setting; only an empty request is the same in both.

use prost::Message;

use crate::message::mcp_message::Payload;
use crate::message::{ListToolsRequest, McpMessage};

/// The field numbers of `ListToolsRequest` that a peer uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Numbering {
    /// The numbers of version 1.0.
    #[default]
    Standard,
    /// The numbers of the Go implementation that names itself `proto-mcp-go`: `query` 1, `bsr_refs` 2,
    /// `include_schemas` 3, `cursor` 4.
    Reference,
}

impl Numbering {
    /// The numbering of a server that describes itself with this metadata.
    #[must_use]
    pub fn of_server(metadata: &std::collections::BTreeMap<String, String>) -> Self {
        match metadata.get("server") {
            Some(name) if name.starts_with("proto-mcp-go") => Self::Reference,
            _ => Self::Standard,
        }
    }
}

/// `ListToolsRequest` in the other numbers.
#[derive(Clone, PartialEq, Message)]
struct ShiftedListTools {
    #[prost(string, tag = "1")]
    query: String,
    #[prost(string, repeated, tag = "2")]
    bsr_refs: Vec<String>,
    #[prost(bool, tag = "3")]
    include_schemas: bool,
    #[prost(string, tag = "4")]
    cursor: String,
}

/// Reads the body of a `ListToolsRequest` in the other numbers.
pub(crate) fn decode(body: &[u8]) -> Result<ListToolsRequest, prost::DecodeError> {
    let ShiftedListTools { query, bsr_refs, include_schemas, cursor } = ShiftedListTools::decode(body)?;
    Ok(ListToolsRequest { bsr_refs, include_schemas, cursor, query, page_size: 0 })
}

/// The bytes of a message in the other numbers.
pub(crate) fn encode(message: &McpMessage) -> Vec<u8> {
    let Some(Payload::ListToolsRequest(request)) = &message.payload else { return message.encode_to_vec() };
    let ListToolsRequest { bsr_refs, include_schemas, cursor, query, page_size: _ } = request.clone();
    let mut bytes = McpMessage { id: message.id, payload: None }.encode_to_vec();
    prost::encoding::message::encode(
        LIST_TOOLS_REQUEST,
        &ShiftedListTools { query, bsr_refs, include_schemas, cursor },
        &mut bytes,
    );
    bytes
}

/// Field number of `list_tools_request` in `MCPMessage`.
pub(crate) const LIST_TOOLS_REQUEST: u32 = 4;
