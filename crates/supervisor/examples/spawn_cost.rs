//! The cost of a start, with and without a guardian: `cargo run --release --example spawn_cost`.
//!
//! Starts `true` again and again, one at a time, and prints the median and the 95th percentile of: the time until the
//! program was executed, from there until its end was reported (its own run time included), and the drop of a running
//! process.

#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};

use protomcp_supervisor::{Command, Event, Guardian, Process, SpawnError, StopPolicy, guardian};

const ROUNDS: usize = 300;

fn main() -> Result<(), SpawnError> {
    guardian::run_if_requested();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime needs no more than a few descriptors").block_on(measure())
}

async fn measure() -> Result<(), SpawnError> {
    for guardian in [Guardian::CurrentExe, Guardian::None] {
        let (mut start, mut end, mut drops) = (Vec::new(), Vec::new(), Vec::new());
        let quick = Command::new("/bin/true").guardian(guardian.clone());
        let slow = Command::new("/bin/sleep").arg("1000").guardian(guardian.clone());
        for _ in 0..ROUNDS {
            let began = Instant::now();
            let (_process, mut events) = Process::spawn(&quick, StopPolicy::default()).await?;
            start.push(began.elapsed());
            let began = Instant::now();
            while !matches!(events.recv().await, None | Some(Event::Exited(_))) {}
            end.push(began.elapsed());

            let (process, _events) = Process::spawn(&slow, StopPolicy::default()).await?;
            let began = Instant::now();
            drop(process);
            drops.push(began.elapsed());
        }
        println!("{guardian:?}: start {}, end {}, drop {}", summary(start), summary(end), summary(drops));
    }
    Ok(())
}

fn summary(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    format!("{:.0?} (p95 {:.0?})", times[times.len() / 2], times[times.len() * 95 / 100])
}
