//! Twice the load that a server admits, over HTTP and for the given time.
//!
//! A call takes 10 ms and 64 of them may run, so the capacity is known. Twice as many clients begin a call every 10 ms, or as
//! soon as their last one has ended. One more client lists the tools all the time. At the end three quarters of the clients
//! stop, and the load is half of the capacity.

use std::io;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::bench::{Bench, Outcome};
use crate::measurement::{Measurement, Metric, Row, micros, number};
use crate::parts::readings::{Run, settled};
use crate::subject::PMCP;
use crate::web::{WebClient, WebServer};

/// The name of this part.
pub const PART: &str = "overload";
/// The case of the lists.
pub const LISTS: &str = "tools/list at twice the capacity";
/// The case of the recovery.
pub const RECOVERY: &str = "from the end of the overload to the last refusal";

/// Calls that the server admits.
const ADMITTED: usize = 64;
/// Clients that overload it.
const CLIENTS: usize = 2 * ADMITTED;
/// Clients that go on after the overload.
const REMAINING: usize = ADMITTED / 2;
/// The duration of a call, and the time between two of a client.
const PACE: Duration = Duration::from_millis(10);
/// The time that the remaining clients go on.
const AFTERWARDS: Duration = Duration::from_secs(5);

const CALL: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sleep_ms","arguments":{"ms":10}}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

#[derive(Debug, Default)]
struct Load {
    done: AtomicU64,
    refused: AtomicU64,
    eases: AtomicBool,
    stop: AtomicBool,
}

/// Overloads `pmcp`, reads its memory, and lets the load ease.
///
/// # Errors
///
/// If a call ends with anything but its result or `OVERLOADED`, if no call was refused, or if the second half of the run takes
/// 5 % more memory than the first.
pub fn round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    let mut command = Command::new(&bench.programs.pmcp);
    command.arg("run").arg(&bench.programs.tool);
    command.args(["--transport", "http", "--port", "0", "--max-calls", &ADMITTED.to_string()]);
    let server = WebServer::start(command)?;
    let (load, port) = (Arc::new(Load::default()), server.port());
    let callers: Vec<_> = (0..CLIENTS).map(|number| spawn(&load, move |load| caller(port, number, load))).collect();
    let lists = spawn(&load, move |load| lister(port, load));

    let start = Instant::now();
    let run = Run { part: PART, minutes: bench.options.minutes, calls: &load.done };
    let seen = run.read(&server, || callers.iter().any(JoinHandle::is_finished), out)?;
    for (case, count) in [("calls done", &load.done), ("calls refused", &load.refused)] {
        let rate = number(usize::try_from(count.load(Ordering::Relaxed))?) / start.elapsed().as_secs_f64();
        out.add(Row::new(PART, case, PMCP).with(Metric::PerSecond, rate));
    }
    let eased = Instant::now();
    load.eases.store(true, Ordering::Relaxed);
    let listed = joined(lists)?;
    out.add(Row::new(PART, LISTS, PMCP).timed(listed));

    thread::sleep(AFTERWARDS);
    load.stop.store(true, Ordering::Relaxed);
    let mut last = eased;
    for caller in callers {
        last = last.max(joined(caller)?.unwrap_or(eased));
    }
    out.add(Row::new(PART, RECOVERY, PMCP).with(Metric::TotalMs, micros(last - eased) / 1e3));
    if load.refused.load(Ordering::Relaxed) == 0 {
        return Err("no call was refused, so the load was too small".into());
    }
    settled(&seen)
}

fn spawn<T: Send + 'static>(
    load: &Arc<Load>,
    run: impl FnOnce(&Load) -> io::Result<T> + Send + 'static,
) -> JoinHandle<io::Result<T>> {
    let load = Arc::clone(load);
    thread::spawn(move || run(&load))
}

fn joined<T>(thread: JoinHandle<io::Result<T>>) -> Outcome<T> {
    Ok(thread.join().map_err(|_| "a client panicked")?.map_err(|error| format!("a client failed: {error}"))?)
}

/// Calls until the end, or until the load eases; returns the time of the last refusal.
fn caller(port: u16, number: usize, load: &Load) -> io::Result<Option<Instant>> {
    let mut client = WebClient::open(port)?;
    let (mut next, mut last) = (Instant::now(), None);
    while !load.stop.load(Ordering::Relaxed) && (number < REMAINING || !load.eases.load(Ordering::Relaxed)) {
        let reply = client.post(CALL)?;
        let says = |text| client.response_contains(text);
        match reply.status {
            200 if says("slept 10 ms") => load.done.fetch_add(1, Ordering::Relaxed),
            200 if says("OVERLOADED") => {
                last = Some(Instant::now());
                load.refused.fetch_add(1, Ordering::Relaxed)
            }
            _ => return Err(io::Error::other(format!("neither a result nor a refusal: {reply:?}"))),
        };
        next = (next + PACE).max(Instant::now());
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(last)
}

/// Lists the tools until the load eases; returns the durations.
fn lister(port: u16, load: &Load) -> io::Result<Vec<Duration>> {
    let mut client = WebClient::open(port)?;
    let mut samples = Vec::new();
    while !load.eases.load(Ordering::Relaxed) {
        let start = Instant::now();
        let reply = client.post(LIST)?;
        samples.push(start.elapsed());
        if reply.status != 200 || !client.response_contains("sleep_ms") {
            return Err(io::Error::other(format!("no list: {reply:?}")));
        }
        thread::sleep(PACE);
    }
    Ok(samples)
}
