//! Any line of a host: what is taken as a message says what a JSON library reads in it, is written as text that is read as
//! the same message, and no request that JSON-RPC allows is refused. What is refused has an answer.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use protomcp_types::{Incoming, MAX_BATCH, MAX_MEMBERS, Message, Params, RequestId};
use serde::de::IgnoredAny;
use serde_json::Value;

fuzz_target!(|line: &[u8]| {
    let line = Bytes::copy_from_slice(line);
    let value: Option<Value> = serde_json::from_slice(&line).ok();
    match Incoming::parse(&line) {
        // Half of a surrogate pair is JSON (RFC 8259, section 8.2), but no text that the library could give back.
        Ok(_) if value.is_none() => assert!(is_json(&line), "a message is JSON"),
        Ok(Incoming::One(message)) => agrees(&message, &value.expect("looked at above"), may_be_crowded(&line)),
        Ok(Incoming::Batch(messages)) => {
            let Some(Value::Array(values)) = value else { panic!("a batch is an array") };
            assert!((1..=MAX_BATCH).contains(&messages.len()));
            assert_eq!(messages.len(), values.len());
            for (message, value) in messages.into_iter().zip(&values) {
                match message {
                    Ok(message) => agrees(&message, value, may_be_crowded(&line)),
                    Err(malformed) => {
                        assert!(!is_plain_request(value), "{value} was refused: {malformed}");
                        reads_back(&malformed.into());
                    }
                }
            }
        }
        Err(malformed) => {
            assert!(!value.as_ref().is_some_and(is_plain_request), "{value:?} was refused: {malformed}");
            let code = malformed.error.code;
            assert!(matches!(code, -32700 | -32600), "{code}");
            reads_back(&malformed.into());
        }
    }
});

/// True if there is room for more members than are read: each has at least the bytes of `"":0,`.
fn may_be_crowded(line: &[u8]) -> bool {
    line.len() > 5 * MAX_MEMBERS
}

/// The message says what the library reads. A notification loses its parameters if they have too many members.
fn agrees(message: &Message, value: &Value, may_be_crowded: bool) {
    let (id, method, params) = match message {
        Message::Request(request) => (Some(&request.id), Some(&request.method), Some(&request.params)),
        Message::Notification(notification) => (None, Some(&notification.method), Some(&notification.params)),
        Message::Response(response) => (response.id.as_ref(), None, None),
    };
    assert_eq!(value["jsonrpc"], "2.0");
    assert_eq!(method.map(AsRef::as_ref), value["method"].as_str());
    if let Some(id) = id {
        let written = written(id);
        // Integers beyond 64 bits are carried as text; the library rounds them.
        if value["id"].is_string() || value["id"].is_i64() || value["id"].is_u64() {
            assert_eq!(serde_json::from_str::<Value>(&written).expect("an id is JSON"), value["id"]);
        }
    }
    let is_lost = id.is_none() && may_be_crowded && matches!(params, Some(Params::Absent));
    if let Some(params) = params.filter(|_| !is_lost) {
        has_members(params, &value["params"]);
    }
    reads_back(message);
}

fn has_members(params: &Params, value: &Value) {
    for (name, wanted) in value.as_object().into_iter().flatten() {
        let found = params.member(name).unwrap_or_else(|| panic!("{name:?} is missing"));
        let found: Value = serde_json::from_slice(found.bytes()).expect("a member is JSON");
        assert_eq!(found, *wanted);
    }
}

/// True if the text follows the grammar.
fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

/// Our output is readable for others, and for us.
fn reads_back(message: &Message) {
    let text = message.to_text();
    assert!(is_json(text.as_bytes()), "{text}");
    let read = Incoming::parse(&Bytes::from(text));
    assert_eq!(read, Ok(Incoming::One(message.clone())));
}

fn written(id: &RequestId) -> String {
    let mut text = Vec::new();
    id.write_to(&mut text);
    String::from_utf8(text).expect("an id is text")
}

/// A valid request.
fn is_plain_request(value: &Value) -> bool {
    let Some(members) = value.as_object() else { return false };
    let plain_id = match members.get("id") {
        Some(Value::String(id)) => id.len() < 64,
        Some(id) => id.is_i64() || id.is_u64(),
        None => false,
    };
    let plain_params = match members.get("params") {
        Some(Value::Object(params)) => params.len() < 16 && depth(value) < 64,
        Some(_) => false,
        None => true,
    };
    value["jsonrpc"] == "2.0"
        && value["method"].as_str().is_some_and(is_plain_method)
        && plain_id
        && plain_params
        && !members.contains_key("result")
        && !members.contains_key("error")
}

/// A notification has no id, and a name that says what it is.
fn is_plain_method(method: &str) -> bool {
    !method.is_empty() && method.len() < 64 && !method.starts_with("notifications/")
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(elements) => 1 + elements.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
