//! Messages that travel without an `MCPMessage` around them, as over gRPC.

use bytes::Bytes;
use prost::Message;
use protomcp_codec::Shape;
use protomcp_codec::prescan::{self, Verdict};

use crate::code;
use crate::fault::Fault;
use crate::limits::FrameLimits;
use crate::message::{
    CallToolRequest, CallToolResponse, CompleteRequest, CompleteResponse, GetPromptRequest, GetPromptResponse,
    InitializeRequest, InitializeResponse, ListPromptsRequest, ListPromptsResponse, ListResourcesRequest,
    ListResourcesResponse, ListTemplatesRequest, ListTemplatesResponse, ListToolsRequest, ListToolsResponse,
    ListenRequest, ReadResourceRequest, ReadResourceResponse,
};
use crate::reference::{self, Numbering};
use crate::shape;

/// A request or a response of the services `buf.mcp.v1.MCPService` and `buf.mcp.v1.MCPPrompts`, or a request of
/// `buf.mcp.v1.MCPStreams`.
pub trait BareMessage: Message + Default + 'static {
    /// Decodes one, with the bounds of a frame: its entries are counted before any is decoded.
    ///
    /// # Errors
    /// If the bytes are not such a message, or it has too many entries.
    fn decode_bare(body: Bytes, limits: &FrameLimits, numbering: Numbering) -> Result<Self, Fault>;
}

macro_rules! bare {
    ($($message:ty: $shape:ident),* $(,)?) => {
        $(impl BareMessage for $message {
            fn decode_bare(body: Bytes, limits: &FrameLimits, _: Numbering) -> Result<Self, Fault> {
                check(&body, &shape::$shape, limits)?;
                Self::decode(body).map_err(|error| undecodable(&error))
            }
        })*
    };
}

bare! {
    InitializeRequest: INITIALIZE_REQUEST,
    InitializeResponse: INITIALIZE_RESPONSE,
    ListToolsResponse: LIST_TOOLS_RESPONSE,
    CallToolRequest: CALL_TOOL_REQUEST,
    CallToolResponse: CALL_TOOL_RESPONSE,
    ListResourcesRequest: PLAIN,
    ListResourcesResponse: LIST_RESOURCES_RESPONSE,
    ReadResourceRequest: PLAIN,
    ReadResourceResponse: READ_RESOURCE_RESPONSE,
    ListPromptsRequest: PLAIN,
    ListPromptsResponse: LIST_PROMPTS_RESPONSE,
    GetPromptRequest: GET_PROMPT_REQUEST,
    GetPromptResponse: GET_PROMPT_RESPONSE,
    CompleteRequest: COMPLETE_REQUEST,
    CompleteResponse: COMPLETE_RESPONSE,
    ListTemplatesRequest: PLAIN,
    ListTemplatesResponse: LIST_TEMPLATES_RESPONSE,
    ListenRequest: LISTEN_REQUEST,
}

impl BareMessage for ListToolsRequest {
    fn decode_bare(body: Bytes, limits: &FrameLimits, numbering: Numbering) -> Result<Self, Fault> {
        match numbering {
            Numbering::Standard => {
                check(&body, &shape::LIST_TOOLS_REQUEST, limits)?;
                Self::decode(body).map_err(|error| undecodable(&error))
            }
            Numbering::Reference => {
                check(&body, &shape::SHIFTED_LIST_TOOLS_REQUEST, limits)?;
                reference::decode(&body).map_err(|error| undecodable(&error))
            }
        }
    }
}

fn check(body: &[u8], shape: &Shape, limits: &FrameLimits) -> Result<(), Fault> {
    match prescan::scan(body, shape, limits.max_entries) {
        Verdict::Fits => Ok(()),
        Verdict::TooMany => Err(Fault::new(code::PARSE_ERROR, "the message has too many entries")),
        Verdict::Broken => Err(Fault::new(code::PARSE_ERROR, "the bytes are not a message")),
    }
}

fn undecodable(error: &prost::DecodeError) -> Fault {
    Fault::new(code::PARSE_ERROR, format!("the bytes are not a message: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: fn(usize) -> FrameLimits = |max_entries| FrameLimits { max_entries, ..FrameLimits::default() };

    #[test]
    fn entries_are_counted_before_decoding() {
        let request = ListToolsRequest { bsr_refs: vec![String::new(); 11], ..ListToolsRequest::default() };
        let body = Bytes::from(request.encode_to_vec());
        let decode = |limit| ListToolsRequest::decode_bare(body.clone(), &LIMITS(limit), Numbering::Standard);
        assert_eq!(decode(11).unwrap(), request);
        assert_eq!(decode(10).unwrap_err().code, code::PARSE_ERROR);
    }

    #[test]
    fn lists_are_read_in_the_numbers_of_the_client() {
        let body = Bytes::from_static(b"\x0a\x04word\x12\x03a/b\x18\x01");
        let shifted = ListToolsRequest::decode_bare(body.clone(), &LIMITS(10), Numbering::Reference).unwrap();
        assert_eq!((shifted.query.as_str(), shifted.bsr_refs.len(), shifted.include_schemas), ("word", 1, true));
        assert!(ListToolsRequest::decode_bare(body, &LIMITS(10), Numbering::Standard).is_err());
    }

    #[test]
    fn other_bytes_are_a_parse_error() {
        for body in [&b"\xff"[..], b"\x0a\x05x", b"\x0a\x01\xff"] {
            let decoded = CallToolRequest::decode_bare(Bytes::from_static(body), &LIMITS(10), Numbering::Standard);
            assert_eq!(decoded.unwrap_err().code, code::PARSE_ERROR, "{body:?}");
        }
    }
}
