//! Messages as JSON, for people and programs that read a trace.

use protomcp_codec::Raw;
use protomcp_envelope::Envelope;
use serde_json::{Map, Value, json};

/// The member of the serialized envelope that holds the message under its name.
const MESSAGE: &str = "msg";

/// An envelope: its members, with the message among them.
pub(crate) fn envelope(envelope: &Envelope) -> Value {
    let mut members = object(serde_json::to_value(envelope));
    let message = members.remove(MESSAGE);
    members.retain(|_, value| !is_default(value));
    if let Some(Value::Object(message)) = message {
        members.extend(message);
    }
    let mut shown = Value::Object(members);
    without_defaults(&mut shown);
    shown
}

/// The header of a raw payload, and the number of bytes after it.
pub(crate) fn raw(raw: &Raw) -> Value {
    let mut header = object(serde_json::to_value(&raw.header));
    header.insert("payload".into(), json!({"bytes": raw.payload.len()}));
    let mut shown = json!({"raw_header": header});
    without_defaults(&mut shown);
    shown
}

/// No message fails to be serialized: all names of members are text.
fn object(serialized: serde_json::Result<Value>) -> Map<String, Value> {
    match serialized {
        Ok(Value::Object(members)) => members,
        Ok(_) | Err(_) => Map::new(),
    }
}

fn without_defaults(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, inner| !is_default(inner));
            members.values_mut().for_each(without_defaults);
        }
        Value::Array(all) => all.iter_mut().for_each(without_defaults),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// True for the default of a field in protobuf 3. A message without fields is not one.
fn is_default(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(all) => all.is_empty(),
        Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use protomcp_codec::Field;
    use protomcp_envelope::{CallToolRequest, ListToolsRequest, Msg, StreamChunk};

    use super::*;

    #[test]
    fn messages_are_shown_without_defaults() {
        let call = CallToolRequest { name: "add".into(), arguments_json: "[1,2]".into(), ..Default::default() };
        let chunk = StreamChunk { data: "half a sec".into(), r#final: true };
        for (id, message, expected) in [
            ("1", Msg::from(call), json!({"request_id": "1", "call_tool": {"name": "add", "arguments_json": "[1,2]"}})),
            ("", Msg::from(ListToolsRequest {}), json!({"list_tools": {}})),
            ("2", Msg::from(chunk), json!({"request_id": "2", "stream_chunk": {"data": {"bytes": 10}, "final": true}})),
        ] {
            assert_eq!(envelope(&Envelope::new(id, message)), expected);
        }
        let payload = Raw::new("3", Field::ResultJson, "12345");
        assert_eq!(raw(&payload)["raw_header"]["payload"], json!({"bytes": 5}));
    }
}
