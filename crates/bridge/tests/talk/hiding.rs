//! A call that changes the list of tools.

use protomcp_codec::{Encoder, Limits};
use protomcp_envelope::{CallToolResponse, Envelope, Msg, ToolListResponse};
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::tool::Tool;

/// The number of lists that the process sends right before its result. They keep the bridge busy, and the result
/// overtakes them.
const LISTS: usize = 60;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_answer_comes_when_the_list_has_changed() {
    let names = (0..300).map(|number| format!("t{number:03}")).chain(["a".to_owned(), "hidden".to_owned()]);
    let tools: Vec<_> = names.map(|name| Tool::definition(&name)).collect();
    let (stage, mut tool) = Stage::with(tools.clone(), |builder| builder).await;
    let mut host = stage.host("{}").await;
    let id = host.call("a").await;
    let (call, _) = tool.call().await;
    let list: Msg = ToolListResponse { tools }.into();
    let lists = std::iter::repeat_n(Envelope::new("", list), LISTS);
    let result = CallToolResponse { disable_tools: vec!["hidden".into()], ..CallToolResponse::default() };
    let mut bytes = Vec::new();
    for envelope in lists.chain([Envelope::new(call, result)]) {
        Encoder::new(Limits::default()).encode_envelope(&envelope, &mut bytes).unwrap();
    }
    tool.bytes(&bytes).await;
    let (answer, _) = host.until(id).await;
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    let id = host.request("tools/list", json!({})).await;
    let (listed, _) = host.until(id).await;
    let names: Vec<&Value> = listed["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert!(names.len() == 301 && !names.contains(&&json!("hidden")), "{} tools: {names:?}", names.len());
}
