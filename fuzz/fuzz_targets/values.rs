//! Any bytes as a message of a well-known type, and any JSON as arguments or a result: refused, or the same value on the
//! way back, unless it is reported as inexact.
//!
//! The first byte of the input chooses the type; from 128 on the bytes behind it choose the parts of a JSON value.

#![no_main]

use std::sync::{Arc, LazyLock};

use arbitrary::Unstructured;
use bytes::Bytes;
use futures_util::FutureExt;
use libfuzzer_sys::fuzz_target;
use protomcp_bufmcp::{Any, StructSchemas, ToolMessages, ToolSchemas};
use protomcp_fuzz::json::value;
use protomcp_types::{RawJson, Tool, ToolName};
use serde_json::Value;

const TYPES: [&str; 14] = [
    "Struct", "Value", "ListValue", "Empty", "Timestamp", "Duration", "StringValue", "BoolValue", "Int32Value",
    "Int64Value", "UInt32Value", "UInt64Value", "DoubleValue", "FloatValue",
];

static MESSAGES: LazyLock<Arc<dyn ToolMessages>> = LazyLock::new(|| {
    let tool = Tool::new(ToolName::new("t").expect("a name"));
    wait(StructSchemas.of_json(&tool)).expect("every tool has one")
});

/// Longer inputs take longer, and find nothing that short ones do not.
const LONGEST: usize = 2048;

fuzz_target!(|input: &[u8]| {
    let Some((first, bytes)) = input.split_first().filter(|_| input.len() <= LONGEST) else { return };
    if *first >= 0x80 {
        let Ok(value) = value(&mut Unstructured::new(bytes), 4) else { return };
        there_and_back(&RawJson::of(&value).expect("a value is JSON"));
        return;
    }
    let name = TYPES[usize::from(*first) % TYPES.len()];
    let any = Any::new(&format!("google.protobuf.{name}"), Bytes::copy_from_slice(bytes));
    if let Ok(json) = wait(MESSAGES.result_to_json(&any)) {
        assert!(json.inexact.is_empty());
        there_and_back(&json.value);
    }
    if let Ok(json) = RawJson::parse(bytes.to_vec()) {
        there_and_back(&json);
    }
});

fn there_and_back(json: &RawJson) {
    let Ok(any) = wait(MESSAGES.result_to_any(json)) else { return };
    let back = wait(MESSAGES.result_to_json(&any.value)).expect("what was written is read");
    let values = [json, &back.value].map(|json| json.to::<Value>().expect("it is JSON"));
    if any.inexact.is_empty() {
        assert!(is_same(&values[0], &values[1]), "{json} is not {}", back.value);
    }
    if let Ok(arguments) = wait(MESSAGES.arguments_to_any(json)) {
        assert!(any.inexact.is_empty() && values[0].is_object());
        let back = wait(MESSAGES.arguments_to_json(Some(&arguments))).expect("what was written is read");
        assert!(is_same(&values[0], &back.to().expect("it is JSON")));
    }
}

/// Equal, where 1 and 1.0 are the same number.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, value)| other.get(name).is_some_and(|other| is_same(value, other)))
        }
        (one, other) => one == other,
    }
}

/// These schemas never wait.
fn wait<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("it does not wait")
}
