//! Sampling, roots and elicitation: their recipients, and the answers to the process.

use protomcp_envelope::{
    ElicitationComplete, ElicitationRequest, ElicitationResponse, ListRootsRequest, ListRootsResponse, SamplingRequest,
    SamplingResponse,
};
use serde_json::json;

use crate::stage::Stage;

const ABLE: &str = r#"{"sampling":{},"roots":{},"elicitation":{"form":{},"url":{}}}"#;

fn sampling(text: &str) -> SamplingRequest {
    SamplingRequest {
        messages_json: json!([{"role": "user", "content": text}]).to_string().into(),
        ..SamplingRequest::default()
    }
}

fn said(text: &str) -> serde_json::Value {
    json!({"role": "assistant", "content": {"type": "text", "text": text}, "model": "m", "stopReason": "endTurn"})
}

fn json_of(text: &[u8]) -> serde_json::Value {
    serde_json::from_slice(text).unwrap()
}

#[tokio::test]
async fn concurrent_questions_reach_only_their_own_clients() {
    let (stage, mut tool) = Stage::new(&["a", "b"]).await;
    let (mut one, mut two) = (stage.host(ABLE).await, stage.host(ABLE).await);
    let first = one.call("a").await;
    let (a, _) = tool.call().await;
    let second = two.call("b").await;
    let (b, _) = tool.call().await;
    tool.send_for(&b, "q-b", sampling("from b")).await;
    tool.send_for(&a, "q-a", sampling("from a")).await;
    let at_one = one.expect("sampling/createMessage").await;
    let at_two = two.expect("sampling/createMessage").await;
    assert_eq!(at_one["params"]["messages"][0]["content"], json!({"type": "text", "text": "from a"}));
    assert_eq!(at_two["params"]["messages"][0]["content"], json!({"type": "text", "text": "from b"}));
    one.reply(&at_one, said("to a")).await;
    let answer: SamplingResponse = tool.answer("q-a").await;
    assert_eq!(json_of(&answer.content_json), json!({"type": "text", "text": "to a"}));
    assert_eq!(
        (answer.role.as_str(), answer.model.as_str(), answer.stop_reason.as_str(), answer.error.as_str()),
        ("assistant", "m", "endTurn", "")
    );
    two.reply(&at_two, said("to b")).await;
    let answer: SamplingResponse = tool.answer("q-b").await;
    assert_eq!(json_of(&answer.content_json), json!({"type": "text", "text": "to b"}));
    tool.result(&a, "a is done").await;
    tool.result(&b, "b is done").await;
    assert_eq!(one.text(first).await, "a is done");
    assert_eq!(two.text(second).await, "b is done");
    one.hears_nothing().await;
    two.hears_nothing().await;
}

#[tokio::test]
async fn a_question_without_a_call_goes_to_the_client_with_calls() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let (mut one, mut two) = (stage.host(ABLE).await, stage.host(ABLE).await);
    // One call, then two of the same client.
    for calls in 1..=2 {
        two.call("a").await;
        tool.call().await;
        tool.send("q", ListRootsRequest {}).await;
        let question = two.expect("roots/list").await;
        two.reply(&question, json!({"roots": [{"uri": "file:///two", "name": "Two"}]})).await;
        let answer: ListRootsResponse = tool.answer("q").await;
        assert_eq!((answer.roots[0].uri.as_str(), answer.roots[0].name.as_str()), ("file:///two", "Two"), "{calls}");
    }
    one.hears_nothing().await;
    // Calls of both clients are running, so the question is ambiguous.
    one.call("a").await;
    tool.call().await;
    tool.send("q", sampling("?")).await;
    let answer: SamplingResponse = tool.answer("q").await;
    assert_eq!(answer.error, "several MCP sessions are open, and it is not known which one to ask");
}

#[tokio::test]
async fn without_a_call_the_only_able_client_is_asked_or_none() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let sample = async |tool: &mut crate::tool::Tool| {
        tool.send("q", sampling("?")).await;
        tool.answer::<SamplingResponse>("q").await.error
    };
    // A process may ask clients only when it takes calls; an earlier question gets the same answer.
    let mut unable = stage.host("{}").await;
    let id = unable.request("tools/list", json!({})).await;
    tool.send("q0", sampling("early")).await;
    while tool.request().await.request_id != "q0" {}
    unable.answer(id).await;
    assert_eq!(sample(&mut tool).await, "no MCP session supports sampling/createMessage");
    tool.send("r", ListRootsRequest {}).await;
    let answer: ListRootsResponse = tool.answer("r").await;
    assert_eq!((answer.roots.len(), answer.error.unwrap().error_code.as_str()), (0, "NO_ROOTS"));
    let mut able = stage.host(ABLE).await;
    tool.send("q", sampling("?")).await;
    let question = able.expect("sampling/createMessage").await;
    assert_eq!(question["params"]["maxTokens"], 1000);
    able.send(json!({"id": question["id"], "error": {"code": -1, "message": "the user said no"}})).await;
    let answer: SamplingResponse = tool.answer("q").await;
    assert!(answer.error.contains("the user said no"), "{}", answer.error);
    // The client of the running call is the one to ask, even if it cannot answer and another could.
    unable.call("a").await;
    let (call, _) = tool.call().await;
    assert_eq!(sample(&mut tool).await, "the client does not support sampling/createMessage");
    tool.result(&call, "done").await;
    let _second = stage.host(ABLE).await;
    unable.next().await;
    assert_eq!(sample(&mut tool).await, "several MCP sessions are open, and it is not known which one to ask");
    able.hears_nothing().await;
}

#[tokio::test]
async fn a_question_is_withdrawn_when_its_call_ends() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let mut host = stage.host(ABLE).await;
    let id = host.call("a").await;
    let (call, _) = tool.call().await;
    tool.send("q", sampling("?")).await;
    let question = host.expect("sampling/createMessage").await;
    tool.result(&call, "I do not wait").await;
    let (answer, before) = host.until(id).await;
    assert_eq!(answer["result"]["content"][0]["text"], "I do not wait");
    let cancelled = match before.into_iter().next() {
        Some(message) => message,
        None => host.next().await,
    };
    assert_eq!(cancelled["params"]["requestId"], question["id"], "{cancelled}");
    let answer: SamplingResponse = tool.answer("q").await;
    assert!(!answer.error.is_empty());
    // Too late, and of no effect.
    host.reply(&question, said("late")).await;
    tool.send_for(&call, "late", sampling("?")).await;
    let answer: SamplingResponse = tool.answer("late").await;
    assert_eq!(answer.error, "the request that asks is over");
    host.hears_nothing().await;
    tool.hears_nothing().await;
}

#[tokio::test]
async fn an_ambiguous_question_ends_with_the_last_call() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let mut host = stage.host(ABLE).await;
    let ids = [host.call("a").await, host.call("a").await];
    let calls = [tool.call().await.0, tool.call().await.0];
    tool.send("q", sampling("?")).await;
    let question = host.expect("sampling/createMessage").await;
    tool.result(&calls[0], "one").await;
    assert_eq!(host.text(ids[0]).await, "one");
    tool.hears_nothing().await;
    tool.result(&calls[1], "two").await;
    let mut ended = [host.next().await, host.next().await];
    ended.sort_by_key(|message| message["method"].is_null());
    assert_eq!(ended[0]["params"]["requestId"], question["id"]);
    let answer: SamplingResponse = tool.answer("q").await;
    assert_eq!(answer.error, "the request that asks is over");
}

#[tokio::test]
async fn too_many_questions_are_refused_and_the_process_continues() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let mut host = stage.host(ABLE).await;
    let id = host.call("a").await;
    let (call, _) = tool.call().await;
    for number in 0..300 {
        tool.send(&format!("q{number}"), sampling("?")).await;
    }
    // The most unanswered questions of a client; the others were refused.
    for _ in 0..300 - 64 {
        let envelope = tool.request().await;
        let answer = SamplingResponse::try_from(envelope.msg.unwrap()).unwrap();
        assert!(answer.error.contains("too many questions"), "{}", answer.error);
    }
    tool.result(&call, "done").await;
    let (answer, before) = host.until(id).await;
    assert_eq!(answer["result"]["content"][0]["text"], "done");
    assert_eq!(before.iter().filter(|message| message["method"] == "sampling/createMessage").count(), 64);
}

#[tokio::test]
async fn the_user_is_asked_in_a_form_or_on_a_page() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let mut host = stage.host(ABLE).await;
    host.call("a").await;
    tool.call().await;
    let form = ElicitationRequest {
        message: "who?".into(),
        requested_schema_json: r#"{"type":"object","properties":{}}"#.into(),
        ..ElicitationRequest::default()
    };
    tool.send("f", form.clone()).await;
    let question = host.expect("elicitation/create").await;
    assert_eq!(question["params"]["message"], "who?");
    assert_eq!(question["params"]["requestedSchema"]["type"], "object");
    host.reply(&question, json!({"action": "accept", "content": {"name": "Ada"}})).await;
    let answer: ElicitationResponse = tool.answer("f").await;
    assert_eq!((answer.action.as_str(), &answer.content_json[..]), ("accept", &br#"{"name":"Ada"}"#[..]));
    let page = ElicitationRequest {
        mode: "url".into(),
        message: "log in".into(),
        url: "https://example.org".into(),
        elicitation_id: "7".into(),
        ..ElicitationRequest::default()
    };
    tool.send("u", page).await;
    let question = host.expect("elicitation/create").await;
    assert_eq!((&question["params"]["mode"], &question["params"]["elicitationId"]), (&json!("url"), &json!("7")));
    host.reply(&question, json!({"action": "decline"})).await;
    assert_eq!(tool.answer::<ElicitationResponse>("u").await.action, "decline");
    // The page outlasts the question; its client is notified, once.
    let mut other = stage.host(ABLE).await;
    for elicitation_id in ["8", "7", "7"] {
        tool.send("", ElicitationComplete { elicitation_id: elicitation_id.into() }).await;
    }
    let done = host.expect("notifications/elicitation/complete").await;
    assert_eq!(done["params"], json!({"elicitationId": "7"}));
    host.hears_nothing().await;
    other.hears_nothing().await;
    tool.send("x", ElicitationRequest { requested_schema_json: "7".into(), ..form }).await;
    let answer: ElicitationResponse = tool.answer("x").await;
    assert!(answer.error.starts_with("failed to parse requested_schema_json"), "{}", answer.error);
}

#[tokio::test]
async fn clients_of_older_revisions_get_one_block_per_message() {
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let mut host = stage.host_of("2025-06-18", ABLE).await;
    host.call("a").await;
    tool.call().await;
    let blocks = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
    let messages_json = json!([{"role": "user", "content": blocks}]).to_string().into();
    tool.send("q", SamplingRequest { messages_json, ..SamplingRequest::default() }).await;
    let question = host.expect("sampling/createMessage").await;
    let messages = question["params"]["messages"].as_array().unwrap();
    assert_eq!(messages.iter().map(|message| &message["content"]).collect::<Vec<_>>(), [&blocks[0], &blocks[1]]);
}
