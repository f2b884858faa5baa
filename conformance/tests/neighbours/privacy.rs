//! The content of mallory's calls is visible to mallory only.

use std::time::Duration;

use protomcp_conformance::neighbours::{Client, Front, Heard, Neighbours, Op, SECRET, Setup, Tool, User};
use serde_json::{Value, json};

/// The restart time of the published SDK.
const RESTART: Duration = Duration::from_secs(3);

const PUBLISHED: Setup<'_> = Setup {
    tool: Tool::Published("py/neighbours.py"),
    skipped: &[Op::Replay, Op::Notice],
    turn: Duration::from_millis(20),
    ..Setup::DEFAULT
};

async fn session(user: &User) -> Client {
    Client::open(user, Front::Session, &Heard::default()).await.expect("a session")
}

/// Calls a tool repeatedly, on every front; any answer will do.
async fn repeat(user: &User, name: &str, arguments: Value, times: usize) {
    for front in protomcp_conformance::neighbours::FRONTS {
        let mut client = Client::open(user, front, &Heard::default()).await.expect("it is served");
        for _ in 0..times {
            // The tool may fail.
            let _ = client.call(name, arguments.clone()).await;
        }
    }
}

#[test]
fn log_messages_of_a_call_are_for_its_caller() {
    for named in [false, true] {
        let neighbours = Neighbours::start(&Setup::default());
        let report = neighbours.suffer(async |mallory| {
            repeat(&mallory, "log", json!({"text": SECRET, "named": named}), 20).await;
        });
        report.serves().keeps_the_secret();
    }
}

#[test]
fn log_messages_of_the_published_sdk_reach_the_running_caller() {
    let neighbours = Neighbours::start(&PUBLISHED);
    let report = neighbours.suffer(async |mallory| repeat(&mallory, "look_up", json!({"text": SECRET}), 5).await);
    report.serves().keeps_the_secret();
}

#[test]
fn crash_output_of_a_tool_reaches_no_other_caller() {
    let crashed = |op: Op, why: &str| op != Op::Ping && op != Op::List && why.contains("\"retryable\":true");
    for setup in [PUBLISHED, Setup::DEFAULT] {
        let neighbours = Neighbours::start(&Setup { turn: RESTART, ..setup });
        let report = neighbours.suffer(async |mallory| {
            repeat(&mallory, "crash", json!({"text": SECRET}), 1).await;
        });
        report.serves_except(crashed).keeps_the_secret();
    }
}

#[test]
fn a_crash_reveals_its_cause_to_no_other_call() {
    let neighbours = Neighbours::start(&Setup { turn: RESTART, ..Setup::DEFAULT });
    let report = neighbours.suffer_whole(async |mallory| {
        let mut bystander = session(&neighbours.alice).await;
        let sleeping = bystander.send("tools/call", json!({"name": "sleep", "arguments": {"ms": 5000}})).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        repeat(&mallory, "crash", json!({"text": SECRET}), 1).await;
        let result = bystander.answer(sleeping.expect("it was sent")).await.expect("a result");
        assert_eq!(result["isError"], true, "{result}");
        assert!(!result.to_string().contains(SECRET), "alice's call says: {result}");
    });
    report.ends().keeps_the_secret();
}

#[test]
fn a_server_request_goes_only_to_its_own_caller() {
    for named in [true, false] {
        let neighbours = Neighbours::start(&Setup::default());
        let heard = Heard::default();
        neighbours
            .suffer_whole(async |mallory| {
                // Alice could answer, and has a call running; mallory cannot answer.
                let able = json!({"elicitation": {}, "roots": {}, "sampling": {}});
                let mut alice =
                    Client::open_with(&neighbours.alice, Front::Sse, &heard, &able).await.expect("a session");
                alice.send("tools/call", json!({"name": "sleep", "arguments": {"ms": 3000}})).await.expect("a call");
                tokio::time::sleep(Duration::from_millis(50)).await;
                let mut asking = session(&mallory).await;
                let arguments = json!({"text": SECRET, "named": named});
                asking.send("tools/call", json!({"name": "ask", "arguments": arguments})).await.expect("a call");
                tokio::time::sleep(Duration::from_millis(500)).await;
            })
            .ends()
            .keeps_the_secret();
        assert!(heard.leaks().is_empty(), "alice was asked: {:#?}", heard.leaks());
    }
}

#[test]
fn errors_are_reported_to_the_caller_at_fault() {
    let neighbours = Neighbours::start(&Setup { flags: &["--validate-args", "reject"], ..Setup::DEFAULT });
    let report = neighbours.suffer(async |mallory| {
        repeat(&mallory, SECRET, json!({}), 3).await;
        repeat(&mallory, "echo", json!([SECRET]), 3).await;
        repeat(&mallory, "print", json!({"text": SECRET}), 3).await;
        repeat(&mallory, "progress", json!({"text": SECRET, "count": 3}), 3).await;
        let mut client = session(&mallory).await;
        for method in [SECRET, "resources/read", "prompts/get", "completion/complete", "tasks/get"] {
            // All of these are errors.
            let _ = client.ask(method, json!({"uri": SECRET, "name": SECRET, "taskId": SECRET})).await;
        }
    });
    report.serves().keeps_the_secret();
}
