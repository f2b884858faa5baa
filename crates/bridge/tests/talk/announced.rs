//! A process that announces itself with `SdkInfo`, and the bridge's answer and behaviour.

use protomcp_bridge::{ArgumentPolicy, ToolLists};
use protomcp_envelope::{
    ActiveToolsResponse, BridgeInfo, DisableToolsRequest, MiddlewareInterceptResponse, RegisterMiddlewareRequest,
    RegisterMiddlewareResponse, ReloadResponse, SdkInfo, ToolDefinition, ToolListResponse,
};
use protomcp_testing::JsonPeer;
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::tool::Tool;

pub(crate) fn info(features: &[&str], calls: u32) -> SdkInfo {
    SdkInfo {
        name: "test-sdk".into(),
        version: "1".into(),
        language: "rust".into(),
        max_concurrent_calls: calls,
        features: features.iter().map(|&feature| feature.to_owned()).collect(),
        ..SdkInfo::default()
    }
}

#[tokio::test]
async fn only_a_process_that_announces_itself_is_answered() {
    let (_stage, mut tool) = Stage::silent(|builder| builder).await;
    let request = tool.next().await;
    tool.send("", info(&[], 0)).await;
    let answer: BridgeInfo = tool.answer("").await;
    assert_eq!(answer.name, "protomcp");
    assert!(answer.features.iter().any(|feature| feature == "elicitation"), "{answer:?}");
    tool.send(&request.request_id, ToolListResponse::default()).await;
    let (_stage, mut silent) = Stage::new(&["a"]).await;
    assert!(silent.sent_so_far().await.iter().all(|envelope| envelope.name() != "bridge_info"));
}

#[tokio::test]
async fn the_process_announces_its_concurrency_unless_configured() {
    for (announced, asked, concurrent) in [(0, None, 3), (2, None, 2), (2, Some(1), 1)] {
        let (stage, mut tool) = Stage::silent(|builder| match asked {
            Some(calls) => builder.max_concurrent_calls(calls),
            None => builder,
        })
        .await;
        tool.send("", info(&[], announced)).await;
        tool.handshake_after_info(vec![Tool::definition("a")]).await;
        let mut host = stage.host("{}").await;
        for _ in 0..3 {
            host.call("a").await;
        }
        let mut calls = Vec::new();
        for _ in 0..concurrent {
            calls.push(tool.call().await.0);
        }
        tool.hears_nothing().await;
        tool.result(&calls[0], "one").await;
        if concurrent < 3 {
            tool.call().await;
        }
    }
}

#[tokio::test]
async fn a_reload_in_place_keeps_a_process_with_the_same_list() {
    for (features, kept) in [(&["reload-in-place"][..], true), (&[], false)] {
        let (stage, mut tool) = Stage::silent(|builder| builder).await;
        tool.send("", info(features, 0)).await;
        tool.handshake_after_info(vec![Tool::definition("a")]).await;
        let mut host = stage.host("{}").await;
        let id = host.request("tools/list", json!({})).await;
        host.answer(id).await;
        stage.reload().await;
        let mut serving = if kept {
            let request = tool.request().await;
            tool.send(&request.request_id, ReloadResponse { success: true, error: String::new() }).await;
            tool.send("", ToolListResponse { tools: vec![Tool::definition("a")] }).await;
            tool.send("", ReloadResponse { success: true, error: String::new() }).await;
            tool
        } else {
            // It is not asked: it would answer without reading all its files.
            let mut next = stage.process().await;
            next.handshake(vec![Tool::definition("a")]).await;
            next
        };
        let id = host.call("a").await;
        let (call, _) = serving.call().await;
        serving.result(&call, "served").await;
        let (answer, _) = host.until(id).await;
        assert_eq!(answer["result"]["content"][0]["text"], "served", "{features:?}");
    }
}

#[tokio::test]
async fn a_schema_is_advertised_immediately_if_always_matched() {
    for (features, shown) in [(&["structured-content"][..], true), (&[], false)] {
        let (stage, mut tool) = Stage::silent(|builder| builder).await;
        tool.send("", info(features, 0)).await;
        let mut definition = Tool::definition("a");
        definition.output_schema_json = r#"{"type":"object"}"#.into();
        tool.handshake_after_info(vec![definition]).await;
        let mut host = stage.host("{}").await;
        let id = host.request("tools/list", json!({})).await;
        let answer = host.answer(id).await;
        assert_eq!(answer["result"]["tools"][0]["outputSchema"].is_object(), shown, "{answer}");
    }
}

#[tokio::test]
async fn the_meta_of_a_call_has_all_but_its_token() {
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let rows = [
        (json!({"progressToken": 1, "traceparent": trace}), json!({"traceparent": trace})),
        (json!({"progressToken": 1}), Value::Null),
        (Value::Null, Value::Null),
    ];
    for announced in [false, true] {
        let (stage, mut tool) = Stage::silent(|builder| builder).await;
        if announced {
            tool.send("", info(&[], 0)).await;
            tool.handshake_after_info(vec![Tool::definition("a")]).await;
        } else {
            tool.handshake(vec![Tool::definition("a")]).await;
        }
        let mut host = stage.host("{}").await;
        for (sent, received) in &rows {
            let mut params = json!({"name": "a"});
            if !sent.is_null() {
                params["_meta"] = sent.clone();
            }
            let id = host.request("tools/call", params).await;
            let (call, request) = tool.call().await;
            let wanted = received.clone();
            if wanted.is_null() {
                assert!(request.metadata_json.is_empty(), "{request:?}");
            } else {
                assert_eq!(serde_json::from_slice::<Value>(&request.metadata_json).unwrap(), wanted);
            }
            tool.result(&call, "ok").await;
            host.answer(id).await;
        }
    }
}

#[tokio::test]
async fn a_list_change_belongs_to_the_session_of_the_named_call() {
    let (stage, mut tool) = Stage::new(&["a", "b"]).await;
    let (mut one, mut two) = (stage.host("{}").await, stage.host("{}").await);
    one.call("a").await;
    tool.call().await;
    let second = two.call("a").await;
    let (call, _) = tool.call().await;
    tool.send_for(&call, "", DisableToolsRequest { tool_names: vec!["b".into()] }).await;
    assert_eq!(tool.answer::<ActiveToolsResponse>("").await.tool_names, ["a"]);
    tool.result(&call, "done").await;
    two.until(second).await;
    two.expect("notifications/tools/list_changed").await;
    for (host, tools) in [(&mut one, 2), (&mut two, 1)] {
        let id = host.request("tools/list", json!({})).await;
        assert_eq!(host.answer(id).await["result"]["tools"].as_array().unwrap().len(), tools);
    }
}

#[tokio::test]
async fn a_shared_list_changes_for_everyone() {
    let tools = ["a", "b"].map(Tool::definition).to_vec();
    let (stage, mut tool) = Stage::with(tools, |builder| builder.tool_lists(ToolLists::Shared)).await;
    let (mut one, mut two) = (stage.host("{}").await, stage.host("{}").await);
    let asked = two.call("a").await;
    let (call, _) = tool.call().await;
    tool.send_for(&call, "", DisableToolsRequest { tool_names: vec!["b".into()] }).await;
    assert_eq!(tool.answer::<ActiveToolsResponse>("").await.tool_names, ["a"]);
    tool.result(&call, "done").await;
    let (_, before) = two.until(asked).await;
    for (host, before) in [(&mut one, Vec::new()), (&mut two, before)] {
        // The caller may have heard of it before the result.
        if !before.iter().any(|message| message["method"] == "notifications/tools/list_changed") {
            host.expect("notifications/tools/list_changed").await;
        }
        let id = host.request("tools/list", json!({})).await;
        assert_eq!(host.answer(id).await["result"]["tools"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_list_change_for_an_ended_call_changes_no_list() {
    let (stage, mut tool) = Stage::new(&["a", "b"]).await;
    let (mut one, mut two) = (stage.host("{}").await, stage.host("{}").await);
    let first = one.call("a").await;
    let (over, _) = tool.call().await;
    tool.result(&over, "done").await;
    one.until(first).await;
    // With no running call, and during a call of another session.
    let mut other = None;
    for _ in 0..2 {
        tool.send_for(&over, "", DisableToolsRequest { tool_names: vec!["b".into()] }).await;
        assert_eq!(tool.answer::<ActiveToolsResponse>("").await.tool_names, ["a", "b"]);
        for host in [&mut one, &mut two] {
            let id = host.request("tools/list", json!({})).await;
            assert_eq!(host.answer(id).await["result"]["tools"].as_array().unwrap().len(), 2);
        }
        if other.is_none() {
            other = Some(two.call("a").await);
            tool.call().await;
        }
    }
}

#[tokio::test]
async fn arguments_are_rejected_by_default_if_the_schemas_hold() {
    for (features, policy, refused) in [
        (&["validated-arguments"][..], None, true),
        (&["validated-arguments"], Some(ArgumentPolicy::Warn), false),
        (&[], None, false),
    ] {
        let (stage, mut tool) = Stage::silent(|builder| match policy {
            Some(policy) => builder.validate_arguments(policy),
            None => builder,
        })
        .await;
        tool.send("", info(features, 0)).await;
        let input_schema_json = r#"{"type":"object","required":["city"]}"#.into();
        tool.handshake_after_info(vec![ToolDefinition { input_schema_json, ..Tool::definition("weather") }]).await;
        let mut host = stage.host("{}").await;
        let id = host.call("weather").await;
        if refused {
            let answer = host.answer(id).await;
            let code = &answer["result"]["_meta"]["protomcp/error"]["error_code"];
            assert_eq!(code, "INVALID_ARGUMENTS", "{answer}");
        } else {
            let (call, _) = tool.call().await;
            tool.result(&call, "sunny").await;
            assert_eq!(host.text(id).await, "sunny");
        }
    }
}

#[tokio::test]
async fn a_tool_that_checks_its_arguments_gets_mismatches() {
    let input_schema_json = r#"{"type":"object","properties":{"n":{"type":"integer"},"on":{"type":"boolean"}}}"#;
    for (policy, sent, expected) in [
        (None, json!({"n": 5}), Some(r#"{"n":5}"#)),
        (None, json!({"n": "5"}), Some(r#"{"n":5}"#)),
        (None, json!({"n": "five"}), Some(r#"{"n":"five"}"#)),
        (None, json!({"n": "5", "on": "yes"}), Some(r#"{"n":5,"on":"yes"}"#)),
        (Some(ArgumentPolicy::Off), json!({"n": "5"}), Some(r#"{"n":"5"}"#)),
        (Some(ArgumentPolicy::Reject), json!({"n": "five"}), None),
    ] {
        let (stage, mut tool) = Stage::silent(|builder| match policy {
            Some(policy) => builder.validate_arguments(policy),
            None => builder,
        })
        .await;
        tool.send("", info(&["validated-arguments"], 0)).await;
        let own = ToolDefinition {
            input_schema_json: input_schema_json.into(),
            checks_arguments: true,
            ..Tool::definition("own")
        };
        tool.handshake_after_info(vec![own]).await;
        let mut host = stage.host("{}").await;
        let id = host.request("tools/call", json!({"name": "own", "arguments": sent})).await;
        let Some(expected) = expected else {
            let answer = host.answer(id).await;
            assert_eq!(answer["result"]["_meta"]["protomcp/error"]["error_code"], "INVALID_ARGUMENTS", "{answer}");
            continue;
        };
        let (call, request) = tool.call().await;
        assert_eq!(request.arguments_json, expected, "{policy:?} {sent}");
        tool.result(&call, "taken").await;
        assert_eq!(host.text(id).await, "taken");
    }
}

#[tokio::test]
async fn a_process_that_wants_it_hears_that_arguments_match() {
    let input_schema_json = r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#;
    let rewritten = r#"{"n":7}"#;
    for (feature, sent, rewrite, matches) in [
        ("arguments-match", json!({"n": 5}), "", true),
        ("arguments-match", json!({"n": "5"}), "", true),
        ("arguments-match", json!({"n": "five"}), "", false),
        // The bridge does not compare what middleware has written.
        ("arguments-match", json!({"n": 5}), rewritten, false),
        ("arguments-match", json!({"n": 7}), rewritten, true),
        ("ping", json!({"n": 5}), "", false),
    ] {
        let (stage, mut tool) = Stage::silent(|builder| builder).await;
        tool.send("", info(&[feature], 0)).await;
        let request = tool.next().await;
        tool.answer::<BridgeInfo>("").await;
        let taken = ToolDefinition { input_schema_json: input_schema_json.into(), ..Tool::definition("a") };
        tool.send(&request.request_id, ToolListResponse { tools: vec![taken] }).await;
        tool.send("", RegisterMiddlewareRequest { name: "m".into(), priority: 0 }).await;
        tool.answer::<RegisterMiddlewareResponse>("").await;
        tool.send("", ReloadResponse { success: true, error: String::new() }).await;
        let mut host = stage.host("{}").await;
        host.request("tools/call", json!({"name": "a", "arguments": sent})).await;
        let before = tool.request().await;
        let answer = MiddlewareInterceptResponse { arguments_json: rewrite.into(), ..Default::default() };
        tool.send(&before.request_id, answer).await;
        let (_, call) = tool.call().await;
        assert_eq!(call.arguments_match, matches, "{feature} {sent} {rewrite}");
    }
}

/// A process that registers other tools while a call of the tool `a` waits, its client, and the id of the call.
async fn reregistered(before: ToolDefinition, after: Vec<ToolDefinition>) -> (Stage, Tool, JsonPeer, u64) {
    let (stage, mut tool) = Stage::silent(|builder| builder).await;
    tool.send("", info(&["arguments-match", "structured-content", "reload-in-place"], 0)).await;
    tool.handshake_after_info(vec![before]).await;
    let mut host = stage.host("{}").await;
    let id = host.request("tools/list", json!({})).await;
    host.answer(id).await;
    stage.reload().await;
    let request = tool.request().await;
    assert_eq!(request.name(), "reload");
    let id = host.request("tools/call", json!({"name": "a", "arguments": {"n": 5}})).await;
    host.hears_nothing().await;
    let reloaded = || ReloadResponse { success: true, error: String::new() };
    tool.send(&request.request_id, reloaded()).await;
    tool.send("", ToolListResponse { tools: after }).await;
    tool.send("", reloaded()).await;
    (stage, tool, host, id)
}

#[tokio::test]
async fn arguments_held_over_a_reload_match_the_old_schema_only() {
    let takes = |kind: &str| {
        let input_schema_json = json!({"type": "object", "properties": {"n": {"type": kind}}}).to_string().into();
        ToolDefinition { input_schema_json, ..Tool::definition("a") }
    };
    for (kind, matches) in [("integer", true), ("string", false)] {
        let (_stage, mut tool, mut host, id) = reregistered(takes("integer"), vec![takes(kind)]).await;
        let (call, request) = tool.call().await;
        assert_eq!(request.arguments_match, matches, "{kind}");
        tool.result(&call, "done").await;
        let (answer, _) = host.until(id).await;
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    }
}

#[tokio::test]
async fn a_call_held_over_a_reload_fits_the_new_output_schema() {
    let structured = ToolDefinition { output_schema_json: r#"{"type":"object"}"#.into(), ..Tool::definition("a") };
    let (_stage, mut tool, mut host, id) = reregistered(Tool::definition("a"), vec![structured]).await;
    let (call, _) = tool.call().await;
    tool.result(&call, "not an object").await;
    let (answer, _) = host.until(id).await;
    assert_eq!(answer["result"]["_meta"]["protomcp/error"]["error_code"], "OUTPUT_SCHEMA_MISMATCH", "{answer}");
}

#[tokio::test]
async fn a_tool_that_a_reload_removes_is_unknown_to_a_held_call() {
    let (_stage, mut tool, mut host, id) = reregistered(Tool::definition("a"), vec![Tool::definition("b")]).await;
    let (answer, _) = host.until(id).await;
    assert_eq!(answer["error"], json!({"code": -32602, "message": "unknown tool \"a\""}), "{answer}");
    host.call("b").await;
    assert_eq!(tool.call().await.1.name, "b", "the first call was not sent");
}

#[tokio::test]
async fn a_process_that_wants_the_context_of_requests_gets_it() {
    for wanted in [true, false] {
        let (stage, mut tool) = Stage::silent(|builder| builder).await;
        tool.send("", info(if wanted { &["request-context"] } else { &[] }, 0)).await;
        let request = tool.next().await;
        tool.answer::<BridgeInfo>("").await;
        tool.send(&request.request_id, ToolListResponse { tools: vec![Tool::definition("a")] }).await;
        tool.send("", RegisterMiddlewareRequest { name: "m".into(), priority: 0 }).await;
        tool.answer::<RegisterMiddlewareResponse>("").await;
        tool.send("", ReloadResponse { success: true, error: String::new() }).await;
        let mut host = stage.host(r#"{"roots":{}}"#).await;
        host.call("a").await;
        let before = tool.request().await;
        assert_eq!(before.name(), "middleware_intercept");
        tool.send(&before.request_id, MiddlewareInterceptResponse::default()).await;
        let call = tool.request().await;
        assert_eq!(before.for_call, call.request_id, "the interception names its call");
        for envelope in [before, call] {
            let Some(context) = envelope.context else {
                assert!(!wanted, "{}", envelope.name());
                continue;
            };
            assert!(wanted && context.timeout_ms > 0 && context.timeout_ms <= 300_000, "{context:?}");
            assert!(!context.session.is_empty() && !context.client_name.is_empty(), "{context:?}");
            assert_eq!((context.protocol_version.as_str(), context.principal), ("2025-11-25", None));
            assert_eq!(context.client_capabilities_json, r#"{"roots":{}}"#);
        }
    }
}
