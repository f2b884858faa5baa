//! Messages as the vectors write them: the JSON form of protobuf, with the names of the proto file and without
//! default values.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use serde_json::Value;

/// The messages of the proto file.
pub(crate) struct Form(DescriptorPool);

impl Form {
    pub(crate) fn new() -> Self {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
        let files = protox::compile(["protomcp.proto"], [folder]).unwrap();
        Self(DescriptorPool::decode(&files.encode_to_vec()[..]).unwrap())
    }

    /// The message as JSON.
    pub(crate) fn json(&self, kind: &str, message: &impl Message) -> Value {
        let options = SerializeOptions::new().use_proto_field_name(true);
        self.dynamic(kind, message).serialize_with_options(serde_json::value::Serializer, &options).unwrap()
    }

    /// The message that is this JSON.
    pub(crate) fn envelope<M: Message + Default>(&self, kind: &str, json: &Value) -> M {
        let descriptor = self.0.get_message_by_name(&format!("protomcp.{kind}")).unwrap();
        let dynamic = DynamicMessage::deserialize(descriptor, json).unwrap();
        M::decode(&dynamic.encode_to_vec()[..]).unwrap()
    }

    /// The bytes of the message with its fields in the order of their numbers.
    pub(crate) fn canonical(&self, message: &impl Message) -> Vec<u8> {
        self.dynamic("Envelope", message).encode_to_vec()
    }

    fn dynamic(&self, kind: &str, message: &impl Message) -> DynamicMessage {
        let descriptor = self.0.get_message_by_name(&format!("protomcp.{kind}")).unwrap();
        DynamicMessage::decode(descriptor, &message.encode_to_vec()[..]).unwrap()
    }
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}
