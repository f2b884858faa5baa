//! A directory of parked calls of the test's own, shared by two servers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_server::{Limits, NodeId, ParkedDirectory, ParkedRecord, RequestStateKeys, StoreFuture, Stores};
use protomcp_testing::run_paused;
use serde_json::{Value, json};

use super::mrtr::{accept, again, ask, fails, says};
use super::stateless::{next, send};
use super::transcript::Stage;

/// Answers later, as another process would.
#[derive(Debug, Default)]
struct Recording {
    calls: Mutex<HashMap<u128, ParkedRecord>>,
    /// The numbers that were asked for.
    found: Mutex<usize>,
    is_silent: bool,
}

impl Recording {
    fn nodes(&self) -> Vec<String> {
        self.calls.lock().unwrap().values().map(|call| call.node.to_string()).collect()
    }
}

impl ParkedDirectory for Recording {
    fn insert(&self, call: &ParkedRecord) {
        self.calls.lock().unwrap().insert(call.number, call.clone());
    }

    fn remove(&self, number: u128) {
        self.calls.lock().unwrap().remove(&number);
    }

    fn find(&self, number: u128) -> StoreFuture<'_, Option<NodeId>> {
        *self.found.lock().unwrap() += 1;
        Box::pin(async move {
            tokio::task::yield_now().await;
            if self.is_silent {
                std::future::pending::<()>().await;
            }
            self.calls.lock().unwrap().get(&number).map(|call| call.node.clone())
        })
    }
}

/// Two servers with one directory and the same keys.
fn servers(directory: &Arc<Recording>) -> (Stage, Stage) {
    let server = |name: &str| {
        let stores = Stores::new(NodeId::new(name)).with_parked(Arc::clone(directory) as Arc<dyn ParkedDirectory>);
        let limits = Limits { ask_timeout: Duration::from_secs(60), max_parked: 1, ..Limits::default() };
        Stage::with_stores(limits, RequestStateKeys::shared([[1; 32]]), stores)
    };
    (server("a"), server("b"))
}

fn name() -> Value {
    json!({"name": "name 1"})
}

#[test]
fn a_retry_is_sent_to_the_process_that_holds_the_call() {
    run_paused(async {
        let directory = Arc::new(Recording::default());
        let (a, b) = servers(&directory);
        let (mut here, mut there) = (a.connect(), b.connect());
        let asked = ask(&mut here, 1, "tools/call", &name()).await;
        assert_eq!(directory.nodes(), ["a"]);
        let retry = again(&name(), &asked, accept("ann"));
        let refused = ask(&mut there, 1, "tools/call", &retry).await;
        fails(&refused, -32603);
        let error = &refused["error"]["data"]["protomcp/error"];
        assert_eq!((&error["error_code"], &error["node"]), (&json!("WRONG_PROCESS"), &json!("a")));
        assert_eq!(directory.nodes(), ["a"], "the call still waits");

        says(&ask(&mut here, 2, "tools/call", &retry).await, r#"{"name":"ann"}"#);
        assert!(directory.nodes().is_empty());
        assert_eq!(*directory.found.lock().unwrap(), 1, "a call of this process needs no directory");
        for host in [&mut here, &mut there] {
            fails(&ask(host, 3, "tools/call", &retry).await, -32602);
        }
    });
}

#[test]
fn a_call_that_ends_without_its_client_leaves_the_directory() {
    run_paused(async {
        let directory = Arc::new(Recording::default());
        let (a, b) = servers(&directory);
        let (mut ann, mut bob) = (a.connect_as("ann"), a.connect_as("bob"));
        ask(&mut ann, 1, "tools/call", &name()).await;
        ask(&mut ann, 2, "tools/call", &name()).await;
        assert_eq!(directory.nodes().len(), 1, "there is one place");
        tokio::time::sleep(Duration::from_secs(62)).await;
        assert!(directory.nodes().is_empty(), "its time is up");
        ask(&mut bob, 1, "tools/call", &name()).await;
        assert_eq!(directory.nodes(), ["a"]);
        a.server.handle().shutdown();
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(directory.nodes().is_empty(), "the server has stopped");
        drop(b);
    });
}

#[test]
fn a_directory_that_does_not_answer_holds_up_only_its_request() {
    run_paused(async {
        let directory = Arc::new(Recording { is_silent: true, ..Recording::default() });
        let (a, b) = servers(&directory);
        let (mut here, mut there) = (a.connect(), b.connect());
        let asked = ask(&mut here, 1, "tools/call", &name()).await;
        let began = tokio::time::Instant::now();
        let refused = ask(&mut there, 1, "tools/call", &again(&name(), &asked, accept("ann"))).await;
        fails(&refused, -32603);
        assert_eq!(
            (began.elapsed().as_secs(), &refused["error"]["data"]["protomcp/error"]["retryable"]),
            (30, &json!(true))
        );
    });
}

#[test]
fn a_retry_without_a_session_is_sent_to_the_process_as_well() {
    run_paused(async {
        let directory = Arc::new(Recording::default());
        let (a, b) = servers(&directory);
        let meta = r#""_meta":{«2026 {"elicitation":{}}»}"#;
        let call = format!(r#""name":"name 1",{meta}"#);
        let asked = next(&mut send(&a, "tools/call", &call)).await.unwrap();
        let asked: Value = serde_json::from_str(&asked).unwrap();
        let retry =
            format!(r#"{call},"requestState":{},"inputResponses":{}"#, asked["result"]["requestState"], accept("ann"));
        let refused = next(&mut send(&b, "tools/call", &retry)).await.unwrap();
        assert!(refused.contains("WRONG_PROCESS"), "{refused}");
        drop(send(&b, "tools/call", &retry));
        let answered = next(&mut send(&a, "tools/call", &retry)).await.unwrap();
        assert!(answered.contains(r#"{\"name\":\"ann\"}"#), "{answered}");
    });
}

#[cfg(feature = "contract-tests")]
#[test]
fn the_contract_holds() {
    run_paused(async { protomcp_server::contract::parked_directory(&Recording::default()).await });
}
