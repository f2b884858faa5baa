//! Requests of a tool process on the published SDK to the client (docs/envelope.md, "Questions"; MCP 2025-11-25,
//! client/sampling).

use std::time::{Duration, Instant};

use protomcp_conformance::{Host, Sandbox, judge};
use serde_json::{Value, json};

fn session(capabilities: &Value) -> Host {
    let sandbox = Sandbox::new();
    sandbox.copy("py/asks.py");
    let host = sandbox.pmcp(&["run", "asks.py"]).start();
    host.answer(host.begin_with("2025-11-25", capabilities));
    host
}

/// Item 85.
#[test]
fn sampling_requests_have_blocks_and_the_answer_returns() {
    let host = session(&json!({"sampling": {}}));
    let call = host.start_call("ask", &json!({"text": "hi, é"}));
    let question = host.wait_for("a question", 0, |message| message.method() == "sampling/createMessage");
    let params = &question.value["params"];
    assert_eq!(params["messages"], json!([{"role": "user", "content": {"type": "text", "text": "hi, é"}}]));
    assert_eq!((&params["systemPrompt"], &params["maxTokens"]), (&json!("be brief"), &json!(7)));
    host.reply(
        &question,
        &json!({"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m-1", "stopReason": "endTurn"}),
    );
    let answer = host.answer(call).value;
    let told: Value =
        serde_json::from_str(answer["result"]["content"][0]["text"].as_str().expect("a text")).expect("JSON");
    assert_eq!(
        (&told["content"], &told["model"], &told["role"]),
        (&json!("hello"), &json!("m-1"), &json!("assistant"))
    );
}

/// Item 85.
#[test]
fn a_host_without_a_model_fails_the_python_handler_immediately() {
    let host = session(&json!({}));
    let begun = Instant::now();
    let told = host.text("ask", &json!({"text": "hi"}));
    // The SDK gives up after 60 s by itself, and gives another reason.
    assert!(told.contains("the client does not support sampling/createMessage"), "{told}");
    judge("a question without a model", begun.elapsed(), Duration::from_secs(30));
}
