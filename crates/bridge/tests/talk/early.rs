//! Messages of a process between its handshake and its first call.

use protomcp_envelope::{ActiveToolsResponse, DisableToolsRequest, LogMessage, ToolListResponse};
use protomcp_testing::Log;
use serde_json::json;

use crate::stage::Stage;
use crate::tool::Tool;

#[tokio::test]
async fn early_lists_count_and_early_log_messages_are_kept() {
    let log = Log::capture();
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let message = LogMessage { level: "warning".into(), logger: "boot".into(), data_json: r#""warming up""#.into() };
    tool.send("", message).await;
    for names in [&["x"][..], &["a", "b", "c"]] {
        let tools = names.iter().map(|name| Tool::definition(name)).collect();
        tool.send("", ToolListResponse { tools }).await;
    }
    tool.send("1", DisableToolsRequest { tool_names: vec!["c".into()] }).await;
    assert_eq!(tool.answer::<ActiveToolsResponse>("1").await.tool_names, ["a", "b"]);
    let mut host = stage.host("{}").await;
    let id = host.request("tools/list", json!({})).await;
    let answer = host.answer(id).await;
    let names: Vec<_> = answer["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["a", "b"]);
    let text = log.text();
    assert!(text.lines().any(|line| line.contains("WARN") && line.contains("warming up")), "{text}");
}
