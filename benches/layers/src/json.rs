//! JSON-RPC lines to messages and back.

use std::hint::black_box;

use bytes::Bytes;
use protomcp_types::{CallTool, Incoming, JsonBuf, Message, RawJson, RequestId};
use serde_json::{Value, json};

/// The arguments of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A line of 262 B.
    Small,
    /// A line of 68 KB with 1,100 objects.
    Structured,
    /// A line of 61 KB with one string.
    OneString,
}

/// The line of a call.
pub fn call_line(shape: Shape) -> Bytes {
    let arguments = match shape {
        Shape::Small => {
            json!({"text": "a short text", "count": 3, "flags": ["one", "two"], "nested": {"deep": {"er": true}}})
        }
        Shape::Structured => {
            let rows: Vec<Value> =
                (0..1_100).map(|n| json!({"id": n, "name": format!("row {n}"), "ok": true, "x": 1.5})).collect();
            json!({ "rows": rows })
        }
        Shape::OneString => json!({"text": "x".repeat(61_000)}),
    };
    let meta = json!({"progressToken": "token-1"});
    let params = json!({"name": "some_tool", "arguments": arguments, "_meta": meta});
    Bytes::from(json!({"jsonrpc": "2.0", "id": 17, "method": "tools/call", "params": params}).to_string())
}

/// Parses a call.
///
/// # Panics
/// If the line is not a call.
pub fn parse(line: &Bytes) -> CallTool {
    let Ok(Incoming::One(Message::Request(request))) = Incoming::parse(line) else {
        unreachable!("the line is a request")
    };
    CallTool::try_from(request.params).expect("it is a call")
}

/// Parses a call of this shape.
pub fn parse_call(shape: Shape, count: u32) {
    let line = call_line(shape);
    for _ in 0..count {
        black_box(parse(black_box(&line)));
    }
}

/// The content of a result with a text of `size` bytes.
///
/// # Panics
/// Never.
pub fn content(size: usize) -> RawJson {
    RawJson::parse(json!([{"type": "text", "text": "x".repeat(size)}]).to_string()).expect("it is JSON")
}

/// Writes the line of a result.
pub fn write(content: &RawJson, out: &mut Vec<u8>) {
    let body = JsonBuf::object().raw("content", content).boolean("isError", false).finish();
    Message::result(RequestId::from(17), body).write_to(out);
}

/// Writes a result with a text of `size` bytes.
pub fn write_result(size: usize, count: u32) {
    let content = content(size);
    let mut out = Vec::with_capacity(size + 128);
    for _ in 0..count {
        out.clear();
        write(black_box(&content), &mut out);
        black_box(&out);
    }
}
