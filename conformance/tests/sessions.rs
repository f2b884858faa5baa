//! Several clients of one tool process at once: a bridge embedded in a program, on the published SDKs.

use std::time::Duration;

use protomcp_bridge::{Bridge, Builder, Command, ToolFile};
use protomcp_conformance::{Sandbox, peers};
use protomcp_transport::lines::Lines;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::time::timeout;

const CALLS: u64 = 100;
const HOSTS: u64 = 2;

/// Calls `echo` a hundred times at once over two sessions, and checks that each caller gets its own answer.
fn every_answer_reaches_its_caller(builder: Builder) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (bridge, starting) = builder.launch();
        starting.wait().await.expect("the tool process starts");
        let bridge = std::sync::Arc::new(bridge);
        let hosts: Vec<_> =
            (0..HOSTS).map(|host| tokio::spawn(call_all(std::sync::Arc::clone(&bridge), host))).collect();
        for host in hosts {
            host.await.expect("the host is satisfied");
        }
        std::sync::Arc::into_inner(bridge).expect("all sessions have ended").shutdown().await;
    });
}

async fn call_all(bridge: std::sync::Arc<Bridge>, host: u64) {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(theirs);
    let serving = tokio::spawn(async move { bridge.serve(Lines::new(reader, writer)).await });
    let (output, mut input) = tokio::io::split(ours);
    let mut lines = BufReader::new(output).lines();
    let info = json!({"name": "h", "version": "1"});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    let mut text = request(&"hello".into(), "initialize", &hello);
    text.push_str("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    // Clients use the same ids; nothing may depend on their being different.
    for id in 0..CALLS / HOSTS {
        let params = json!({"name": "echo", "arguments": {"text": format!("host {host}, call {id}")}});
        text.push_str(&request(&id.into(), "tools/call", &params));
    }
    input.write_all(text.as_bytes()).await.expect("the bridge reads");
    let mut answered = 0;
    while answered < CALLS / HOSTS {
        let line = timeout(Duration::from_secs(60), lines.next_line()).await.expect("an answer").expect("a line");
        let message: Value = serde_json::from_str(&line.expect("the session goes on")).expect("JSON");
        let Some(id) = message["id"].as_u64() else { continue };
        assert_eq!(message["result"]["content"][0]["text"], format!("host {host}, call {id}"), "{message}");
        answered += 1;
    }
    input.shutdown().await.expect("the host leaves");
    serving.await.expect("no panic").expect("a good end");
}

fn request(id: &Value, method: &str, params: &Value) -> String {
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

/// Item 49.
#[test]
fn concurrent_sessions_get_their_answers_with_the_python_sdk() {
    let sandbox = Sandbox::new();
    let file = sandbox.copy("py/basics.py");
    every_answer_reaches_its_caller(Bridge::tool_file(&ToolFile::new(file).runtime(peers().join("py/bin/python"))));
}

/// Item 49.
#[test]
fn concurrent_sessions_get_their_answers_with_the_rust_sdk() {
    every_answer_reaches_its_caller(Bridge::command(Command::new(peers().join("rs-target/debug/peer-rs"))));
}
