//! References of tools, resolved by a registry in this process.

use std::time::Duration;

use futures_util::future::join_all;
use protomcp_bufmcp::message::{ListToolsRequest, tool::SchemaSource};
use protomcp_bufmcp::{Any, BinaryClientConfig, ToolSchemas};
use protomcp_descriptors::registry::CacheTimes;
use serde_json::{Value, json};

use super::stage::{Spy, inline, open_with, refused, request, schemas, tool};
use super::stand_in::{Fault, StandIn, one_message};
use crate::client::config;

const REFERENCE: &str = "registry.test/acme/tools/acme.v1.Request:v1";

fn find(reference: &str) -> Value {
    json!({
        "name": "find",
        "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}},
        "_meta": {"bsr_ref": reference},
    })
}

fn arguments() -> Option<Any> {
    Some(Any::new("acme.v1.Request", &b"\x0a\x01x"[..]))
}

fn resolves() -> BinaryClientConfig {
    BinaryClientConfig { bsr_refs: true, ..config() }
}

#[tokio::test]
async fn a_reference_is_resolved_when_it_is_needed() {
    let registry = StandIn::start().await;
    let spy = Spy::with(json!([find(REFERENCE)]));
    let known = schemas().resolver(registry.resolver().build());
    let client = open_with(&spy, known, resolves()).await;
    let page = client.list_tools(ListToolsRequest::default()).await.unwrap();
    assert_eq!(page.tools[0].schema_source, Some(SchemaSource::BsrRef(REFERENCE.into())));
    assert!(registry.seen().is_empty(), "listing references needs no registry");
    client.call_tool(request("find", arguments()), None).await.unwrap();
    assert_eq!((spy.last(), registry.seen().len()), (json!({"query": "x"}), 1));
    let page = client.list_tools(ListToolsRequest { include_schemas: true, ..Default::default() }).await.unwrap();
    let shown = &page.tools[0];
    assert_eq!((&*shown.metadata["bsr_ref"], &*shown.metadata["input_type"]), (REFERENCE, "acme.v1.Request"));
    assert_eq!(inline(shown), &one_message("query"));
    assert_eq!(registry.seen().len(), 1);
    // A client chooses no other type.
    let other = Any::new("google.protobuf.Struct", &b""[..]);
    assert_eq!(refused(client.call_tool(request("find", Some(other)), None).await).code, -32602);
}

#[tokio::test]
async fn many_first_calls_are_one_request() {
    let registry = StandIn::start().await;
    registry.order(|orders| orders.latency = Duration::from_millis(50));
    let spy = Spy::with(json!([find(REFERENCE)]));
    let known = schemas().resolver(registry.resolver().build());
    let client = open_with(&spy, known, resolves()).await;
    let calls = (0..30).map(|_| client.call_tool(request("find", arguments()), None));
    assert!(join_all(calls).await.iter().all(Result::is_ok));
    assert_eq!((spy.entered(), registry.seen().len()), (30, 1));
}

#[tokio::test]
async fn a_reference_without_a_schema_fails_with_its_cause() {
    for (reference, fault, cause) in [
        (REFERENCE, Some(Fault::Status(404, "not_found")), "not_found"),
        (REFERENCE, Some(Fault::Status(401, "unauthenticated")), "unauthenticated"),
        (REFERENCE, Some(Fault::Garbage), "invalid_schema"),
        ("other.test/acme/tools/acme.v1.Request:v1", None, "invalid_ref"),
        ("no reference", None, "invalid_ref"),
        ("registry.test/acme/tools/acme.v1.Other:v1", None, "not_found"),
    ] {
        let registry = StandIn::start().await;
        registry.order(|orders| orders.always = fault.clone());
        let spy = Spy::with(json!([find(reference)]));
        let known = schemas().resolver(registry.resolver().build());
        let client = open_with(&spy, known, resolves()).await;
        let failed = refused(client.call_tool(request("find", arguments()), None).await);
        assert_eq!((failed.code, &failed.data["cause"]), (-33000, &json!(cause)), "{reference} {fault:?}");
        assert_eq!(spy.entered(), 0);
        let page = client.list_tools(ListToolsRequest { include_schemas: true, ..Default::default() }).await.unwrap();
        assert!(page.tools[0].metadata.contains_key("schema_error"), "the tool stays in the list");
    }
}

#[tokio::test]
async fn a_moved_label_changes_the_messages() {
    let registry = StandIn::start().await;
    let never_fresh = CacheTimes { fresh: Duration::ZERO, ..CacheTimes::default() };
    let known = schemas().resolver(registry.resolver().cache_times(never_fresh).build());
    let definition = tool(&find(REFERENCE));
    let field = async || {
        let messages = known.of_json(&definition).await.unwrap();
        let json = messages.arguments_to_json(arguments().as_ref()).await.unwrap();
        json.to::<Value>().unwrap().as_object().unwrap().keys().next().unwrap().clone()
    };
    assert_eq!(field().await, "query");
    registry.order(|orders| (orders.set, orders.commit) = (one_message("words"), "1".repeat(32)));
    assert_eq!(field().await, "words");
}

#[tokio::test]
async fn without_a_registry_a_tool_has_the_message_of_its_schema() {
    let spy = Spy::with(json!([find(REFERENCE)]));
    let client = open_with(&spy, schemas(), resolves()).await;
    let page = client.list_tools(ListToolsRequest::default()).await.unwrap();
    assert_eq!(page.tools[0].metadata["input_type"], "tools.v1.FindRequest");
    assert!(!page.tools[0].metadata.contains_key("bsr_ref"));
}
