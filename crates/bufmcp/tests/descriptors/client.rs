//! A client of MCP in front of a client of proto-mcp: schemas become JSON Schemas, and rules hold before a call is sent.

use std::sync::Arc;
use std::time::Duration;

use protomcp_bufmcp::message::{self, tool::SchemaSource};
use protomcp_bufmcp::{
    Any, BinaryBackend, BinaryClientConfig, DescriptorSchemas, SchemaError, ToolSchemas, Unresolved,
};
use protomcp_client::{Client, ClientSession};
use protomcp_server::Server;
use protomcp_transport::memory;
use protomcp_types::RawJson;
use protox::file::{File, FileResolver, GoogleFileResolver};
use serde_json::{Value, json};

use super::stage::{Spy, open_with, schemas, search};
use crate::client::config;

async fn session(spy: &Arc<Spy>) -> ClientSession {
    let knows = BinaryClientConfig { wkt_builtin: true, ..config() };
    let client = open_with(spy, schemas(), knows).await;
    let front = Server::from_handler(BinaryBackend::new(client, Arc::new(schemas())));
    let (ours, theirs) = memory::pair();
    tokio::spawn(async move { front.serve(theirs).await });
    Client::new("host", "1.0").connect(ours).await.unwrap()
}

#[tokio::test]
async fn schemas_and_values_pass_both_conversations() {
    let spy = Spy::with(json!([search()]));
    let session = session(&spy).await;
    let listed = session.list_tools(None).await.unwrap().items.remove(0);
    let schema: Value = listed.input_schema.to().unwrap();
    assert_eq!(schema["properties"]["query"]["description"], "The words");
    assert_eq!(schema["properties"]["query"]["minLength"], 1);
    assert_eq!(schema["properties"]["max_results"]["maximum"], 100);
    assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!(["query"])));
    assert_eq!(listed.output_schema.unwrap().to::<Value>().unwrap()["properties"]["hits"]["type"], "integer");
    *spy.answer.lock().unwrap() = json!({"hits": 9_007_199_254_740_993_i64, "urls": ["a"]});
    let arguments = json!({"query": "x", "max_results": 5, "tags": ["t"], "extra": {"a": [null, 1]}});
    let result = session.call_tool("web_search", &arguments).await.unwrap();
    assert_eq!(spy.last(), arguments);
    let structured: Value = result.structured_content.unwrap().to().unwrap();
    assert_eq!(structured, json!({"hits": 9_007_199_254_740_993_i64, "urls": ["a"]}));
}

/// A tool in whose messages empty values are missing ones.
fn sparse() -> Value {
    let properties = json!({
        "id": {"type": "integer"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "limits": {"type": "object", "additionalProperties": {"type": "integer"}},
        "next": {"type": ["string", "null"]},
        "rows": {"type": "array", "items": {"type": "object", "properties": {
            "tags": {"type": "array", "items": {"type": "string"}}, "size": {"type": "number"},
        }}},
    });
    json!({
        "name": "sparse",
        "inputSchema": {"type": "object", "properties": properties},
        "outputSchema": {"type": "object", "properties": properties, "required": ["labels", "limits", "next"]},
    })
}

#[tokio::test]
async fn empty_values_arrive_in_both_directions() {
    let spy = Spy::with(json!([sparse()]));
    let session = session(&spy).await;
    for value in [
        json!({"id": 1, "labels": [], "limits": {}, "next": null}),
        json!({"id": 1, "next": null}),
        json!({"labels": ["a"], "limits": {"b": 5}, "next": "c", "rows": [{"size": 1.5}]}),
        json!({"rows": [{"tags": []}, {"tags": ["x"], "size": 2}, {}]}),
        // Arguments that would be rounded are refused, so this is a result only.
        json!({"rows": [{"size": 9_007_199_254_740_993_i64, "tags": []}]}),
        json!({}),
    ] {
        *spy.answer.lock().unwrap() = value.clone();
        let is_wide = value.to_string().contains("9007199254740993");
        let arguments = if is_wide { json!({}) } else { value.clone() };
        let result = session.call_tool("sparse", &arguments).await.unwrap();
        assert_eq!(spy.last(), arguments, "the arguments");
        assert_eq!(result.structured_content.unwrap().to::<Value>().unwrap(), value, "the result");
        let blocks: Value = result.content.to().unwrap();
        let texts: Vec<_> = blocks.as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap()).collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert_eq!((serde_json::from_str::<Value>(texts[0]).unwrap(), texts[1]), (value, "said"));
    }
}

#[tokio::test]
async fn an_integer_arrives_as_a_number_or_as_its_text() {
    let schema = json!({"type": "object", "properties": {
        "id": {"type": "integer"},
        "ids": {"type": "array", "items": {"type": "integer"}},
        "limits": {"type": "object", "additionalProperties": {"type": "integer"}},
    }});
    let spy = Spy::with(json!([{"name": "wide", "inputSchema": schema, "outputSchema": schema}]));
    let session = session(&spy).await;
    let numbers = json!({"id": 9_007_199_254_740_993_i64, "ids": [-5, i64::MAX], "limits": {"a": i64::MIN}});
    let texts = json!({
        "id": "9007199254740993",
        "ids": ["-5", "9223372036854775807"],
        "limits": {"a": "-9223372036854775808"},
    });
    for arguments in [&numbers, &texts] {
        session.call_tool("wide", arguments).await.unwrap();
        assert_eq!(spy.last(), numbers, "{arguments}");
    }
    for wrong in ["five", "1.5", "9223372036854775808"] {
        let error = session.call_tool("wide", &json!({"id": wrong})).await.unwrap_err();
        assert_eq!(error.code(), Some(-32602), "{wrong}: {error}");
    }
}

#[tokio::test]
async fn a_client_sends_nothing_that_breaks_a_rule() {
    let spy = Spy::with(json!([search()]));
    let session = session(&spy).await;
    for (arguments, code) in [
        (json!({"query": "x", "max_results": 0}), -33001),
        (json!({}), -33001),
        (json!({"query": "x", "unknown": 1}), -32602),
        (json!({"query": 5}), -32602),
        (json!({"query": "x", "extra": 9_007_199_254_740_993_i64}), -32602),
    ] {
        let error = session.call_tool("web_search", &arguments).await.unwrap_err();
        assert_eq!(error.code(), Some(code), "{arguments}: {error}");
    }
    assert_eq!(spy.entered(), 0);
}

/// The part of the rules that these tests use.
const RULES: &str = r#"
    syntax = "proto2"; package buf.validate; import "google/protobuf/descriptor.proto";
    extend google.protobuf.MessageOptions { optional MessageRules message = 1159; }
    extend google.protobuf.FieldOptions { optional FieldRules field = 1159; }
    message Rule { optional string id = 1; optional string message = 2; optional string expression = 3; }
    message MessageRules { repeated Rule cel = 3; }
    message FieldRules { optional StringRules string = 14; }
    message StringRules { optional uint64 min_len = 2; }
"#;

/// A source file as a descriptor set without its imports.
fn compiled(source: &'static str) -> Vec<u8> {
    struct Source(&'static str);
    impl FileResolver for Source {
        fn open_file(&self, name: &str) -> Result<File, protox::Error> {
            match name {
                "a.proto" => File::from_source(name, self.0),
                "buf/validate/validate.proto" => File::from_source(name, RULES),
                _ => GoogleFileResolver::new().open_file(name),
            }
        }
    }
    let mut compiler = protox::Compiler::with_file_resolver(Source(source));
    compiler.open_file("a.proto").unwrap();
    compiler.encode_file_descriptor_set()
}

fn proto_tool(set: Vec<u8>) -> message::Tool {
    let schema_source = Some(SchemaSource::InlineSchema(set.into()));
    message::Tool { name: "t".into(), schema_source, ..message::Tool::default() }
}

#[tokio::test]
async fn inline_schemas_of_others_are_read() {
    let set = compiled(
        r#"
        syntax = "proto3"; package acme.v1; import "buf/validate/validate.proto";
        // Finds things.
        message FindRequest { string words = 1 [(buf.validate.field).string.min_len = 2]; }
        message FindResponse { int64 count = 1; }
        "#,
    );
    let known = schemas();
    let messages = known.of_proto(&proto_tool(set)).await.unwrap();
    let names = messages.names();
    assert_eq!(
        (&*names.input_type, names.output_type.as_deref()),
        ("acme.v1.FindRequest", Some("acme.v1.FindResponse"))
    );
    let short = messages.arguments_to_any(&RawJson::parse(r#"{"words":"x"}"#).unwrap()).await.unwrap_err();
    let SchemaError::Violations(violations) = short else { panic!("{short:?}") };
    assert_eq!((&*violations[0].field, &*violations[0].rule_id), ("words", "string.min_len"));
    let any = messages.arguments_to_any(&RawJson::parse(r#"{"words":"xy"}"#).unwrap()).await.unwrap();
    assert_eq!(any, Any::new("acme.v1.FindRequest", &b"\x0a\x02xy"[..]));
    let result = messages.result_to_json(&Any::new("acme.v1.FindResponse", &b"\x08\x05"[..])).await.unwrap();
    assert_eq!(result.value.as_str(), r#"{"count":5}"#);
}

#[tokio::test]
async fn tools_that_differ_in_their_output_schema_alone_are_two() {
    let known = schemas();
    let set = compiled(
        r#"
        syntax = "proto3"; package acme.v1; import "google/protobuf/struct.proto";
        message FindRequest { google.protobuf.Struct near = 1; }
        "#,
    );
    for output in [r#"{"title":"one"}"#, r#"{"title":"two"}"#] {
        let mut tool = proto_tool(set.clone());
        tool.metadata.insert("output_type".into(), "google.protobuf.Struct".into());
        tool.metadata.insert("output_schema".into(), output.into());
        let messages = known.of_proto(&tool).await.unwrap();
        assert_eq!(messages.output_schema().unwrap().as_str(), output);
    }
}

#[tokio::test]
async fn rules_that_do_not_end_are_given_up() {
    // Each level multiplies the steps by the length of the list.
    let set = compiled(
        r#"
        syntax = "proto3"; package acme.v1; import "buf/validate/validate.proto";
        message FindRequest {
          option (buf.validate.message).cel = { id: "slow", message: "slow", expression:
            "this.a.all(b, this.a.all(c, this.a.all(d, b + c + d >= 0)))" };
          repeated int64 a = 1;
        }
        "#,
    );
    let schemas = DescriptorSchemas::new().time_limit(Duration::from_secs(1));
    let tool = proto_tool(set);
    let mut messages = schemas.of_proto(&tool).await;
    for _ in 0..60 {
        if messages.is_ok() {
            break;
        }
        messages = schemas.of_proto(&tool).await;
    }
    let messages = messages.unwrap();
    let fine = RawJson::parse(r#"{"a":[1]}"#).unwrap();
    // On a busy machine even loading may take longer than the limit.
    let works = async || {
        for _ in 0..60 {
            if messages.arguments_to_any(&fine).await.is_ok() {
                return true;
            }
        }
        false
    };
    assert!(works().await);
    let hostile = RawJson::of(&json!({"a": vec![1; 140]})).unwrap();
    let given_up = messages.arguments_to_any(&hostile).await.unwrap_err();
    assert!(matches!(given_up, SchemaError::Unresolved { cause: Unresolved::InvalidSchema, .. }), "{given_up:?}");
    assert!(works().await, "the thread that is busy leaves room for others");
}

#[tokio::test]
async fn unusable_schemas_are_refused() {
    let known = schemas();
    let two = compiled(r#"syntax = "proto3"; package acme.v1; message A {} message B {}"#);
    let wrapper = compiled(r#"syntax = "proto3"; package acme.v1; message ARequest {}"#);
    let named = |set: &[u8], name: &str| {
        let mut tool = proto_tool(set.to_vec());
        tool.metadata.insert("input_type".into(), name.into());
        tool
    };
    for tool in [
        proto_tool(vec![0xff]),
        proto_tool(two.clone()),
        named(&two, "acme.v1.C"),
        named(&wrapper, "google.protobuf.StringValue"),
        message::Tool { name: "none".into(), ..message::Tool::default() },
    ] {
        let error = known.of_proto(&tool).await.err().unwrap();
        assert!(matches!(error, SchemaError::Unresolved { .. }), "{error:?}");
    }
    known.of_proto(&named(&two, "acme.v1.B")).await.unwrap();
    // Without a registry, a reference says what is missing.
    let reference = SchemaSource::BsrRef("buf.build/acme/tools/acme.v1.ARequest:v1".into());
    let tool = message::Tool { name: "t".into(), schema_source: Some(reference), ..message::Tool::default() };
    assert!(known.of_proto(&tool).await.err().unwrap().to_string().contains("no registry"));
}
