//! The serving loop: stops, reloads and a start that fails.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use protomcp_bridge::{Bridge, Command, Run, RunError, RunHandle, StopPolicy};
use protomcp_testing::{in_time, until};
use tokio::task::JoinHandle;

type Outcome = Result<(), RunError<Infallible>>;

/// A run of a program that never connects.
fn run() -> Run {
    let policy = StopPolicy { close: Duration::from_millis(10), ..StopPolicy::default() };
    let (bridge, starting) = Bridge::command(Command::new("sleep").arg("3600")).stop_policy(policy).launch();
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
async fn a_start_that_fails_is_the_error_of_the_run() {
    let (bridge, starting) = Bridge::command(Command::new("false")).launch();
    let server = bridge.server();
    let connections = server.serve(protomcp_transport::memory::pair().1);
    let serving = Run::new(bridge, starting).serve(connections);
    let outcome = in_time(serving).await.expect("the run ends");
    let error = outcome.unwrap_err().to_string();
    assert!(error.starts_with("failed to start tool process: "), "{error}");
}
