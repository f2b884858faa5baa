//! The beginning of a task while its store needs time to keep it, in both eras.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use protomcp_server::{Audience, NoticeBus, NoticeReceiver, SessionNotice};
use protomcp_testing::run_paused;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::stateless::{next, send};
use super::task_extension::{ask, begin, later, look};
use super::task_store::{Insert, Shared, server_with, slow, stores};
use super::transcript::{Host, Stage, connect_to, expand, full};

const META: &str = r#""_meta":{«2026 {"extensions":{"io.modelcontextprotocol/tasks":{}}}»}"#;

fn server(store: &Arc<Shared>) -> Stage {
    server_with(stores("a", store))
}

/// Checks the time since then, to the granularity of timers.
#[track_caller]
fn assert_passed(began: Instant, millis: u64) {
    let passed = began.elapsed();
    let expected = Duration::from_millis(millis)..Duration::from_millis(millis + 5);
    assert!(expected.contains(&passed), "{passed:?} instead of {millis} ms");
}

async fn read(host: &mut Host) -> Value {
    serde_json::from_str(&host.next().await.expect("an answer")).unwrap()
}

/// Plays something with these answers of the store: once with a task for each call, and once without.
fn play(inserts: &[(u64, Insert)], test: impl AsyncFn(Arc<Shared>, Stage)) {
    for in_place in [false, true] {
        let store = Shared::answering(inserts);
        let stage = server(&store);
        let stage = if in_place { Stage { server: stage.server.inline_calls(), ..stage } } else { stage };
        run_paused(test(store, stage));
    }
}

#[test]
fn the_store_decides_whether_a_call_becomes_a_task() {
    for (insert, works, kind, after) in [
        ((50, Insert::Kept), 100, "task", 50),
        ((50, Insert::Kept), 10, "task", 50),
        ((50, Insert::Full), 100, "complete", 100),
        ((50, Insert::Full), 10, "complete", 50),
        ((50, Insert::Unavailable), 100, "complete", 100),
        ((50, Insert::Unavailable), 10, "complete", 50),
        ((0, Insert::Never), 10, "complete", 5_000),
        ((0, Insert::Never), 9_000, "complete", 9_000),
    ] {
        play(&[insert], async |store, stage| {
            let (mut host, began) = (stage.connect(), Instant::now());
            let answer = ask(&mut host, "tools/call", &json!({"name": format!("task {works}")})).await;
            assert_eq!(answer["result"]["resultType"], kind, "{insert:?} {works}: {answer}");
            assert_passed(began, after);
            if kind == "task" {
                later(100).await;
                let done = look(&mut host, &answer["result"]["taskId"]).await;
                assert_eq!(done["result"]["content"][0]["text"], "done", "{insert:?} {works}: {done}");
            } else {
                assert_eq!(answer["result"]["content"][0]["text"], "done", "{insert:?} {works}: {answer}");
            }
            assert_eq!(store.read().len(), usize::from(kind == "task"), "{insert:?} {works}");
            host.steps(&["· 20000ms"]).await;
        });
    }
}

#[test]
fn questions_wait_until_the_store_has_decided() {
    for (insert, kind) in [(Insert::Kept, "task"), (Insert::Full, "input_required")] {
        play(&[(50, insert)], async |_, stage| {
            let mut host = stage.connect();
            let answer = ask(&mut host, "tools/call", &json!({"name": "task-names"})).await;
            let result = &answer["result"];
            assert_eq!(result["resultType"], kind, "{answer}");
            let asking = if kind == "task" { look(&mut host, &result["taskId"]).await } else { result.clone() };
            assert_eq!(asking["inputRequests"].as_object().unwrap().len(), 2, "{asking}");
            host.steps(&["· 20000ms"]).await;
        });
    }
}

#[test]
fn a_call_without_a_client_becomes_no_task() {
    let call = format!(r#""name":"task 1000",{META}"#);
    for insert in [Insert::Kept, Insert::Full, Insert::Unavailable, Insert::Never] {
        play(&[(50, insert)], async |store, stage| {
            let mut host = stage.connect();
            let request = format!(r#"{{"id":1,"method":"tools/call","params":{{{call}}}}}"#);
            host.send(&full(&expand(&request))).await;
            later(10).await;
            assert_eq!(store.read().len(), usize::from(insert != Insert::Full), "it is on its way");
            let cancelled = r#"→ {"method":"notifications/cancelled","params":{"requestId":1}}"#;
            host.steps(&[cancelled, "· 20000ms"]).await;
            assert!(store.read().is_empty(), "{insert:?}");
        });
        play(&[(50, insert)], async |store, stage| {
            let mut replies = send(&stage, "tools/call", &call);
            let answer = tokio::time::timeout(Duration::from_millis(10), next(&mut replies)).await;
            assert!(answer.is_err(), "{answer:?}");
            drop(replies);
            later(20_000).await;
            assert!(store.read().is_empty(), "{insert:?}");
        });
    }
}

#[test]
fn a_task_that_gives_way_before_it_begins_stays_a_call() {
    play(&[(100, Insert::Kept), (0, Insert::Evicts)], async |store, stage| {
        let (mut ann, mut bob) = (stage.connect(), stage.connect());
        let request = format!(r#"{{"id":1,"method":"tools/call","params":{{"name":"task 200",{META}}}}}"#);
        ann.send(&full(&expand(&request))).await;
        later(10).await;
        begin(&mut bob, "task 10").await;
        let answer = read(&mut ann).await;
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
        assert_eq!(store.read().len(), 1);
    });
}

const CALL: &str = r#"→ {"id":1,"method":"tools/call","params":{"name":"slow","task":{}}}"#;

#[test]
fn a_task_of_a_session_is_answered_when_the_store_keeps_it() {
    for (insert, after, refusal) in [
        ((50, Insert::Kept), 50, None),
        ((50, Insert::Full), 50, Some(("too many tasks", false))),
        ((50, Insert::Unavailable), 50, Some(("the store of tasks does not answer", true))),
        ((0, Insert::Never), 5_000, Some(("the store of tasks does not answer", true))),
    ] {
        run_paused(async {
            let store = Shared::answering(&[insert]);
            let mut host = connect_to(&slow(stores("a", &store)), 1 << 20, None);
            host.steps(&["→ hello", "· 1ms"]).await;
            let began = Instant::now();
            host.steps(&[CALL]).await;
            let answer = read(&mut host).await;
            assert_passed(began, after);
            match refusal {
                None => assert_eq!(answer["result"]["task"]["status"], "working", "{answer}"),
                Some((reason, retryable)) => {
                    let error = &answer["error"];
                    assert_eq!(error["code"], -32603, "{answer}");
                    assert!(error["message"].as_str().unwrap().starts_with(reason), "{answer}");
                    assert_eq!(error["data"]["protomcp/error"]["retryable"] == true, retryable, "{answer}");
                }
            }
            assert_eq!(store.read().len(), usize::from(refusal.is_none()), "{insert:?}");
        });
    }
}

#[test]
fn a_session_that_does_not_wait_for_a_task_has_none() {
    for is_cancelled in [true, false] {
        run_paused(async {
            let store = Shared::answering(&[(50, Insert::Kept)]);
            let mut host = connect_to(&slow(stores("a", &store)), 1 << 20, None);
            host.steps(&["→ hello", "· 1ms", CALL, "· 10ms"]).await;
            assert_eq!(store.read().len(), 1, "it is on its way");
            if is_cancelled {
                host.steps(&[r#"→ {"method":"notifications/cancelled","params":{"requestId":1}}"#, "· 10000ms"]).await;
            } else {
                host.end().await;
                later(10_000).await;
            }
            assert!(store.read().is_empty(), "cancelled: {is_cancelled}");
        });
    }
}

/// Reads the task that a notice is about, as another process does.
#[derive(Debug)]
struct Reader {
    store: Arc<Shared>,
    /// For each notice: true if the task runs.
    seen: Mutex<Vec<bool>>,
}

impl NoticeBus for Reader {
    fn subscribe(&self, _: Weak<dyn NoticeReceiver>) {}

    fn notify(&self, _: Audience, notice: SessionNotice<'_>) {
        if let SessionNotice::TaskChanged(id) = notice {
            let tasks = self.store.read();
            let task = tasks.iter().find(|task| task.id() == id).expect("it is kept");
            self.seen.lock().unwrap().push(task.state.is_running());
        }
    }
}

#[test]
fn the_end_of_a_task_is_written_before_its_notice() {
    for (tool, is_narrow, is_cancelled) in
        [("task 10", false, false), ("task 10", true, false), ("task 1000", false, true), ("task-error", false, false)]
    {
        run_paused(async {
            let store = Shared::narrow(is_narrow);
            let reader = Arc::new(Reader { store: Arc::clone(&store), seen: Mutex::default() });
            let notices = Arc::clone(&reader) as Arc<dyn NoticeBus>;
            let mut host = server_with(stores("a", &store).with_notices(notices)).connect();
            let id = begin(&mut host, tool).await;
            later(20).await;
            if is_cancelled {
                ask(&mut host, "tasks/cancel", &json!({"taskId": id})).await;
            }
            later(20).await;
            assert_eq!(reader.seen.lock().unwrap().first(), Some(&false), "{tool} {is_narrow}");
        });
    }
}
