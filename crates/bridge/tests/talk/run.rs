//! The serving loop: stops, reloads and a start that fails.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use protomcp_bridge::{Bridge, Command, Run, RunError, RunHandle, Starting, StopPolicy};
use protomcp_testing::{JsonPeer, in_time, until};
use protomcp_transport::lines::Lines;
use rustix::process::{Pid, test_kill_process};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::stage::Stage;
use crate::tool::Tool;
use crate::turns::error;

type Outcome = Result<(), RunError<Infallible>>;

/// A bridge to a program that never connects.
fn launch() -> (Bridge, Starting) {
    let policy = StopPolicy { close: Duration::from_millis(10), ..StopPolicy::default() };
    Bridge::command(Command::new("sleep").arg("3600")).stop_policy(policy).launch()
}

fn run() -> Run {
    let (bridge, starting) = launch();
    Run::new(bridge, starting)
}

/// Serves connections that never end.
fn serve(run: Run) -> (RunHandle, JoinHandle<Outcome>) {
    let handle = run.handle();
    (handle, tokio::spawn(run.serve(pending::<Result<(), Infallible>>())))
}

async fn ended(serving: JoinHandle<Outcome>) -> Outcome {
    in_time(serving).await.expect("the run ends").expect("it does not panic")
}

#[tokio::test]
async fn no_number_of_reloads_hides_a_stop() {
    let run = run();
    let handle = run.handle();
    (0..1000).for_each(|_| handle.reload());
    handle.stop();
    handle.stop();
    let (_, serving) = serve(run);
    ended(serving).await.unwrap();
}

#[tokio::test]
async fn the_first_stop_drains_and_the_second_ends() {
    let drains = Arc::new(AtomicBool::new(false));
    let (seen, stopped) = (Arc::clone(&drains), Arc::new(AtomicBool::new(false)));
    let ends = Arc::clone(&stopped);
    let run = run()
        .on_drain(move || seen.store(true, Ordering::SeqCst))
        .on_stopped(move || ends.store(true, Ordering::SeqCst));
    let (handle, serving) = serve(run);
    handle.stop();
    until("the run drains", || drains.load(Ordering::SeqCst)).await;
    assert!(!stopped.load(Ordering::SeqCst) && !serving.is_finished(), "connections are open");
    handle.stop();
    ended(serving).await.unwrap();
    assert!(stopped.load(Ordering::SeqCst));
}

#[tokio::test]
async fn a_shutdown_during_the_first_start_answers_requests() {
    let (bridge, _starting) = launch();
    let (mut host, reader, writer) = JsonPeer::connected(1 << 20);
    let _serving = tokio::spawn(bridge.serve(Lines::new(reader, writer)));
    host.initialize("2025-11-25", json!({})).await;
    let waiting = [
        host.request("tools/list", json!({})).await,
        host.call("a").await,
        host.request("resources/list", json!({})).await,
    ];
    host.hears_nothing().await;
    in_time(bridge.shutdown()).await.expect("the bridge ends");
    for _ in waiting {
        let answer = host.next().await;
        assert!(waiting.iter().any(|id| answer["id"] == *id), "{answer}");
        assert_eq!(answer["error"]["message"], "the bridge is shutting down");
    }
    // A later request has the same answer.
    let id = host.request("tools/list", json!({})).await;
    assert_eq!(host.answer(id).await["error"]["message"], "the bridge is shutting down");
}

#[tokio::test]
async fn a_dropped_bridge_leaves_no_process_to_its_server() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let script = r#"echo "$$" >"$0"; exec sleep 3600"#;
    let command = Command::new("sh").arg("-c").arg(script).arg(file.path());
    let (stage, mut tool) = Stage::of_command(&command, |builder| builder).await;
    tool.handshake(vec![Tool::definition("a")]).await;
    let line = || std::fs::read_to_string(file.path()).unwrap();
    until("the process runs", || line().ends_with('\n')).await;
    let pid = Pid::from_raw(line().trim_end().parse().unwrap()).unwrap();
    let (mut host, reader, writer) = JsonPeer::connected(1 << 20);
    let _serving = tokio::spawn(stage.server().serve(Lines::new(reader, writer)));
    host.initialize("2025-11-25", json!({})).await;
    let id = host.call("a").await;
    tool.call().await;
    test_kill_process(pid).unwrap();
    drop(stage);
    tool.is_left().await;
    until("the process has ended", || test_kill_process(pid).is_err()).await;
    let (answer, _) = host.until(id).await;
    assert_eq!(error(&answer), ("SHUTTING_DOWN", true));
    let id = host.call("a").await;
    assert_eq!(error(&host.answer(id).await), ("SHUTTING_DOWN", true));
}

#[tokio::test]
async fn a_bridge_dropped_during_the_first_start_answers_requests() {
    let (bridge, _starting) = launch();
    let (mut host, reader, writer) = JsonPeer::connected(1 << 20);
    let _serving = tokio::spawn(bridge.serve(Lines::new(reader, writer)));
    host.initialize("2025-11-25", json!({})).await;
    let id = host.request("tools/list", json!({})).await;
    host.hears_nothing().await;
    drop(bridge);
    assert_eq!(host.answer(id).await["error"]["message"], "the bridge is shutting down");
}

#[tokio::test]
async fn a_start_that_fails_is_the_error_of_the_run() {
    let (bridge, starting) = Bridge::command(Command::new("false")).launch();
    let server = bridge.server();
    let connections = server.serve(protomcp_transport::memory::pair().1);
    let serving = Run::new(bridge, starting).serve(connections);
    let outcome = in_time(serving).await.expect("the run ends");
    let error = outcome.unwrap_err().to_string();
    assert!(error.starts_with("failed to start tool process: "), "{error}");
}
