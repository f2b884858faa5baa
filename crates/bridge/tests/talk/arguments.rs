//! Arguments that do not match a tool's input schema, or exceed a frame.

use std::time::Duration;

use protomcp_bridge::ArgumentPolicy;
use serde_json::json;

use crate::stage::Stage;
use crate::tool::Tool;

#[tokio::test]
async fn mismatched_arguments_are_rejected_only_if_configured() {
    for (policy, refused) in [(None, false), (Some(ArgumentPolicy::Off), false), (Some(ArgumentPolicy::Reject), true)] {
        let mut weather = Tool::definition("weather");
        weather.input_schema_json =
            r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#.into();
        let (stage, mut tool) = Stage::with(vec![weather], |builder| match policy {
            Some(policy) => builder.validate_arguments(policy),
            None => builder,
        })
        .await;
        let mut host = stage.host("{}").await;
        let id = host.request("tools/call", json!({"name": "weather", "arguments": {"ctiy": "Rome"}})).await;
        if refused {
            let answer = host.answer(id).await;
            let text = "invalid arguments for tool \"weather\":\n- \"city\" is missing (string); is \"ctiy\" a misspelling of it?";
            assert_eq!(answer["result"]["content"][0]["text"], text);
            assert_eq!(answer["result"]["isError"], true);
            assert_eq!(answer["result"]["_meta"]["protomcp/error"]["error_code"], "INVALID_ARGUMENTS");
        } else {
            let (call, request) = tool.call().await;
            assert_eq!(request.arguments_json, r#"{"ctiy":"Rome"}"#, "{policy:?}");
            tool.result(&call, "sunny").await;
            assert_eq!(host.text(id).await, "sunny");
        }
        let id = host.request("tools/call", json!({"name": "weather", "arguments": {"city": "Rome"}})).await;
        let (call, _) = tool.call().await;
        tool.result(&call, "sunny").await;
        assert_eq!(host.text(id).await, "sunny", "{policy:?}");
    }
}

#[tokio::test]
async fn arguments_larger_than_a_frame_fail_without_being_sent() {
    let (stage, mut tool) = Stage::with(vec![Tool::definition("echo")], |builder| builder.max_frame(64 << 10)).await;
    let mut host = stage.host("{}").await;
    let id = host.request("tools/call", json!({"name": "echo", "arguments": {"text": "x".repeat(64 << 10)}})).await;
    let answer = host.answer(id).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let error = &answer["result"]["_meta"]["protomcp/error"];
    assert_eq!(error["error_code"], "ARGUMENTS_TOO_LARGE");
    assert_eq!(error["suggestion"], "send less, or raise the maximum frame size");
    assert_eq!(error["retryable"], false);
    let id = host.request("tools/call", json!({"name": "echo", "arguments": {"text": "x".repeat(60 << 10)}})).await;
    let (call, _) = tool.call().await;
    tool.result(&call, "fits").await;
    assert_eq!(host.text(id).await, "fits");
}

#[tokio::test]
async fn large_arguments_are_checked_in_time() {
    let branches = (1..1000).map(|length| json!({"minLength": length * 10})).collect::<Vec<_>>();
    let mut fill = Tool::definition("fill");
    fill.input_schema_json = json!({"additionalProperties": {"anyOf": branches}}).to_string().into();
    let arguments = |count: usize| {
        let text = |index: usize| (index.to_string(), json!(if index == 0 { "short" } else { "this is long enough" }));
        (0..count).map(text).collect::<serde_json::Map<_, _>>()
    };
    for (timeout, why) in [(120_000, "at /0: "), (1, "they cannot be checked within 1ms")] {
        let (stage, _tool) = Stage::with(vec![fill.clone()], |builder| {
            builder.validate_arguments(ArgumentPolicy::Reject).call_timeout(Duration::from_millis(timeout))
        })
        .await;
        let mut host = stage.host("{}").await;
        let id = host.request("tools/call", json!({"name": "fill", "arguments": arguments(1000)})).await;
        let text = host.answer(id).await["result"]["content"][0]["text"].to_string();
        assert!(text.contains(why), "{text}");
    }
}
