//! The time of encoding, decoding and validating, compared with JSON with the same content.

use std::hint::black_box;
use std::time::{Duration, Instant};

use prost::Message as _;
use protomcp_bufmcp::Any;
use protomcp_bufmcp::message::{CallToolRequest, ListToolsResponse, McpMessage, Payload, tool::SchemaSource};
use protomcp_descriptors::convert::{Converter, FieldLock};
use protomcp_descriptors::{MessageLimits, Protovalidate, Schema, SchemaLimits, Validator as _};
use serde::{Deserialize, Serialize};

use crate::lists::{self, List, Outcome, Tool};
use crate::tokens::proto_tool;

/// The batches of one measurement, and the time of each.
const BATCHES: usize = 15;
const BATCH: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 20 });

/// One measurement: the time of protobuf and of JSON, and the bytes of both.
pub(crate) struct Pair {
    pub(crate) what: &'static str,
    pub(crate) protobuf: Duration,
    pub(crate) json: Duration,
    pub(crate) bytes: (usize, usize),
}

/// A step that only this project has.
pub(crate) struct Step {
    pub(crate) what: &'static str,
    pub(crate) time: Duration,
}

#[derive(Serialize, Deserialize)]
struct Call {
    jsonrpc: String,
    id: u64,
    method: String,
    params: CallParams,
}

#[derive(Serialize, Deserialize)]
struct CallParams {
    name: String,
    arguments: Search,
}

#[derive(Serialize, Deserialize)]
struct Search {
    query: String,
    max_results: i64,
}

#[derive(Serialize, Deserialize)]
struct Listed {
    jsonrpc: String,
    id: u64,
    result: ListedTools,
}

#[derive(Serialize, Deserialize)]
struct ListedTools {
    tools: Vec<ListedTool>,
}

#[derive(Serialize, Deserialize)]
struct ListedTool {
    name: String,
    description: String,
    bsr_ref: String,
}

/// The median of batches, per call.
fn time<T>(mut call: impl FnMut() -> T) -> Duration {
    let started = Instant::now();
    let mut count = 0_u32;
    while count == 0 || started.elapsed() < BATCH {
        black_box(call());
        count += 1;
    }
    let mut batches: Vec<Duration> = (0..BATCHES)
        .map(|_| {
            let started = Instant::now();
            (0..count).for_each(|_| {
                black_box(call());
            });
            started.elapsed() / count
        })
        .collect();
    batches.sort_unstable();
    batches[BATCHES / 2]
}

/// Typed messages in both encodings, with the same content.
pub(crate) fn pairs(lists: &[List]) -> Vec<Pair> {
    let arguments = b"\x0a\x08protobuf\x10\x0a".to_vec();
    let arguments = Any { type_url: "type.googleapis.com/acme.tools.v1.SearchRequest".into(), value: arguments.into() };
    let request = CallToolRequest { name: "web_search".into(), arguments: Some(arguments), ..Default::default() };
    let call = McpMessage { id: 3, payload: Some(Payload::CallToolRequest(request)) };
    let json_call = Call {
        jsonrpc: "2.0".into(),
        id: 3,
        method: "tools/call".into(),
        params: CallParams {
            name: "web_search".into(),
            arguments: Search { query: "protobuf".into(), max_results: 10 },
        },
    };
    let tools: Vec<&Tool> = lists.iter().flat_map(|list| &list.tools).take(25).collect();
    let message = |tool: &&Tool| proto_tool(tool, SchemaSource::BsrRef(tool.reference.clone()));
    let response = ListToolsResponse { tools: tools.iter().map(message).collect(), ..Default::default() };
    let list = McpMessage { id: 2, payload: Some(Payload::ListToolsResponse(response)) };
    let listed = |tool: &&Tool| ListedTool {
        name: tool.name.clone(),
        description: tool.description.clone(),
        bsr_ref: tool.reference.clone(),
    };
    let result = ListedTools { tools: tools.iter().map(listed).collect() };
    let json_list = Listed { jsonrpc: "2.0".into(), id: 2, result };
    [
        pair(["call: encode", "call: decode"], &call, &json_call),
        pair(["list of 25 tools with the same fields: encode", "the same list: decode"], &list, &json_list),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn pair<J: Serialize + for<'a> Deserialize<'a>>(names: [&'static str; 2], message: &McpMessage, json: &J) -> [Pair; 2] {
    let encoded = message.encode_to_vec();
    let text = serde_json::to_vec(json).unwrap_or_default();
    let bytes = (encoded.len(), text.len());
    let encode = Pair {
        what: names[0],
        protobuf: time(|| message.encode_to_vec()),
        json: time(|| serde_json::to_vec(json)),
        bytes,
    };
    let decode = Pair {
        what: names[1],
        protobuf: time(|| McpMessage::decode(encoded.as_slice())),
        json: time(|| serde_json::from_slice::<J>(&text)),
        bytes,
    };
    [encode, decode]
}

/// The steps of a call whose schema is known at run time only.
pub(crate) fn steps() -> Outcome<Vec<Step>> {
    let input = lists::search();
    let converted = Converter::new("acme.tools.v1")?.convert("search", &input, None, &mut FieldLock::default())?;
    let set = converted.descriptor_set();
    let schema = Schema::decode(set.clone(), &SchemaLimits::default())?;
    let message_type = schema.message(converted.input_type()).ok_or("the message is there")?;
    let limits = MessageLimits::default();
    let text = r#"{"query":"protobuf","max_results":10}"#;
    let message = message_type.parse_json(text, &limits)?;
    let encoded = message.encode();
    let validator = Protovalidate::new(&schema);
    validator.validate(&message)?;
    Ok(vec![
        Step {
            what: "JSON arguments to a message by descriptor",
            time: time(|| message_type.parse_json(text, &limits)),
        },
        Step { what: "encode it", time: time(|| message.encode()) },
        Step { what: "decode it", time: time(|| message_type.decode(&encoded, &limits)) },
        Step { what: "check its rules", time: time(|| validator.validate(&message)) },
        Step { what: "load a descriptor set", time: time(|| Schema::decode(set.clone(), &SchemaLimits::default())) },
        Step {
            what: "convert a JSON Schema",
            time: time(|| {
                Converter::new("acme.tools.v1")
                    .map(|converter| converter.convert("search", &input, None, &mut FieldLock::default()))
            }),
        },
    ])
}
