//! Tasks of a process that has ended, as other processes read them.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, SystemTime};

use protomcp_server::{
    LeaseName, LeaseStore, MemoryLeases, NodeId, Owner, TaskEra, TaskKey, TaskOptions, TaskRecord, TaskState, TaskStore,
};
use protomcp_testing::run_paused;
use protomcp_types::{Params, Request, RequestId};
use serde_json::{Value, json};

use super::replicas::Away;
use super::task_extension::{ask, begin, later, look};
use super::task_store::{Shared, server_with, slow, stores};
use super::transcript::{Stage, connect_to, full};

const TTL: Duration = Duration::from_secs(600);

fn server(node: &str, store: &Arc<Shared>, leases: &Arc<impl LeaseStore>) -> Stage {
    let leases = Arc::clone(leases);
    server_with(stores(node, store).with_leases(leases))
}

fn memory() -> Arc<MemoryLeases> {
    Arc::new(MemoryLeases::new(10, TTL))
}

/// The error for programs.
fn reason(error: &Value) -> (&Value, &Value) {
    let reason = &error["data"]["protomcp/error"];
    (&reason["error_code"], &reason["retryable"])
}

#[test]
fn a_task_of_a_process_that_has_ended_has_failed() {
    run_paused(async {
        let (store, leases, lease) = (Arc::new(Shared::default()), memory(), LeaseName::first(NodeId::new("a")));
        assert_eq!(leases.register(&lease, TTL).await, Ok(true));
        let (a, b) = (server("a", &store, &leases), server("b", &store, &leases));
        let (mut here, mut there) = (a.connect(), b.connect());
        let id = begin(&mut here, "task-names").await;
        let params = json!({"taskId": id, "inputResponses": {}});
        assert_eq!(look(&mut there, &id).await["status"], "input_required");
        let refused = ask(&mut there, "tasks/cancel", &params).await;
        assert_eq!(reason(&refused["error"]), (&json!("WRONG_PROCESS"), &json!(true)), "{refused}");

        assert_eq!(leases.resign(&lease).await, Ok(()));
        later(1_000).await;
        for method in ["tasks/cancel", "tasks/update"] {
            let answer = ask(&mut there, method, &params).await;
            assert!(answer["error"].is_null(), "{method}: {answer}");
        }
        let failed = look(&mut there, &id).await;
        assert_eq!((&failed["status"], &failed["inputRequests"]), (&json!("failed"), &Value::Null), "{failed}");
        assert_eq!(reason(&failed["error"]), (&json!("REPLICA_GONE"), &json!(true)), "{failed}");
        assert_eq!(look(&mut here, &id).await["status"], "input_required", "only readers elsewhere take it for ended");
    });
}

#[test]
fn a_task_that_has_ended_before_its_process_has_its_result() {
    run_paused(async {
        let (store, leases) = (Arc::new(Shared::default()), memory());
        let (a, b) = (server("a", &store, &leases), server("b", &store, &leases));
        let (mut here, mut there) = (a.connect(), b.connect());
        let [long, short] = [begin(&mut here, "task 100000").await, begin(&mut here, "task 500").await];
        assert_eq!(look(&mut there, &long).await["status"], "failed");
        later(100).await;
        // The answer of the store is shared, and a newer one is awaited.
        assert_eq!(look(&mut there, &short).await["status"], "completed");
    });
}

#[test]
fn without_an_answer_about_the_processes_a_task_runs() {
    for (is_silent, seconds) in [(true, 5), (false, 0)] {
        run_paused(async {
            let (store, leases) =
                (Arc::new(Shared::default()), Arc::new(Away { is_silent, lookups: AtomicUsize::new(0) }));
            let (a, b) = (server("a", &store, &leases), server("b", &store, &leases));
            let id = begin(&mut a.connect(), "task 100000").await;
            let (mut there, began) = (b.connect(), tokio::time::Instant::now());
            assert_eq!(look(&mut there, &id).await["status"], "working");
            assert_eq!(began.elapsed().as_secs(), seconds);
            let refused = ask(&mut there, "tasks/cancel", &json!({"taskId": id})).await;
            assert_eq!(reason(&refused["error"]).0, "WRONG_PROCESS", "{refused}");
        });
    }
}

#[test]
fn a_session_reads_a_task_of_an_ended_process_as_failed() {
    run_paused(async {
        let (store, leases) = (Arc::new(Shared::default()), memory());
        let server = slow(stores("a", &store).with_leases(leases));
        let mut host = connect_to(&server, 1 << 20, None);
        host.steps(&["→ hello", "· 1ms"]).await;
        let key = TaskKey::Session(NodeId::new("a"), server.handle().views()[0].id);
        let state = TaskState::new(TaskEra::Session, "t", TaskOptions::default(), SystemTime::now());
        let (node, owner) = (NodeId::new("gone"), Owner::Local);
        let record = TaskRecord { key, owner, node, state, questions: None, size: 0 };
        assert_eq!(store.insert(record).await, Ok(Some(vec![])));
        let mut request = async |method: &str| {
            host.send(&full(&format!(r#"{{"id":1,"method":"{method}","params":{{"taskId":"t"}}}}"#))).await;
            serde_json::from_str::<Value>(&host.next().await.unwrap()).unwrap()
        };
        assert_eq!(request("tasks/get").await["result"]["status"], "failed");
        assert_eq!(request("tasks/list").await["result"]["tasks"][0]["status"], "failed");
        let result = request("tasks/result").await;
        assert_eq!(reason(&result["error"]), (&json!("REPLICA_GONE"), &json!(true)), "{result}");
        assert_eq!(request("tasks/cancel").await["error"]["code"], -32602);
    });
}

#[test]
fn a_transport_finds_the_process_that_runs_a_task() {
    run_paused(async {
        let (store, leases, lease) = (Arc::new(Shared::default()), memory(), LeaseName::first(NodeId::new("a")));
        assert_eq!(leases.register(&lease, TTL).await, Ok(true));
        let (a, b) = (server("a", &store, &leases), server("b", &store, &leases));
        let mut here = a.connect();
        let id = begin(&mut here, "task-names").await;
        let request = |method: &'static str| Request {
            id: RequestId::from(1),
            method: method.into(),
            params: Params::of(&json!({"taskId": id, "inputResponses": {}})).unwrap(),
        };
        let (here, there) = (a.server.handle(), b.server.handle());
        for method in ["tasks/update", "tasks/cancel"] {
            assert_eq!(there.holder_of(&request(method), None).unwrap().await, Some(lease.clone()), "{method}");
            assert!(here.holder_of(&request(method), None).is_none(), "{method}");
            assert_eq!(there.holder_of(&request(method), Some("bob".into())).unwrap().await, None, "{method}");
        }
        assert!(there.holder_of(&request("tasks/get"), None).is_none(), "each process reads it");
        there.serve_own_tasks_only();
        assert_eq!(there.holder_of(&request("tasks/get"), None).unwrap().await, Some(lease));
    });
}
