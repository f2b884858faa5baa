//! Several concurrent clients of one tool process: a bridge embedded in a program, on the published SDKs.

use std::sync::Arc;

use protomcp_bridge::{Bridge, Builder, Command, ToolFile};
use protomcp_conformance::{Sandbox, peers, sdk_example};
use protomcp_testing::JsonPeer;
use protomcp_transport::lines::Lines;
use serde_json::json;
use tokio::task::JoinHandle;

const CALLS: u64 = 100;
const HOSTS: u64 = 2;

/// Calls `echo` a hundred times concurrently over two sessions, and checks that each caller gets its own answer.
fn every_answer_reaches_its_caller(builder: Builder) {
    with_bridge(builder, async |bridge| {
        let hosts: Vec<_> = (0..HOSTS).map(|host| tokio::spawn(call_all(Arc::clone(bridge), host))).collect();
        for host in hosts {
            host.await.expect("the host is satisfied");
        }
    });
}

/// Starts a bridge, and stops it after the sessions of the test.
fn with_bridge(builder: Builder, test: impl AsyncFnOnce(&Arc<Bridge>)) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (bridge, starting) = builder.launch();
        starting.wait().await.expect("the tool process starts");
        let bridge = Arc::new(bridge);
        test(&bridge).await;
        Arc::into_inner(bridge).expect("all sessions have ended").shutdown().await;
    });
}

/// A session over lines.
struct Session {
    peer: JsonPeer,
    serving: JoinHandle<()>,
}

impl Session {
    async fn open(bridge: Arc<Bridge>) -> Self {
        let (mut peer, reader, writer) = JsonPeer::connected(1 << 20);
        let serving = tokio::spawn(async move {
            bridge.serve(Lines::new(reader, writer)).await.expect("a good end");
        });
        peer.initialize("2025-11-25", json!({})).await;
        Self { peer, serving }
    }

    async fn close(mut self) {
        self.peer.close().await;
        self.serving.await.expect("no panic");
    }
}

async fn call_all(bridge: Arc<Bridge>, host: u64) {
    let mut session = Session::open(bridge).await;
    // Clients use the same ids; nothing may depend on their being different.
    for id in 0..CALLS / HOSTS {
        let params = json!({"name": "echo", "arguments": {"text": format!("host {host}, call {id}")}});
        session.peer.send(json!({"id": id, "method": "tools/call", "params": params})).await;
    }
    let mut answered = 0;
    while answered < CALLS / HOSTS {
        let message = session.peer.next().await;
        let Some(id) = message["id"].as_u64() else { continue };
        assert_eq!(message["result"]["content"][0]["text"], format!("host {host}, call {id}"), "{message}");
        answered += 1;
    }
    session.close().await;
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

/// The levels of the log messages that a session gets about its call. Messages about a call come before its answer.
async fn levels(session: &mut Session, rows: u64) -> Vec<String> {
    let id = session.peer.request("tools/call", json!({"name": "import", "arguments": {"rows": rows}})).await;
    let (_, before) = session.peer.until(id).await;
    let logged = before.iter().filter(|message| message["method"] == "notifications/message");
    logged.map(|message| message["params"]["level"].as_str().expect("a level").to_owned()).collect()
}

#[test]
fn each_session_gets_the_log_messages_of_its_level() {
    with_bridge(Bridge::command(Command::new(sdk_example("logs"))), async |bridge| {
        let levels_of =
            [("debug", vec!["debug", "warning", "info"]), ("info", vec!["warning", "info"]), ("error", vec![])];
        let mut sessions = Vec::new();
        for (level, expected) in levels_of {
            let mut session = Session::open(Arc::clone(bridge)).await;
            let id = session.peer.request("logging/setLevel", json!({"level": level})).await;
            session.peer.until(id).await;
            sessions.push((session, expected));
        }
        // The level that was set last applies to its session only; the calls run together.
        let calls = sessions.iter_mut().map(async |(session, expected)| (levels(session, 700).await, expected));
        for (got, expected) in futures_util::future::join_all(calls).await {
            assert_eq!(got, **expected);
        }
        for (session, _) in sessions {
            session.close().await;
        }
    });
}
