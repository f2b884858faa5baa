//! Starts, ends and restarts a process, with and without the guardian.
//!
//! `/bin/true` ends by itself and `cat` waits for input. Neither costs much, so the supervisor's share dominates.

use divan::Bencher;
use protomcp_supervisor::{Command, Event, Guardian, Process, StopPolicy, guardian};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::Receiver;

const GUARDED: [bool; 2] = [true, false];

fn main() {
    guardian::run_if_requested();
    divan::main();
}

fn command(program: &str, args: &[&str], guarded: bool) -> Command {
    let guardian = if guarded { Guardian::CurrentExe } else { Guardian::None };
    Command::new(program).args(args.iter().copied()).guardian(guardian)
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

/// From the request to a running process. Ending the process is not measured.
#[divan::bench(args = GUARDED, sample_count = 50)]
fn spawn_to_started(bencher: Bencher<'_, '_>, guarded: bool) {
    let runtime = runtime();
    let command = command("sleep", &["600"], guarded);
    bencher.bench_local(|| runtime.block_on(start(&command)));
}

/// From the request to the exit report of a process that ends immediately.
#[divan::bench(args = GUARDED, sample_count = 50)]
fn spawn_to_exit_reported(bencher: Bencher<'_, '_>, guarded: bool) {
    let runtime = runtime();
    let command = command("true", &[], guarded);
    bencher.bench_local(|| {
        runtime.block_on(async {
            let (_process, events) = start(&command).await;
            ended(events).await;
        });
    });
}

/// Kills a process, waits for the report, and starts its successor.
#[divan::bench(args = GUARDED, sample_count = 50)]
fn kill_to_restarted(bencher: Bencher<'_, '_>, guarded: bool) {
    let runtime = runtime();
    let command = command("sleep", &["600"], guarded);
    bencher.with_inputs(|| runtime.block_on(start(&command))).bench_local_values(|(process, events)| {
        runtime.block_on(async {
            process.kill();
            ended(events).await;
            start(&command).await
        })
    });
}

async fn start(command: &Command) -> (Process, Receiver<Event>) {
    let (process, mut events) = Process::spawn(command, StopPolicy::default()).await.expect("the program is there");
    while let Some(event) = events.recv().await {
        if matches!(event, Event::Started { .. }) {
            break;
        }
    }
    (process, events)
}

async fn ended(mut events: Receiver<Event>) {
    while let Some(event) = events.recv().await {
        if matches!(event, Event::Exited(_)) {
            return;
        }
    }
}
