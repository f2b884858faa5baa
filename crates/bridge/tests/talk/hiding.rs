//! Changes of the list of tools.

use protomcp_codec::{Encoder, Limits};
use protomcp_envelope::{
    ActiveToolsResponse, BatchUpdateRequest, CallToolResponse, Envelope, Msg, SetAllowedRequest, SetBlockedRequest,
    ToolListResponse,
};
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

/// `set_allowed("".split(","))` allows the tool without a name, and not all tools.
#[tokio::test]
async fn an_allowlist_without_a_usable_name_hides_every_tool() {
    let (_stage, mut tool) = Stage::new(&["a", "b"]).await;
    let unusable = || vec![String::new(), "x".repeat(1025)];
    let allow = BatchUpdateRequest { allow: unusable(), ..Default::default() };
    let contradiction = BatchUpdateRequest { allow: unusable(), block: vec!["a".into()], ..Default::default() };
    let changes: [(Msg, &[&str]); 6] = [
        (SetAllowedRequest { tool_names: unusable() }.into(), &[]),
        (SetAllowedRequest::default().into(), &["a", "b"]),
        (SetBlockedRequest { tool_names: unusable() }.into(), &["a", "b"]),
        (contradiction.into(), &["a", "b"]),
        (allow.into(), &[]),
        (BatchUpdateRequest { enable: vec!["b".into()], ..Default::default() }.into(), &["b"]),
    ];
    for (change, visible) in changes {
        tool.send("q", change).await;
        assert_eq!(tool.answer::<ActiveToolsResponse>("q").await.tool_names, visible);
    }
}
