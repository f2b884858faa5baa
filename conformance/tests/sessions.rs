//! Several clients of one tool process at once: a bridge embedded in a program, on the published SDKs.

use std::sync::Arc;

use protomcp_bridge::{Bridge, Builder, Command, ToolFile};
use protomcp_conformance::{Sandbox, patience, peers, sdk_example};
use protomcp_transport::lines::Lines;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use tokio::time::timeout;

const CALLS: u64 = 100;
const HOSTS: u64 = 2;

/// Calls `echo` a hundred times at once over two sessions, and checks that each caller gets its own answer.
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
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: WriteHalf<DuplexStream>,
    serving: JoinHandle<()>,
}

impl Session {
    async fn open(bridge: Arc<Bridge>) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(theirs);
        let serving = tokio::spawn(async move {
            bridge.serve(Lines::new(reader, writer)).await.expect("a good end");
        });
        let (output, input) = tokio::io::split(ours);
        let mut session = Self { lines: BufReader::new(output).lines(), input, serving };
        let info = json!({"name": "h", "version": "1"});
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        let mut text = request(&"hello".into(), "initialize", &hello);
        text.push_str("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        session.send(&text).await;
        session
    }

    async fn send(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).await.expect("the bridge reads");
    }

    async fn next(&mut self) -> Value {
        let line = timeout(patience(), self.lines.next_line()).await.expect("an answer").expect("a line");
        serde_json::from_str(&line.expect("the session goes on")).expect("JSON")
    }

    async fn close(mut self) {
        self.input.shutdown().await.expect("the host leaves");
        self.serving.await.expect("no panic");
    }
}

async fn call_all(bridge: Arc<Bridge>, host: u64) {
    let mut session = Session::open(bridge).await;
    // Clients use the same ids; nothing may depend on their being different.
    let calls = (0..CALLS / HOSTS).map(|id| {
        let params = json!({"name": "echo", "arguments": {"text": format!("host {host}, call {id}")}});
        request(&id.into(), "tools/call", &params)
    });
    session.send(&calls.collect::<String>()).await;
    let mut answered = 0;
    while answered < CALLS / HOSTS {
        let message = session.next().await;
        let Some(id) = message["id"].as_u64() else { continue };
        assert_eq!(message["result"]["content"][0]["text"], format!("host {host}, call {id}"), "{message}");
        answered += 1;
    }
    session.close().await;
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

/// The levels of the log messages that a session gets about its call. Messages about a call come before its answer.
async fn levels(session: &mut Session, rows: u64) -> Vec<String> {
    session.send(&request(&7.into(), "tools/call", &json!({"name": "import", "arguments": {"rows": rows}}))).await;
    let mut levels = Vec::new();
    loop {
        let message = session.next().await;
        match message["method"].as_str() {
            Some("notifications/message") => levels.push(message["params"]["level"].as_str().expect("a level").into()),
            _ if message["id"] == 7 => break levels,
            _ => {}
        }
    }
}

#[test]
fn each_session_gets_the_log_messages_of_its_own_level() {
    with_bridge(Bridge::command(Command::new(sdk_example("logs"))), async |bridge| {
        let levels_of =
            [("debug", vec!["debug", "warning", "info"]), ("info", vec!["warning", "info"]), ("error", vec![])];
        let mut sessions = Vec::new();
        for (level, expected) in levels_of {
            let mut session = Session::open(Arc::clone(bridge)).await;
            session.send(&request(&1.into(), "logging/setLevel", &json!({"level": level}))).await;
            while session.next().await["id"] != 1 {}
            sessions.push((session, expected));
        }
        // The level that was set last is that of its own session only; the calls run together.
        let calls = sessions.iter_mut().map(async |(session, expected)| (levels(session, 700).await, expected));
        for (got, expected) in futures_util::future::join_all(calls).await {
            assert_eq!(got, **expected);
        }
        for (session, _) in sessions {
            session.close().await;
        }
    });
}
