//! Any answer of a tool: the client gets a well-formed result with all of its content.
//!
//! The first byte selects flags and schema; the rest is cut at 0xff bytes into `result_json`, structured content,
//! metadata and the parts of an error.

#![no_main]

use std::collections::BTreeMap;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use protomcp_bridge::SchemaPolicy;
use protomcp_bridge::fuzzing::result_of;
use protomcp_envelope::{CallToolResponse, ToolDefinition, ToolError};
use protomcp_types::replace_lone_surrogates;
use serde_json::Value;
use serde_json::value::RawValue;

const SCHEMA: &str = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;

fuzz_target!(|input: &[u8]| {
    let Some((flags, rest)) = input.split_first() else { return };
    let parts: Vec<&[u8]> = rest.split(|byte| *byte == 0xff).collect();
    let part = |number: usize| parts.get(number).copied().unwrap_or_default();
    let text = |number: usize| String::from_utf8_lossy(part(number)).into_owned();
    let has = |bit: u8| flags & (1 << bit) != 0;
    // The codec accepts only UTF-8.
    let result_json = text(0);
    let definition = ToolDefinition {
        name: "tool".into(),
        output_schema_json: if has(0) { SCHEMA.into() } else { Default::default() },
        ..Default::default()
    };
    let policy = match (has(1), has(2)) {
        (true, _) => SchemaPolicy::Always,
        (false, true) => SchemaPolicy::Proven,
        (false, false) => SchemaPolicy::Never,
    };
    let response = CallToolResponse {
        is_error: has(3),
        result_json: Bytes::from(result_json.clone()),
        structured_content_json: Bytes::from(text(1)),
        metadata_json: text(2).into(),
        error: has(4).then(|| ToolError {
            error_code: text(3),
            message: text(4),
            suggestion: text(5),
            retryable: has(5),
        }),
        ..Default::default()
    };
    let Some(result) = result_of(definition, policy, response.clone()) else { panic!("the tool has a name") };

    let content: Vec<Value> = serde_json::from_slice(result.content.bytes()).expect("content is an array");
    assert!(content.iter().all(|block| block["type"].is_string()), "every block has a type: {content:?}");
    let texts: Vec<&str> = content.iter().filter_map(|block| block["text"].as_str()).collect();
    if response.is_error {
        assert!(result.is_error);
        if let Some(error) = &response.error {
            assert!(error.message.is_empty() || texts.iter().any(|text| text.contains(&error.message)), "{texts:?}");
        }
    }
    if let Some(structured) = &result.structured_content {
        // Numbers may exceed every numeric type (RFC 8259, section 6), so they are not parsed.
        serde_json::from_slice::<BTreeMap<String, Box<RawValue>>>(structured.bytes()).expect("it is a JSON object");
        if !response.structured_content_json.is_empty() {
            let sent = replace_lone_surrogates(response.structured_content_json);
            assert_eq!(structured.bytes(), sent.trim_ascii(), "passed on as it is, without halves of pairs");
        }
    }
    // The result matches the advertised schema or is an error.
    assert!(!(has(0) && has(1)) || result.is_error || result.structured_content.is_some());
    // Text that is not JSON is passed on as text.
    if !result_json.trim_ascii().is_empty()
        && serde_json::from_str::<&RawValue>(&result_json).is_err()
        && part(1).is_empty()
    {
        assert!(texts.contains(&result_json.as_str()), "{result_json:?} became {texts:?}");
    }
});
