//! Frames of every shape: they survive the wire however it splits them, with frames of length zero and broken ones between.

#![no_main]

use arbitrary::Arbitrary;
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use protomcp_codec::{DecodeError, Encoder, Field, Frame, Raw, chunks};
use protomcp_fuzz::codec::{decode, limits, pieces};
use protomcp_envelope::{
    BatchUpdateRequest, CallToolRequest, CallToolResponse, Envelope, ListToolsRequest, Msg, ProgressNotification,
    ReloadResponse, SdkInfo, ToolDefinition, ToolError, ToolListResponse,
};

#[derive(Debug, Arbitrary)]
struct Input {
    split: u16,
    units: Vec<Unit>,
}

#[derive(Debug, Arbitrary)]
enum Unit {
    Empty,
    /// A frame with a byte that begins no field.
    Broken,
    Envelope {
        id: String,
        namespace: String,
        msg: Shape,
    },
    Raw {
        id: String,
        field: u8,
        text: Text,
        compressed: bool,
        followed: bool,
    },
}

#[derive(Debug, Arbitrary)]
enum Shape {
    ListTools,
    Reloaded { success: bool, error: String },
    Call { name: String, arguments: Text, token: String, metadata: Text },
    Result { is_error: bool, text: Text, structured: Text, tools: Vec<String>, error: Option<(String, String, bool)> },
    Tools(Vec<(String, Text, bool)>),
    Batch(Vec<String>, Vec<String>),
    Progress(String, i64, i64),
    Info(String, u32, Vec<String>),
    Chunk(Text),
}

/// Long texts do not come about by chance.
#[derive(Debug, Arbitrary)]
enum Text {
    Short(Vec<u8>),
    Long { byte: u8, length: u16 },
}

impl Text {
    fn bytes(self) -> Bytes {
        match self {
            Self::Short(bytes) => bytes.into(),
            Self::Long { byte, length } => vec![byte; usize::from(length) % 1600].into(),
        }
    }
}

fuzz_target!(|input: Input| {
    let mut encoder = Encoder::new(limits());
    let (mut bytes, mut expected) = (Vec::new(), Vec::new());
    for unit in input.units {
        let before = bytes.len();
        let frame = match unit {
            Unit::Empty => {
                encoder.encode_empty(&mut bytes);
                continue;
            }
            Unit::Broken => {
                bytes.extend_from_slice(&[0, 0, 0, 1, 7]);
                expected.push(None);
                continue;
            }
            Unit::Envelope { id, namespace, msg } => {
                Frame::Envelope(Envelope { request_id: id, namespace, msg: Some(message(msg)), ..Envelope::default() })
            }
            Unit::Raw { id, field, text, compressed, followed } => {
                Frame::Raw(raw(id, field, text, compressed, followed))
            }
        };
        match encoder.encode(&frame, &mut bytes) {
            Ok(()) => expected.push(Some(frame)),
            Err(error) => assert!(bytes.len() == before && error.size() > 1000),
        }
    }
    let frames = decode(pieces(&bytes, input.split));
    assert_eq!(frames.len(), expected.len());
    for (frame, expected) in frames.into_iter().zip(expected) {
        match expected {
            Some(expected) => match frame {
                // The encoder does not count entries: its peer may have another limit.
                Err(DecodeError::TooManyEntries { limit, .. }) => assert!(entries(&expected) > limit),
                frame => assert_eq!(frame, Ok(expected)),
            },
            None => assert!(matches!(frame, Err(DecodeError::Malformed { size: 1, .. }))),
        }
    }
});

/// The most entries that a list of the frame may have.
fn entries(frame: &Frame) -> usize {
    let Frame::Envelope(Envelope { msg: Some(message), .. }) = frame else { return 0 };
    match message {
        Msg::CallResult(result) => result.enable_tools.len() + result.disable_tools.len(),
        Msg::ToolList(list) => list.tools.len(),
        Msg::Batch(batch) => batch.enable.len() + batch.disable.len(),
        Msg::SdkInfo(info) => info.features.len(),
        _ => 0,
    }
}

fn raw(id: String, field: u8, text: Text, compressed: bool, followed: bool) -> Raw {
    let field =
        [Field::ResultJson, Field::StructuredContentJson, Field::Other("other".into())][usize::from(field) % 3].clone();
    let text = text.bytes();
    let mut raw = Raw::new(id, field, text.clone());
    raw.header.followed_by_result = followed;
    if !compressed {
        return raw;
    }
    let raw = raw.compress();
    let inflated = raw.clone().inflate(&limits());
    assert!(inflated == Ok(text.clone()) || text.len() as u64 > limits().max_payload);
    raw
}

fn message(shape: Shape) -> Msg {
    match shape {
        Shape::ListTools => ListToolsRequest {}.into(),
        Shape::Reloaded { success, error } => ReloadResponse { success, error }.into(),
        Shape::Call { name, arguments, token, metadata } => CallToolRequest {
            name,
            arguments_json: arguments.bytes(),
            progress_token: token,
            metadata_json: metadata.bytes(),
            arguments_match: false,
        }
        .into(),
        Shape::Result { is_error, text, structured, tools, error } => CallToolResponse {
            is_error,
            result_json: text.bytes(),
            structured_content_json: structured.bytes(),
            enable_tools: tools.clone(),
            disable_tools: tools,
            error: error.map(|(message, suggestion, retryable)| ToolError {
                message,
                suggestion,
                retryable,
                ..Default::default()
            }),
            ..Default::default()
        }
        .into(),
        Shape::Tools(tools) => {
            let tool = |(name, schema, read_only_hint): (String, Text, bool)| ToolDefinition {
                name,
                input_schema_json: schema.bytes(),
                read_only_hint,
                ..Default::default()
            };
            ToolListResponse { tools: tools.into_iter().map(tool).collect() }.into()
        }
        Shape::Batch(enable, disable) => BatchUpdateRequest { enable, disable, ..Default::default() }.into(),
        Shape::Progress(progress_token, progress, total) => {
            ProgressNotification { progress_token, progress, total, ..Default::default() }.into()
        }
        Shape::Info(name, max_concurrent_calls, features) => {
            SdkInfo { name, max_concurrent_calls, features, ..Default::default() }.into()
        }
        Shape::Chunk(text) => chunks(Field::ResultJson, text.bytes(), 700).last().expect("there is always a chunk"),
    }
}
