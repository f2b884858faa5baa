//! Questions to clients of 2026-07-28, which answer them in the next round of their request: names and groups.

use std::collections::BTreeMap;

use protomcp_envelope::{
    ElicitationRequest, ElicitationResponse, Envelope, GetPromptResponse, ListRootsRequest, Msg, PromptDefinition,
    PromptListResponse, PromptMessage, ResourceListResponse, ResourceTemplateListResponse, SamplingRequest,
    SamplingResponse,
};
use protomcp_testing::JsonPeer;
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::tool::Tool;

/// Sends a request with the `_meta` that each request of this revision has.
async fn ask(host: &mut JsonPeer, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"roots": {}, "elicitation": {"form": {}}},
        "io.modelcontextprotocol/clientInfo": {"name": "host", "version": "1"},
    });
    let id = host.request(method, params).await;
    host.answer(id).await["result"].clone()
}

/// Sends the request again, with these answers.
async fn again(host: &mut JsonPeer, method: &str, mut params: Value, first: &Value, answers: Value) -> Value {
    params["requestState"] = first["requestState"].clone();
    params["inputResponses"] = answers;
    ask(host, method, params).await
}

fn form() -> Msg {
    let requested_schema_json = r#"{"type":"object","properties":{"name":{"type":"string"}}}"#.into();
    ElicitationRequest { message: "Your name?".into(), requested_schema_json, ..Default::default() }.into()
}

fn accepted(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

async fn put(tool: &mut Tool, request: &str, id: &str, key: &str, question: impl Into<Msg>) {
    let question_key = key.to_owned();
    tool.envelope(&Envelope { for_call: request.into(), question_key, ..Envelope::new(id, question) }).await;
}

/// Sends a question that belongs to the next one.
async fn group(tool: &mut Tool, request: &str, id: &str, key: &str, question: impl Into<Msg>) {
    let (for_call, question_key) = (request.to_owned(), key.to_owned());
    tool.envelope(&Envelope { for_call, question_key, more_questions: true, ..Envelope::new(id, question) }).await;
}

#[tokio::test]
async fn a_question_has_the_name_that_the_process_gives_it() {
    let (stage, mut tool) = Stage::new(&["greet"]).await;
    let mut host = stage.stranger();
    let call = json!({"name": "greet"});
    let process = async {
        let (id, _) = tool.call().await;
        put(&mut tool, &id, "q", "user_name", form()).await;
        let answer: ElicitationResponse = tool.answer("q").await;
        tool.result(&id, &String::from_utf8_lossy(&answer.content_json)).await;
        let (id, _) = tool.call().await;
        put(&mut tool, &id, "q", &"k".repeat(129), form()).await;
        let answer: ElicitationResponse = tool.answer("q").await;
        tool.result(&id, &answer.error).await;
    };
    let client = async {
        let first = ask(&mut host, "tools/call", call.clone()).await;
        assert_eq!(first["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), ["user_name"], "{first}");
        let answers = json!({"user_name": accepted("Ann")});
        let done = again(&mut host, "tools/call", call.clone(), &first, answers).await;
        assert_eq!(done["content"][0]["text"], r#"{"name":"Ann"}"#, "{done}");
        let refused = ask(&mut host, "tools/call", call.clone()).await;
        assert_eq!(refused["content"][0]["text"], "the name of a question may have 128 bytes", "{refused}");
    };
    tokio::join!(process, client);
}

#[tokio::test]
async fn a_prompt_may_ask_before_it_answers() {
    let (stage, mut tool) = Stage::new(&[]).await;
    for _ in 0..3 {
        let list = tool.next().await;
        let answer: Msg = match &list.msg {
            Some(Msg::ListResourcesRequest(_)) => ResourceListResponse::default().into(),
            Some(Msg::ListResourceTemplatesRequest(_)) => ResourceTemplateListResponse::default().into(),
            _ => {
                let prompts = vec![PromptDefinition { name: "greet".into(), ..Default::default() }];
                PromptListResponse { prompts }.into()
            }
        };
        tool.send(&list.request_id, answer).await;
    }
    let mut host = stage.stranger();
    let get = json!({"name": "greet"});
    let process = async {
        let request = tool.request().await;
        assert_eq!(request.name(), "get_prompt_request");
        put(&mut tool, &request.request_id, "q", "user_context", form()).await;
        let answer: ElicitationResponse = tool.answer("q").await;
        let content_json = answer.content_json;
        let messages = vec![PromptMessage { role: "user".into(), content_json }];
        tool.send(&request.request_id, GetPromptResponse { messages, ..Default::default() }).await;
        // The request is over.
        put(&mut tool, &request.request_id, "q2", "", form()).await;
        let answer: ElicitationResponse = tool.answer("q2").await;
        assert_eq!(answer.error, "the request that asks is over");
    };
    let client = async {
        let first = ask(&mut host, "prompts/get", get.clone()).await;
        assert_eq!(first["inputRequests"]["user_context"]["method"], "elicitation/create", "{first}");
        let answers = json!({"user_context": accepted("Ann")});
        let done = again(&mut host, "prompts/get", get.clone(), &first, answers).await;
        assert_eq!(done["messages"][0]["content"]["text"], r#"{"name":"Ann"}"#, "{done}");
    };
    tokio::join!(process, client);
}

#[tokio::test]
async fn questions_that_belong_together_are_answered_in_one_round() {
    let (stage, mut tool) = Stage::new(&["greet"]).await;
    let mut host = stage.stranger();
    let call = json!({"name": "greet"});
    let process = async {
        let (id, _) = tool.call().await;
        group(&mut tool, &id, "a", "name", form()).await;
        // The client has no model. The other questions are asked.
        let messages_json = r#"[{"role":"user","content":"?"}]"#.into();
        group(&mut tool, &id, "b", "greeting", SamplingRequest { messages_json, ..Default::default() }).await;
        put(&mut tool, &id, "c", "roots", ListRootsRequest {}).await;
        let refused: SamplingResponse = tool.answer("b").await;
        assert_eq!(refused.error, "the client does not support sampling/createMessage");
        let mut answers = BTreeMap::new();
        for _ in 0..2 {
            let answer = tool.request().await;
            answers.insert(answer.request_id, answer.msg.unwrap());
        }
        let (Msg::ElicitationResponse(name), Msg::ListRootsResponse(roots)) = (&answers["a"], &answers["c"]) else {
            panic!("{answers:?}")
        };
        tool.result(&id, &format!("{} at {}", String::from_utf8_lossy(&name.content_json), roots.roots[0].uri)).await;
    };
    let client = async {
        let first = ask(&mut host, "tools/call", call.clone()).await;
        assert_eq!(
            first["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(),
            ["name", "roots"],
            "{first}"
        );
        let answers = json!({"name": accepted("Ann"), "roots": {"roots": [{"uri": "file:///a"}]}});
        let done = again(&mut host, "tools/call", call.clone(), &first, answers).await;
        assert_eq!(done["content"][0]["text"], r#"{"name":"Ann"} at file:///a"#, "{done}");
    };
    tokio::join!(process, client);
}

#[tokio::test]
async fn a_group_is_asked_when_its_last_question_is_refused() {
    let (stage, mut tool) = Stage::new(&["greet"]).await;
    let mut host = stage.stranger();
    let call = json!({"name": "greet"});
    let process = async {
        let (id, _) = tool.call().await;
        group(&mut tool, &id, "a", "name", form()).await;
        // A refused one in between leaves the group as it is.
        group(&mut tool, &id, "b", &"k".repeat(129), form()).await;
        let refused: ElicitationResponse = tool.answer("b").await;
        assert_eq!(refused.error, "the name of a question may have 128 bytes");
        group(&mut tool, &id, "c", "nickname", form()).await;
        put(&mut tool, &id, "d", &"k".repeat(129), form()).await;
        let refused: ElicitationResponse = tool.answer("d").await;
        assert_eq!(refused.error, "the name of a question may have 128 bytes");
        let mut answers = BTreeMap::new();
        for _ in 0..2 {
            let answer = tool.request().await;
            answers.insert(answer.request_id, answer.msg.unwrap());
        }
        let (Msg::ElicitationResponse(name), Msg::ElicitationResponse(nickname)) = (&answers["a"], &answers["c"])
        else {
            panic!("{answers:?}")
        };
        let [name, nickname] = [name, nickname].map(|answer| String::from_utf8_lossy(&answer.content_json));
        tool.result(&id, &format!("{name} {nickname}")).await;
    };
    let client = async {
        let first = ask(&mut host, "tools/call", call.clone()).await;
        let asked: Vec<_> = first["inputRequests"].as_object().unwrap().keys().collect();
        assert_eq!(asked, ["name", "nickname"], "{first}");
        let answers = json!({"name": accepted("Ann"), "nickname": accepted("A")});
        let done = again(&mut host, "tools/call", call.clone(), &first, answers).await;
        assert_eq!(done["content"][0]["text"], r#"{"name":"Ann"} {"name":"A"}"#, "{done}");
    };
    tokio::join!(process, client);
}

#[tokio::test]
async fn a_group_without_its_last_question_ends_with_its_request() {
    let (stage, mut tool) = Stage::new(&["greet"]).await;
    let mut host = stage.host(r#"{"elicitation":{}}"#).await;
    let call = host.call("greet").await;
    let (id, _) = tool.call().await;
    group(&mut tool, &id, "a", "", form()).await;
    group(&mut tool, &id, "b", "", form()).await;
    tool.result(&id, "done").await;
    for question in ["a", "b"] {
        let answer: ElicitationResponse = tool.answer(question).await;
        assert_eq!(answer.error, "the request that asks is over");
    }
    assert_eq!(host.text(call).await, "done");
    // With a session all of a group are sent together.
    let call = host.call("greet").await;
    let (id, _) = tool.call().await;
    group(&mut tool, &id, "a", "", form()).await;
    host.hears_nothing().await;
    put(&mut tool, &id, "b", "", form()).await;
    let (first, second) = (host.expect("elicitation/create").await, host.expect("elicitation/create").await);
    host.reply(&second, accepted("second")).await;
    let answer: ElicitationResponse = tool.answer("b").await;
    assert_eq!(answer.action, "accept");
    host.reply(&first, accepted("first")).await;
    let answer: ElicitationResponse = tool.answer("a").await;
    assert_eq!(answer.action, "accept");
    tool.result(&id, "done").await;
    assert_eq!(host.text(call).await, "done");
}
