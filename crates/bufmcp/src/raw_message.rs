//! Messages whose payload is passed on as it is, for carriers that have another envelope.

use bytes::Bytes;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};

use crate::frame::TopLevel;

/// An `MCPMessage` whose payload stays bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawMessage {
    /// The id of the request.
    pub id: u64,
    /// The number of the payload in `MCPMessage`.
    pub payload: u32,
    /// The bytes of the payload.
    pub body: Bytes,
}

impl RawMessage {
    /// Splits the bytes of an `MCPMessage`, without a length prefix; `None` if there is no payload.
    #[must_use]
    pub fn split(message: &Bytes) -> Option<Self> {
        let TopLevel { id, payload, body } = TopLevel::of(message);
        Some(Self { id, payload: payload?, body: message.slice_ref(body?) })
    }

    /// The id of an `MCPMessage`, also of one without payload.
    #[must_use]
    pub fn id_of(message: &[u8]) -> u64 {
        TopLevel::of(message).id
    }

    /// The bytes of the `MCPMessage`, with a length prefix in front of them; `None` if the prefix cannot say their length.
    #[must_use]
    pub fn to_frame(&self) -> Option<Vec<u8>> {
        let length = self.body.len() as u64;
        let size = key_len(1) + encoded_len_varint(self.id);
        let size = size + key_len(self.payload) + encoded_len_varint(length) + self.body.len();
        let mut frame = Vec::with_capacity(size + 4);
        frame.extend_from_slice(&u32::try_from(size).ok()?.to_be_bytes());
        encode_key(1, WireType::Varint, &mut frame);
        encode_varint(self.id, &mut frame);
        encode_key(self.payload, WireType::LengthDelimited, &mut frame);
        encode_varint(length, &mut frame);
        frame.extend_from_slice(&self.body);
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::message::mcp_message::Payload;
    use crate::message::{ListToolsRequest, McpMessage};

    #[test]
    fn a_message_is_taken_apart_and_put_together() {
        let request = ListToolsRequest { cursor: "c".repeat(300), ..ListToolsRequest::default() };
        let message = McpMessage { id: 300, payload: Some(Payload::ListToolsRequest(request.clone())) };
        let raw = RawMessage::split(&message.encode_to_vec().into()).unwrap();
        assert_eq!((raw.id, raw.payload, &*raw.body), (300, 4, &*request.encode_to_vec()));
        let frame = raw.to_frame().unwrap();
        assert_eq!(frame[..4], u32::try_from(frame.len() - 4).unwrap().to_be_bytes());
        assert_eq!(McpMessage::decode(&frame[4..]).unwrap(), message);
        assert_eq!(RawMessage::split(&Bytes::from_static(b"\x08\x01")), None);
        assert_eq!(RawMessage::id_of(b"\x08\x01"), 1);
    }
}
