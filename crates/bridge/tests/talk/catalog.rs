//! Requests of clients other than calls, across reloads.

use std::time::Duration;

use protomcp_bridge::{Builder, ReloadMode, WorkerAffinity};
use protomcp_envelope::{
    Envelope, GetActiveToolsRequest, GetPromptResponse, Msg, PromptDefinition, PromptListResponse, PromptMessage,
    ReadResourceResponse, ResourceContent, ResourceDefinition, ResourceListChanged, ResourceListResponse,
    ResourceTemplateListResponse,
};
use protomcp_testing::{JsonPeer, StoppedClock};
use serde_json::json;

use crate::stage::Stage;
use crate::tool::Tool;

const MEMO: &str = "memo://a";

/// Answers the three requests after a handshake: there is one resource.
pub(crate) async fn lists(tool: &mut Tool) {
    for _ in 0..3 {
        let envelope = tool.next().await;
        let answer: Msg = match envelope.msg {
            Some(Msg::ListResourcesRequest(_)) => {
                let resources = vec![ResourceDefinition { uri: MEMO.into(), ..Default::default() }];
                ResourceListResponse { resources }.into()
            }
            Some(Msg::ListResourceTemplatesRequest(_)) => ResourceTemplateListResponse::default().into(),
            Some(Msg::ListPromptsRequest(_)) => PromptListResponse::default().into(),
            other => panic!("a question for a list was expected, not {other:?}"),
        };
        tool.send(&envelope.request_id, answer).await;
    }
}

async fn begin(mode: ReloadMode) -> (Stage, Tool, JsonPeer) {
    let (stage, mut tool) = Stage::silent(|builder| builder.reload_mode(mode).max_concurrent_calls(1)).await;
    tool.handshake(vec![Tool::definition("a")]).await;
    lists(&mut tool).await;
    let mut host = stage.host("{}").await;
    let id = host.request("resources/list", json!({})).await;
    assert_eq!(host.answer(id).await["result"]["resources"], json!([{"uri": MEMO, "name": MEMO}]));
    (stage, tool, host)
}

pub(crate) async fn read(host: &mut JsonPeer) -> u64 {
    host.request("resources/read", json!({"uri": MEMO})).await
}

/// The next envelope, which must request the resource; returns its id.
pub(crate) async fn asked(tool: &mut Tool) -> String {
    let envelope = tool.next().await;
    assert!(matches!(envelope.msg, Some(Msg::ReadResourceRequest(_))), "{envelope:?}");
    envelope.request_id
}

async fn answer(tool: &mut Tool, id: &str, text: &str) {
    let content = ResourceContent { text: text.into(), ..Default::default() };
    tool.send(id, ReadResourceResponse { contents: vec![content], ..Default::default() }).await;
}

#[tokio::test]
async fn a_read_waits_neither_for_a_turn_nor_for_a_reload() {
    let (stage, mut tool, mut host) = begin(ReloadMode::Graceful).await;
    let running = host.call("a").await;
    let (call, _) = tool.call().await;
    host.call("a").await;
    stage.reload().await;
    // One call is running, one waits for its turn, and the reload waits for the first.
    let id = read(&mut host).await;
    let question = asked(&mut tool).await;
    answer(&mut tool, &question, "immediately").await;
    assert_eq!(host.answer(id).await["result"]["contents"][0]["text"], "immediately");
    tool.result(&call, "done").await;
    assert_eq!(host.text(running).await, "done");
}

#[tokio::test]
async fn the_successor_answers_requests_of_a_replaced_process() {
    let (stage, mut tool, mut host) = begin(ReloadMode::Swap).await;
    let id = read(&mut host).await;
    asked(&mut tool).await;
    stage.reload().await;
    let mut next = stage.process().await;
    next.handshake(vec![Tool::definition("a")]).await;
    lists(&mut next).await;
    let question = asked(&mut next).await;
    answer(&mut next, &question, "from the successor").await;
    let (found, before) = host.until(id).await;
    assert_eq!(found["result"]["contents"][0]["text"], "from the successor");
    let told = |method: &str| before.iter().any(|message| message["method"] == method);
    assert!(!told("notifications/resources/list_changed"), "the successor has the same: {before:?}");
}

#[tokio::test]
async fn a_read_after_the_end_of_the_process_waits_for_the_next_one() {
    let (stage, tool, mut host) = begin(ReloadMode::Graceful).await;
    drop(tool);
    let ended = host.expect("notifications/message").await;
    assert!(ended["params"]["data"].as_str().unwrap_or_default().contains("the tool process"), "{ended}");
    let id = read(&mut host).await;
    let mut next = stage.process().await;
    next.handshake(vec![Tool::definition("a")]).await;
    lists(&mut next).await;
    let question = asked(&mut next).await;
    answer(&mut next, &question, "from the next one").await;
    let (found, _) = host.until(id).await;
    assert_eq!(found["result"]["contents"][0]["text"], "from the next one", "{found}");
}

#[tokio::test]
async fn a_cancelled_read_is_not_answered() {
    let (_stage, mut tool, mut host) = begin(ReloadMode::Graceful).await;
    let id = read(&mut host).await;
    let question = asked(&mut tool).await;
    host.send(json!({"method": "notifications/cancelled", "params": {"requestId": id}})).await;
    let ping = host.request("ping", json!({})).await;
    host.answer(ping).await;
    answer(&mut tool, &question, "too late").await;
    let id = read(&mut host).await;
    let question = asked(&mut tool).await;
    answer(&mut tool, &question, "in time").await;
    assert_eq!(host.answer(id).await["result"]["contents"][0]["text"], "in time");
}

#[tokio::test]
async fn a_flood_of_changes_is_one_request_at_a_time() {
    let (_stage, mut tool, mut host) = begin(ReloadMode::Graceful).await;
    for _ in 0..1000 {
        tool.send("", ResourceListChanged {}).await;
    }
    // The reply to this comes when all changes have been read.
    tool.send("all", GetActiveToolsRequest {}).await;
    let (mut asked, mut all_read, mut after) = (0, false, 0);
    while !all_read || after < 2 {
        let envelope = tool.next().await;
        let answer: Msg = match envelope.msg {
            Some(Msg::ActiveTools(_)) => {
                all_read = true;
                continue;
            }
            Some(Msg::ListResourcesRequest(_)) => ResourceListResponse::default().into(),
            Some(Msg::ListResourceTemplatesRequest(_)) => ResourceTemplateListResponse::default().into(),
            other => panic!("a question for a list was expected, not {other:?}"),
        };
        asked += 1;
        after += i32::from(all_read);
        tool.send(&envelope.request_id, answer).await;
    }
    // One request for each list, and one more after the rest of the flood, which may arrive in a few parts.
    assert!((2..100).contains(&asked), "{asked} questions");
    host.expect("notifications/resources/list_changed").await;
}

/// A process that takes calls, and has answered none of the three requests for its lists.
async fn unlisted() -> (Stage, Tool, Vec<Envelope>, JsonPeer, StoppedClock) {
    let (stage, mut tool) = Stage::silent(|builder| builder).await;
    let mut host = stage.host("{}").await;
    let clock = StoppedClock::new();
    tool.handshake(vec![Tool::definition("a")]).await;
    let mut requests = Vec::new();
    for _ in 0..3 {
        requests.push(tool.next().await);
    }
    let call = host.call("a").await;
    clock.advance(Duration::from_millis(250)).await;
    let envelope = tool.next().await;
    assert!(matches!(envelope.msg, Some(Msg::CallTool(_))), "{envelope:?}");
    tool.result(&envelope.request_id, "served").await;
    assert_eq!(host.text(call).await, "served");
    (stage, tool, requests, host, clock)
}

/// Answers requests for lists: there is one prompt.
async fn send_prompt(tool: &mut Tool, requests: Vec<Envelope>) {
    for request in requests {
        let answer: Msg = match request.msg {
            Some(Msg::ListPromptsRequest(_)) => {
                let prompts = vec![PromptDefinition { name: "p".into(), ..Default::default() }];
                PromptListResponse { prompts }.into()
            }
            Some(Msg::ListResourcesRequest(_)) => ResourceListResponse::default().into(),
            _ => ResourceTemplateListResponse::default().into(),
        };
        tool.send(&request.request_id, answer).await;
    }
}

/// Answers the next envelope, which must request the prompt.
async fn say_hi(tool: &mut Tool) {
    let asked = tool.next().await;
    assert!(matches!(asked.msg, Some(Msg::GetPromptRequest(_))), "{asked:?}");
    let message = PromptMessage { role: "user".into(), content_json: r#"{"type":"text","text":"hi"}"#.into() };
    tool.send(&asked.request_id, GetPromptResponse { messages: vec![message], ..Default::default() }).await;
}

#[tokio::test]
async fn an_unknown_entry_waits_for_the_first_lists() {
    let (_stage, mut tool, requests, mut host, _clock) = unlisted().await;
    let get = host.request("prompts/get", json!({"name": "p"})).await;
    let list = host.request("prompts/list", json!({})).await;
    let read = host.request("resources/read", json!({"uri": MEMO})).await;
    host.hears_nothing().await;
    send_prompt(&mut tool, requests).await;
    say_hi(&mut tool).await;
    let (found, mut before) = host.until(get).await;
    assert_eq!(found["result"]["messages"][0]["content"]["text"], "hi", "{found}");
    let mut answer =
        |id: u64| before.iter().position(|message| message["id"] == id).map(|at| before.remove(at)).unwrap();
    assert_eq!(answer(list)["result"]["prompts"], json!([{"name": "p"}]));
    assert_eq!(answer(read)["error"]["code"], -32002, "the lists are known, and it is in none");
}

#[tokio::test]
async fn an_unknown_entry_waits_five_seconds_for_a_silent_process() {
    let (_stage, _tool, _requests, mut host, clock) = unlisted().await;
    let get = host.request("prompts/get", json!({"name": "p"})).await;
    clock.advance(Duration::from_secs(4)).await;
    host.hears_nothing().await;
    clock.advance(Duration::from_secs(1)).await;
    assert_eq!(host.answer(get).await["error"]["code"], -32602);
    let list = host.request("resources/list", json!({})).await;
    assert_eq!(host.answer(list).await["result"]["resources"], json!([]), "nothing more is awaited");
}

#[tokio::test]
async fn an_unknown_entry_waits_at_the_worker_whose_lists_are_awaited() {
    let pool = |builder: Builder| builder.workers(2).worker_affinity(WorkerAffinity::None);
    let (stage, mut first) = Stage::silent(pool).await;
    first.handshake(vec![Tool::definition("a")]).await;
    first.has_nothing_else().await;
    let mut second = stage.second_worker().await;
    let mut host = stage.host("{}").await;
    let clock = StoppedClock::new();
    second.handshake(vec![Tool::definition("a")]).await;
    let requests = vec![second.next().await, second.next().await, second.next().await];
    clock.advance(Duration::from_millis(250)).await;
    // The process is in service when every task waits again.
    clock.advance(Duration::ZERO).await;
    let gets = [
        host.request("prompts/get", json!({"name": "p"})).await,
        host.request("prompts/get", json!({"name": "p"})).await,
    ];
    host.hears_nothing().await;
    send_prompt(&mut second, requests).await;
    say_hi(&mut second).await;
    say_hi(&mut second).await;
    for _ in gets {
        let found = host.next().await;
        assert_eq!(found["result"]["messages"][0]["content"]["text"], "hi", "{found}");
    }
}
