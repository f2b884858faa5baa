//! Parses and writes JSON-RPC lines: one scan that keeps arguments as text, beside a tree of `serde_json::Value`s.

use bytes::Bytes;
use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use protomcp_types::{CallTool, Incoming, JsonBuf, Message, RawJson, RequestId};
use serde_json::{Value, json};

const SHAPES: [&str; 3] = ["262 B", "68 KB structured", "61 KB one string"];

fn main() {
    divan::main();
}

fn line(shape: &str) -> Bytes {
    let arguments = match shape {
        "262 B" => {
            json!({"text": "a short text", "count": 3, "flags": ["one", "two"], "nested": {"deep": {"er": true}}})
        }
        "68 KB structured" => {
            let rows: Vec<Value> =
                (0..1_100).map(|n| json!({"id": n, "name": format!("row {n}"), "ok": true, "x": 1.5})).collect();
            json!({ "rows": rows })
        }
        _ => json!({"text": "x".repeat(61_000)}),
    };
    let meta = json!({"progressToken": "token-1"});
    let params = json!({"name": "some_tool", "arguments": arguments, "_meta": meta});
    Bytes::from(json!({"jsonrpc": "2.0", "id": 17, "method": "tools/call", "params": params}).to_string())
}

#[divan::bench(args = SHAPES, sample_size = 50)]
fn parse_call(bencher: Bencher<'_, '_>, shape: &str) {
    let line = line(shape);
    bencher.counter(BytesCount::new(line.len())).bench_local(|| {
        let Ok(Incoming::One(Message::Request(request))) = Incoming::parse(black_box(&line)) else {
            unreachable!("the line is a request")
        };
        black_box(CallTool::try_from(request.params).expect("it is a call"))
    });
}

#[divan::bench(args = SHAPES, sample_size = 50)]
fn parse_call_peer(bencher: Bencher<'_, '_>, shape: &str) {
    let line = line(shape);
    bencher
        .counter(BytesCount::new(line.len()))
        .bench_local(|| serde_json::from_slice::<Value>(black_box(&line)).expect("the line is JSON"));
}

#[divan::bench(args = [200, 64 * 1024], sample_size = 200)]
fn write_result(bencher: Bencher<'_, '_>, size: usize) {
    let content = RawJson::parse(json!([{"type": "text", "text": "x".repeat(size)}]).to_string()).expect("it is JSON");
    let mut out = Vec::with_capacity(size + 128);
    bencher.counter(BytesCount::new(size)).bench_local(|| {
        out.clear();
        let body = JsonBuf::object().raw("content", black_box(&content)).boolean("isError", false).finish();
        Message::result(RequestId::from(17), body).write_to(&mut out);
        black_box(out.len())
    });
}
