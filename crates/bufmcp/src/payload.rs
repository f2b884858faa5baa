//! The numbers of payloads in `MCPMessage`.

use std::ops::RangeInclusive;

use crate::message::mcp_message::Payload;

/// The number of the message that announces changed lists.
pub(crate) const LIST_CHANGED: u32 = 100;

/// The numbers of the messages of peers that have both set `supports_streaming`. None of them is an answer.
pub(crate) const STREAMING: RangeInclusive<u32> = 101..=104;

/// The number of the message that announces a changed resource.
pub(crate) const RESOURCE_UPDATED: u32 = 124;

impl Payload {
    /// The number of this payload.
    pub(crate) fn number(&self) -> u32 {
        match self {
            Self::InitializeRequest(_) => 2,
            Self::InitializeResponse(_) => 3,
            Self::ListToolsRequest(_) => 4,
            Self::ListToolsResponse(_) => 5,
            Self::CallToolRequest(_) => 6,
            Self::CallToolResponse(_) => 7,
            Self::ListResourcesRequest(_) => 8,
            Self::ListResourcesResponse(_) => 9,
            Self::ReadResourceRequest(_) => 10,
            Self::ReadResourceResponse(_) => 11,
            Self::ErrorResponse(_) => 12,
            Self::ListChanged(_) => LIST_CHANGED,
            Self::CallProgress(_) => 101,
            Self::CallLog(_) => 103,
            Self::CancelCall(_) => 104,
            Self::ListPromptsRequest(_) => 110,
            Self::ListPromptsResponse(_) => 111,
            Self::GetPromptRequest(_) => 112,
            Self::GetPromptResponse(_) => 113,
            Self::CompleteRequest(_) => 114,
            Self::CompleteResponse(_) => 115,
            Self::ListTemplatesRequest(_) => 116,
            Self::ListTemplatesResponse(_) => 117,
            Self::SubscribeRequest(_) => 120,
            Self::SubscribeResponse(_) => 121,
            Self::UnsubscribeRequest(_) => 122,
            Self::ResourceUpdated(_) => RESOURCE_UPDATED,
        }
    }

    /// The number of the answer to this request; `None` for messages that are not requests of a program.
    pub(crate) fn answer_number(&self) -> Option<u32> {
        match self {
            Self::ListToolsRequest(_) => Some(5),
            Self::CallToolRequest(_) => Some(7),
            Self::ListResourcesRequest(_) => Some(9),
            Self::ReadResourceRequest(_) => Some(11),
            Self::ListPromptsRequest(_) => Some(111),
            Self::GetPromptRequest(_) => Some(113),
            Self::CompleteRequest(_) => Some(115),
            Self::ListTemplatesRequest(_) => Some(117),
            Self::SubscribeRequest(_) | Self::UnsubscribeRequest(_) => Some(121),
            _ => None,
        }
    }

    /// True for messages of peers that have both set `supports_streaming`.
    pub(crate) fn is_of_streaming(&self) -> bool {
        STREAMING.contains(&self.number())
    }

    /// True for messages of the extension `prompts`.
    pub(crate) fn is_of_prompts(&self) -> bool {
        (110..=117).contains(&self.number())
    }

    /// True for messages of the extension `subscriptions`.
    pub(crate) fn is_of_subscriptions(&self) -> bool {
        (120..=RESOURCE_UPDATED).contains(&self.number())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use prost::Message as _;

    use crate::message::McpMessage;
    use crate::raw_message::RawMessage;

    #[test]
    fn numbers_match_the_encoding() {
        // An empty payload of each number up to 200. Numbers without a kind are skipped as unknown fields.
        let mut kinds = 0;
        for number in 2..200_u32 {
            let mut bytes = Vec::new();
            prost::encoding::encode_key(number, prost::encoding::WireType::LengthDelimited, &mut bytes);
            bytes.push(0);
            let Some(payload) = McpMessage::decode(&bytes[..]).unwrap().payload else { continue };
            assert_eq!(payload.number(), number);
            let raw = RawMessage::split(&Bytes::from(bytes)).unwrap();
            assert_eq!(raw.payload, number);
            kinds += 1;
        }
        assert_eq!(kinds, 27);
    }
}
