//! Tool calls: results, errors, deadlines, tokens and rates.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use protomcp_bufmcp::message::{
    CallToolRequest, InitializeRequest, ListToolsRequest, Payload, ReadResourceRequest, resource_content,
    tool_content::Content,
};
use protomcp_bufmcp::{Any, RateLimit, RateLimits, Tokens};
use protomcp_testing::until;

use super::stage::{Client, Stage, TOOLS, as_json, call, data, error, initialize, server, success, text};

async fn opened() -> (Client, Arc<Stage>) {
    let stage = Stage::with_tools(TOOLS);
    (Client::open(&server(&stage).0).await, stage)
}

#[tokio::test]
async fn structured_content_is_data_and_not_repeated_as_text() {
    let (mut client, _) = opened().await;
    let json = r#"{"a":[1,2.5,null],"b":{"c":"é"}}"#;
    let response = client.call("echo", json).await;
    assert!(response.metadata.contains_key("execution_time_ms"));
    let result = success(response);
    assert!(!result.is_error && result.content.len() == 1);
    assert_eq!(as_json(data(&result.content[0])).await, serde_json::from_str::<serde_json::Value>(json).unwrap());
    let result = success(client.call("sum", r#"{"numbers":[1,2,3]}"#).await);
    assert_eq!(as_json(data(&result.content[0])).await["sum"], 6);
    assert_eq!(text(&result.content[1]), "done");
    let result = success(client.call("echo", "").await);
    assert_eq!(as_json(data(&result.content[0])).await, serde_json::json!({}));
}

#[tokio::test]
async fn images_are_bytes_and_other_blocks_are_data() {
    let (mut client, _) = opened().await;
    let result = success(client.call("binary", "").await);
    assert_eq!(result.content[0].content, Some(Content::Image(b"\x89PNG"[..].into())));
    assert_eq!(result.content[0].mime_type, "image/png");
    assert_eq!(as_json(data(&result.content[1])).await["data"], "AAEC");
    assert_eq!(as_json(data(&result.content[2])).await["uri"], "t:a");
    let response = client.call("text", "").await;
    assert_eq!(response.metadata["_meta"], r#"{"k":1}"#);
    assert_eq!(text(&success(response).content[0]), "plain");
}

#[tokio::test]
async fn failures_of_a_tool_and_of_a_call_are_apart() {
    let (mut client, stage) = opened().await;
    let result = success(client.call("error", "").await);
    assert!(result.is_error);
    assert_eq!(text(&result.content[0]), "the disk is full");
    let fault = error(client.call("fail", "").await);
    assert_eq!((fault.code, &*fault.message, &*fault.data["part"]), (-32050, "broken", "x"));
    // A panic is the tool's own failure, and of this call alone.
    assert!(success(client.call("panic", "").await).is_error);
    let fault = error(client.call("nothing", "").await);
    assert_eq!((fault.code, &*fault.data["reason"]), (-32602, "tool_not_found"));
    assert_eq!(stage.entered.load(Ordering::SeqCst), 3);
    assert!(!success(client.call("text", "").await).is_error);
}

#[tokio::test]
async fn wrong_arguments_do_not_reach_the_tool() {
    let (mut client, stage) = opened().await;
    let other = Any::new("acme.v1.Search", vec![]);
    let garbage = Any::new("google.protobuf.Struct", vec![0xff]);
    for arguments in [other, garbage] {
        let request = CallToolRequest { name: "echo".into(), arguments: Some(arguments), ..CallToolRequest::default() };
        let Payload::CallToolResponse(response) = client.request(Payload::CallToolRequest(request)).await else {
            panic!()
        };
        assert_eq!(error(response).code, -32602);
    }
    assert_eq!(stage.entered.load(Ordering::SeqCst), 0);
    // Any prefix of the type will do.
    let arguments = Some(Any { type_url: "example.com/x/google.protobuf.Struct".into(), value: vec![].into() });
    let request = CallToolRequest { name: "echo".into(), arguments, ..CallToolRequest::default() };
    let Payload::CallToolResponse(response) = client.request(Payload::CallToolRequest(request)).await else { panic!() };
    success(response);
}

#[tokio::test]
async fn a_late_tool_is_given_up_in_time_and_dropped() {
    let (mut client, stage) = opened().await;
    let begun = Instant::now();
    let fault = error(client.call_with("slow", "", &[("timeout_ms", "150")]).await);
    let taken = begun.elapsed();
    assert_eq!((fault.code, &*fault.data["timeout_ms"]), (-33003, "150"));
    assert!(taken >= Duration::from_millis(150), "{taken:?}");
    assert!(!success(client.call("text", "").await).is_error);
    until("the tool is cancelled", || stage.dropped.load(Ordering::SeqCst) > 0).await;
}

#[tokio::test]
async fn a_hundred_calls_are_answered_out_of_order() {
    let stage = Stage::with_tools(TOOLS);
    let server = server(&stage).0.configure(|config| config.limits.max_in_flight = 200);
    let mut client = Client::open(&server).await;
    let mut expected = Vec::new();
    for number in 0..100_u64 {
        let wait = (100 - number) * 5;
        expected.push(client.send(call("slow", &format!("{{\"ms\":{wait}}}"), &[]).await).await);
    }
    let mut seen = Vec::new();
    for _ in 0..100 {
        let message = client.receive().await.unwrap();
        let Some(Payload::CallToolResponse(response)) = message.payload else { panic!() };
        success(response);
        seen.push(message.id);
    }
    assert_ne!(seen, expected, "the last ones are the fastest");
    seen.sort_unstable();
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn calls_beyond_the_limit_are_refused_and_lists_pass() {
    let stage = Stage::with_tools(TOOLS);
    let server = server(&stage).0.configure(|config| config.limits.max_in_flight = 2);
    let mut client = Client::open(&server).await;
    for _ in 0..3 {
        client.send(call("slow", r#"{"ms":3600000}"#, &[]).await).await;
    }
    let Some(Payload::CallToolResponse(response)) = client.receive().await.unwrap().payload else { panic!() };
    assert_eq!(error(response).code, -32015);
    assert!(!client.tools(ListToolsRequest::default()).await.unwrap().tools.is_empty());
}

#[tokio::test]
async fn metadata_reaches_the_tool_without_the_token() {
    let stage = Stage::with_tools(TOOLS);
    let server = server(&stage).0.configure(|config| config.tokens = Some(Arc::new(Tokens::new().with("ann", "t0k"))));
    let mut client = Client::open(&server).await;
    let list = client.tools(ListToolsRequest::default()).await.unwrap_err();
    assert_eq!(list.code, -32010);
    for wrong in [&[][..], &[("authorization", "Bearer wrong")]] {
        assert_eq!(error(client.call_with("echo", "", wrong).await).code, -32010);
    }
    assert_eq!(stage.entered.load(Ordering::SeqCst), 0);
    let metadata = [("authorization", "Bearer t0k"), ("traceparent", "00-1-2-01"), ("user", "u")];
    success(client.call_with("echo", "", &metadata).await);
    let seen = stage.seen.lock().unwrap().remove(0);
    let meta: serde_json::Value = seen.meta.unwrap().to().unwrap();
    assert_eq!(meta["traceparent"], "00-1-2-01");
    assert_eq!(meta["protomcp/metadata"], serde_json::json!({"user": "u"}));
    assert!(!meta.to_string().contains("t0k"));
}

#[tokio::test]
async fn a_token_at_the_beginning_holds_for_everything() {
    let stage = Stage::with_tools(TOOLS);
    let server = server(&stage).0.configure(|config| config.tokens = Some(Arc::new(Tokens::new().with("ann", "t0k"))));
    let mut client = Client::connect(&server);
    let Payload::InitializeRequest(mut request) = initialize() else { panic!() };
    request.metadata.insert("authorization".into(), "Bearer t0k".into());
    let answer = client.request(Payload::InitializeRequest(InitializeRequest { ..request })).await;
    assert!(matches!(answer, Payload::InitializeResponse(_)));
    client.tools(ListToolsRequest::default()).await.unwrap();
    success(client.call("text", "").await);
}

#[tokio::test]
async fn too_many_calls_of_one_tool_are_refused() {
    let stage = Stage::with_tools(TOOLS);
    let per_tool = Some(RateLimit { calls: 2, per: Duration::from_secs(3600) });
    let server = server(&stage).0.rate_limits(RateLimits { per_tool, per_principal: None });
    let mut client = Client::open(&server).await;
    for _ in 0..2 {
        success(client.call("text", "").await);
    }
    let fault = error(client.call("text", "").await);
    assert_eq!(fault.code, -32012);
    let wait: u64 = fault.data["retry_after_ms"].parse().unwrap();
    assert!(wait > 1_700_000 && wait <= 1_800_000, "{wait}");
    success(client.call("echo", "").await);
    // Another connection without a principal is another caller.
    success(Client::open(&server).await.call("text", "").await);
}

#[tokio::test]
async fn resources_are_read() {
    let (mut client, _) = opened().await;
    let read = |uri: &str| Payload::ReadResourceRequest(ReadResourceRequest { uri: uri.into() });
    let Payload::ReadResourceResponse(response) = client.request(read("t:000")).await else { panic!() };
    assert_eq!(response.contents[0].content, Some(resource_content::Content::Text("zero".into())));
    assert_eq!(response.contents[0].mime_type, "text/plain");
    assert_eq!(response.contents[1].content, Some(resource_content::Content::Blob(b"\0\x01\x02"[..].into())));
    let Payload::ErrorResponse(fault) = client.request(read("t:x")).await else { panic!() };
    assert_eq!(fault.code, -32002);
}
