//! Messages of a process between its handshake and its first call.

use std::io::Write;
use std::sync::{Arc, Mutex};

use protomcp_proto::{ActiveToolsResponse, DisableToolsRequest, LogMessage, ToolListResponse};
use serde_json::json;

use crate::stage::Stage;
use crate::tool::Tool;

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn early_lists_count_and_early_log_messages_are_kept() {
    let written = Written::default();
    let writer = written.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let (stage, mut tool) = Stage::new(&["a"]).await;
    let log = LogMessage { level: "warning".into(), logger: "boot".into(), data_json: r#""warming up""#.into() };
    tool.send("", log).await;
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
    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    assert!(text.lines().any(|line| line.contains("WARN") && line.contains("warming up")), "{text}");
}
