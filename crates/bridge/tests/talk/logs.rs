//! Log messages of the tool process, as each client receives them.

use protomcp_codec::{Encoder, Limits};
use protomcp_envelope::{CallToolResponse, Envelope, LogMessage};
use serde_json::{Value, json};

use crate::stage::Stage;

fn log(level: &str, logger: &str, data: &str) -> LogMessage {
    LogMessage { level: level.into(), logger: logger.into(), data_json: data.to_owned().into() }
}

#[tokio::test]
async fn every_level_and_every_kind_of_data_reaches_the_host() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let mut host = stage.host("{}").await;
    let id = host.request("logging/setLevel", json!({"level": "debug"})).await;
    host.answer(id).await;
    // The process is in service once it is called.
    host.call("a").await;
    tool.call().await;
    for (sent, heard) in [
        ("debug", "debug"),
        ("info", "info"),
        ("notice", "notice"),
        ("warning", "warning"),
        ("warn", "warning"),
        ("error", "error"),
        ("critical", "critical"),
        ("alert", "alert"),
        ("emergency", "emergency"),
        ("LOUD", "info"),
        ("", "info"),
    ] {
        tool.send("", log(sent, "l", "1")).await;
        let heard_as = host.expect("notifications/message").await;
        assert_eq!(heard_as["params"], json!({"level": heard, "logger": "l", "data": 1}), "{sent}");
    }
    for (logger, data, params) in [
        ("", r#"{"message":"é","n":[1]}"#, json!({"level": "info", "data": {"message": "é", "n": [1]}})),
        ("", "bare text", json!({"level": "info", "data": "bare text"})),
        ("", r#""quoted""#, json!({"level": "info", "data": "quoted"})),
        ("x", "", json!({"level": "info", "logger": "x", "data": ""})),
    ] {
        // The id has no meaning here, and does no harm.
        tool.send("7", log("info", logger, data)).await;
        assert_eq!(host.expect("notifications/message").await["params"], params);
    }
}

#[tokio::test]
async fn each_client_gets_its_levels_of_messages_of_its_calls() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let (mut loud, mut quiet) = (stage.host("{}").await, stage.host("{}").await);
    for (host, level) in [(&mut loud, "debug"), (&mut quiet, "error")] {
        let id = host.request("logging/setLevel", json!({"level": level})).await;
        host.answer(id).await;
    }
    let id = quiet.call("a").await;
    let (call, _) = tool.call().await;
    tool.send("", log("info", "", "1")).await;
    tool.send("", log("error", "", "2")).await;
    tool.send_for(&call, "", log("error", "", "3")).await;
    tool.send_for(&call, "", log("info", "", "4")).await;
    tool.send("", log("error", "", "5")).await;
    let data = |message: Value| message["params"]["data"].as_i64().unwrap();
    for number in [2, 3, 5] {
        assert_eq!(data(quiet.expect("notifications/message").await), number);
    }
    tool.result(&call, "done").await;
    quiet.text(id).await;
    tool.send("", log("info", "", "6")).await;
    tool.send("", log("error", "", "7")).await;
    for number in [6, 7] {
        assert_eq!(data(loud.expect("notifications/message").await), number);
    }
    assert_eq!(data(quiet.expect("notifications/message").await), 7);
}

#[tokio::test]
async fn a_stateless_request_gets_messages_that_concern_it() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let mut host = stage.stranger();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "h", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/logLevel": "warning",
    });
    let params = json!({"name": "a", "arguments": {}, "_meta": meta});
    let first = host.request("tools/call", params.clone()).await;
    let (call, _) = tool.call().await;
    tool.send("", log("error", "", "1")).await;
    tool.send("", log("info", "", "2")).await;
    assert_eq!(host.expect("notifications/message").await["params"]["data"], 1);
    let second = host.request("tools/call", params).await;
    let (other, _) = tool.call().await;
    // Several calls are running, so the message has no single owner.
    tool.send("", log("error", "", "3")).await;
    tool.send_for(&other, "", log("error", "", "4")).await;
    assert_eq!(host.expect("notifications/message").await["params"]["data"], 4);
    tool.result(&call, "one").await;
    assert_eq!(host.text(first).await, "one");
    tool.result(&other, "two").await;
    assert_eq!(host.text(second).await, "two");
}

#[tokio::test]
async fn a_message_of_an_ended_call_reaches_no_other_session() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let (mut one, mut two) = (stage.host("{}").await, stage.host("{}").await);
    for host in [&mut one, &mut two] {
        let id = host.request("logging/setLevel", json!({"level": "debug"})).await;
        host.answer(id).await;
    }
    let id = one.call("a").await;
    let (over, _) = tool.call().await;
    tool.result(&over, "done").await;
    one.until(id).await;
    tool.send_for(&over, "", log("info", "", "1")).await;
    tool.send_for("req-999", "", log("info", "", "2")).await;
    tool.send("", log("info", "", "3")).await;
    let data = |message: Value| message["params"]["data"].as_i64().unwrap();
    assert_eq!(data(one.expect("notifications/message").await), 1);
    assert_eq!(data(one.expect("notifications/message").await), 3);
    assert_eq!(data(two.expect("notifications/message").await), 3);
}

#[tokio::test]
async fn log_messages_precede_the_answer_of_a_stateless_request() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let mut host = stage.stranger();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "h", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/logLevel": "warning",
    });
    let params = json!({"name": "a", "arguments": {}, "_meta": meta});
    for round in 0..100 {
        let id = host.request("tools/call", params.clone()).await;
        let (call, _) = tool.call().await;
        // In one piece, as from a process that does not wait in between: both are read together.
        let mut bytes = Vec::new();
        let named = if round % 2 == 0 { String::new() } else { call.clone() };
        let said = Envelope { for_call: named, ..Envelope::new("", log("error", "", &round.to_string())) };
        let result = CallToolResponse { result_json: r#""done""#.into(), ..CallToolResponse::default() };
        for envelope in [said, Envelope::new(call, result)] {
            Encoder::new(Limits::default()).encode_envelope(&envelope, &mut bytes).unwrap();
        }
        tool.bytes(&bytes).await;
        assert_eq!(host.expect("notifications/message").await["params"]["data"], round);
        assert_eq!(host.text(id).await, "done");
    }
}
