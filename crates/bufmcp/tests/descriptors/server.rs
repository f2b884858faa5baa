//! A server whose tools have messages: descriptors in lists, and arguments that are checked before a handler runs.

use prost_reflect::DescriptorPool;
use protomcp_bufmcp::message::{call_tool_response, tool_content::Content};
use protomcp_bufmcp::{Any, BinaryClientConfig};
use serde_json::{Value, json};

use super::stage::{Spy, inline, only_tool, open, open_with, pack, refused, request, schemas, search, unpack};
use crate::client::config;

#[tokio::test]
async fn a_tool_brings_a_complete_schema() {
    let client = open(&Spy::with(json!([search()]))).await;
    let tool = only_tool(&client).await;
    let types = [&tool.metadata["input_type"], &tool.metadata["output_type"]];
    assert_eq!(types, ["tools.v1.WebSearchRequest", "tools.v1.WebSearchResponse"]);
    assert!(!tool.metadata.contains_key("input_schema") && !tool.metadata.contains_key("bsr_ref"));
    // The library has no built-in files here: all imports are in the set.
    let pool = DescriptorPool::decode(&inline(&tool)[..]).unwrap();
    let input = pool.get_message_by_name("tools.v1.WebSearchRequest").unwrap();
    assert_eq!(
        input.get_field_by_name("extra").unwrap().kind().as_message().unwrap().full_name(),
        "google.protobuf.Value"
    );
    assert!(pool.files().any(|file| file.name() == "google/protobuf/struct.proto"));
    // The losses of the conversion are listed.
    let losses: Value = serde_json::from_str(&tool.metadata["schema_losses"]).unwrap();
    assert_eq!(losses[0]["keyword"], "required", "{losses}");
}

#[tokio::test]
async fn a_client_with_the_well_known_files_gets_none() {
    let knows = BinaryClientConfig { wkt_builtin: true, ..config() };
    let client = open_with(&Spy::with(json!([search()])), schemas(), knows).await;
    let short = only_tool(&client).await;
    let complete = only_tool(&open(&Spy::with(json!([search()]))).await).await;
    assert!(inline(&complete).ends_with(inline(&short)) && inline(&complete).len() > inline(&short).len() + 500);
    assert!(DescriptorPool::decode(&inline(&short)[..]).is_err(), "an import is missing");
    let any = pack(&complete, &json!({"query": "x"}));
    client.call_tool(request("web_search", Some(any)), None).await.unwrap();
}

#[tokio::test]
async fn a_schema_without_a_message_stays_a_struct() {
    let open_schemas = [
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": true}),
        json!({"type": "object", "properties": {"[a]": {"type": "string"}}}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]}),
        json!({"type": "object", "properties": {}, "patternProperties": {"^x": {"type": "string"}}}),
    ];
    for schema in open_schemas {
        let spy = Spy::with(json!([{"name": "t", "inputSchema": schema}]));
        let client = open(&spy).await;
        let tool = only_tool(&client).await;
        assert_eq!(tool.metadata["input_type"], "google.protobuf.Struct", "{schema}");
        assert_eq!(serde_json::from_str::<Value>(&tool.metadata["input_schema"]).unwrap(), schema);
        assert!(tool.metadata["schema_losses"].contains("fallback"), "{:?}", tool.metadata);
        let arguments = json!({"[a]": "x", "b": [1]});
        client.call_tool(request("t", Some(pack(&tool, &arguments))), None).await.unwrap();
        assert_eq!(spy.last(), arguments);
    }
    // Only the results of this one are a Struct.
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let spy = Spy::with(json!([{"name": "t", "inputSchema": schema, "outputSchema": {"type": "object"}}]));
    let tool = only_tool(&open(&spy).await).await;
    let types = [&tool.metadata["input_type"], &tool.metadata["output_type"]];
    assert_eq!(types, ["tools.v1.TRequest", "google.protobuf.Struct"]);
    assert_eq!(tool.metadata["output_schema"], r#"{"type":"object"}"#);
}

#[tokio::test]
async fn broken_rules_do_not_reach_the_handler() {
    let spy = Spy::with(json!([search()]));
    let client = open(&spy).await;
    let tool = only_tool(&client).await;
    for (arguments, field, rule) in [
        (json!({}), "query", "required"),
        (json!({"query": ""}), "query", "string.min_len"),
        (json!({"query": "x", "max_results": 101}), "max_results", "int32.gte_lte"),
    ] {
        let fault = refused(client.call_tool(request("web_search", Some(pack(&tool, &arguments))), None).await);
        assert_eq!((fault.code, &fault.data["field"]), (-33001, &json!(field)), "{fault:?}");
        let violations: Value = serde_json::from_str(fault.data["violations"].as_str().unwrap()).unwrap();
        let first = &violations[0];
        assert_eq!((&first["field"], &fault.data["rule_id"]), (&json!(field), &first["rule_id"]));
        assert_eq!(first["rule_id"], rule);
        assert!(!first["message"].as_str().unwrap().is_empty());
    }
    let absent = refused(client.call_tool(request("web_search", None), None).await);
    assert_eq!((absent.code, &absent.data["field"]), (-33001, &json!("query")), "absent is the empty message");
    let good = pack(&tool, &json!({"query": "x"}));
    for (any, why) in [
        (Any { type_url: "x/google.protobuf.Struct".into(), ..good.clone() }, "another type"),
        (Any { value: b"\x0a\xff"[..].into(), ..good.clone() }, "bytes that are not a message"),
        (Any { value: b"\x0a\x01\xff"[..].into(), ..good.clone() }, "text that is not UTF-8"),
    ] {
        let fault = refused(client.call_tool(request("web_search", Some(any)), None).await);
        assert_eq!(fault.code, -32602, "{why}: {fault:?}");
    }
    assert_eq!(spy.entered(), 0);
    client.call_tool(request("web_search", Some(good)), None).await.unwrap();
    assert_eq!(spy.entered(), 1);
}

#[tokio::test]
async fn arguments_arrive_as_the_schema_wants_them() {
    let schema = json!({
        "type": "object",
        "properties": {
            "id": {"type": "integer"}, "per-page": {"type": "number"}, "ids": {"type": "array", "items": {"type": "integer"}},
            "none": {"type": ["string", "null"]}, "flag": {"type": "boolean"},
        },
        "required": ["ids", "none"],
    });
    let spy = Spy::with(json!([{"name": "t", "inputSchema": schema}]));
    let client = open(&spy).await;
    let tool = only_tool(&client).await;
    let wide = json!({"id": 9_007_199_254_740_993_i64, "per-page": 0.5, "ids": [i64::MIN], "none": "x", "flag": false});
    client.call_tool(request("t", Some(pack(&tool, &wide))), None).await.unwrap();
    assert_eq!(spy.last(), wide);
    // A required list or null that protobuf does not send is there again.
    client.call_tool(request("t", None), None).await.unwrap();
    assert_eq!(spy.last(), json!({"ids": [], "none": null}));
}

#[tokio::test]
async fn results_are_messages_of_the_output() {
    let spy = Spy::with(json!([search()]));
    let client = open(&spy).await;
    let tool = only_tool(&client).await;
    let call = || client.call_tool(request("web_search", Some(pack(&tool, &json!({"query": "x"})))), None);
    for (answer, name) in [
        (json!({"hits": 5, "urls": ["a"]}), "tools.v1.WebSearchResponse"),
        // A result that breaks the promise of its schema is not lost.
        (json!({"hits": "many"}), "google.protobuf.Struct"),
    ] {
        *spy.answer.lock().unwrap() = answer.clone();
        let Some(call_tool_response::Result::Success(result)) = call().await.unwrap().result else { panic!() };
        let Some(Content::Data(any)) = &result.content[0].content else { panic!("{result:?}") };
        assert_eq!(any.type_name(), name);
        let json = unpack(&tool, any);
        let expected = if name.starts_with("tools") { json!({"hits": "5", "urls": ["a"]}) } else { answer };
        assert_eq!(json, expected, "the library writes wide integers as text");
    }
}

#[tokio::test]
async fn the_json_of_a_message_that_says_less_is_sent_with_it() {
    let spy = Spy::with(json!([search()]));
    let client = open(&spy).await;
    let tool = only_tool(&client).await;
    let call = || client.call_tool(request("web_search", Some(pack(&tool, &json!({"query": "x"})))), None);
    for (answer, is_sent) in [(json!({"hits": 5, "urls": ["a"]}), false), (json!({"hits": 0, "urls": []}), true)] {
        *spy.answer.lock().unwrap() = answer.clone();
        let Some(call_tool_response::Result::Success(result)) = call().await.unwrap().result else { panic!() };
        let Some(Content::Data(any)) = &result.content[0].content else { panic!("{result:?}") };
        assert_eq!(any.type_name(), "tools.v1.WebSearchResponse");
        let json = result.content.iter().find_map(|block| match &block.content {
            Some(Content::Text(text)) if block.mime_type == "application/json" => Some(text),
            _ => None,
        });
        assert_eq!(json.is_some(), is_sent, "{result:?}");
        assert!(json.is_none_or(|json| serde_json::from_str::<Value>(json).unwrap() == answer));
    }
}

#[tokio::test]
async fn the_json_of_arguments_counts_if_it_agrees() {
    let spy = Spy::with(json!([search()]));
    let client = open(&spy).await;
    let tool = only_tool(&client).await;
    let call = async |json: &str| {
        let mut request = request("web_search", Some(pack(&tool, &json!({"query": "x", "tags": ["t"]}))));
        request.metadata.insert("arguments_json".into(), json.into());
        client.call_tool(request, None).await
    };
    call(r#"{"query":"x","tags":["t"],"max_results":null}"#).await.unwrap();
    assert_eq!(spy.last(), json!({"query": "x", "tags": ["t"], "max_results": null}));
    for other in
        [r#"{"query":"y","tags":["t"]}"#, r#"{"query":"x"}"#, "{", r#"{"query":"x","tags":["t"],"max_results":500}"#]
    {
        assert_eq!(refused(call(other).await).code, -32602, "{other}");
    }
    assert_eq!(spy.entered(), 1);
}

#[tokio::test]
async fn a_client_with_an_older_schema_is_not_misunderstood() {
    let property = json!({"type": "string"});
    let before = json!([{"name": "t", "inputSchema": {"type": "object", "properties": {"b": property}}}]);
    let after = json!([{"name": "t", "inputSchema": {"type": "object", "properties": {"a": property, "b": property}}}]);
    let spy = Spy::with(before);
    let client = open(&spy).await;
    let old = only_tool(&client).await;
    client.call_tool(request("t", Some(pack(&old, &json!({"b": "x"})))), None).await.unwrap();
    *spy.tools.lock().unwrap() = after;
    let new = only_tool(&client).await;
    for (tool, arguments) in [(&old, json!({"b": "y"})), (&new, json!({"a": "1", "b": "2"}))] {
        client.call_tool(request("t", Some(pack(tool, &arguments))), None).await.unwrap();
        assert_eq!(spy.last(), arguments);
    }
}

#[tokio::test]
async fn large_arguments_and_hostile_schemas_are_bounded() {
    let spy = Spy::with(json!([search()]));
    let client = open(&spy).await;
    let tool = only_tool(&client).await;
    let long = json!({"query": "x".repeat(1 << 20), "tags": ["y"]});
    client.call_tool(request("web_search", Some(pack(&tool, &long))), None).await.unwrap();
    assert_eq!(spy.last(), long);
    // Deep and wide schemas become no message; the tool stays.
    let mut deep = json!({"type": "string"});
    for _ in 0..40 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    let wide: serde_json::Map<_, _> = (0..5000).map(|at| (format!("p{at}"), json!({"type": "string"}))).collect();
    let wide = json!({"type": "object", "properties": wide});
    for schema in [deep, wide] {
        let client = open(&Spy::with(json!([{"name": "t", "inputSchema": schema}]))).await;
        let tool = only_tool(&client).await;
        assert_eq!(tool.metadata["input_type"], "google.protobuf.Struct");
        assert!(tool.metadata["schema_losses"].len() < 1000, "{:?}", tool.metadata["schema_losses"]);
    }
}
