//! A mixed load over HTTP by well-behaved and badly behaved clients, for the given time.
//!
//! Each client opens a session and does a random number of things: small calls, calls of 100 kB, lists, a stream that
//! it cuts, a request that it does not finish, a call whose answer it does not read. Then it ends or abandons the
//! session. A wrong answer ends the run, and so does memory that grows after the load has settled.

use std::io;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::bench::{Bench, Outcome, note};
use crate::measurement::{Measurement, Metric, Row, number};
use crate::process::{memory, peak};
use crate::subject::PMCP;
use crate::web::{WebClient, WebServer};

/// The name of this part.
pub const PART: &str = "load";

/// Rows of the table.
const ROWS: u32 = 12;
/// Concurrent clients.
const HOSTS: u64 = 16;

#[derive(Debug, Default)]
struct Count {
    calls: AtomicU64,
    sessions: AtomicU64,
    stop: AtomicBool,
}

/// Loads `pmcp` and reads its memory twelve times.
///
/// # Errors
///
/// If an answer is wrong, or the second half of the run takes 5 % more memory than the first.
pub fn round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    let mut command = Command::new(&bench.programs.pmcp);
    command.arg("run").arg(&bench.programs.tool);
    command.args(["--transport", "http", "--port", "0", "--session-idle", "20s"]);
    let server = WebServer::start(command)?;
    let count = Arc::new(Count::default());
    let threads: Vec<_> = (1..=HOSTS)
        .map(|number| {
            let (count, port) = (Arc::clone(&count), server.port());
            thread::spawn(move || host(port, Dice(0x9E37_79B9_7F4A_7C15 ^ number), &count))
        })
        .collect();

    let whole = Duration::from_secs(60 * u64::try_from(bench.options.minutes)?);
    let (start, mut seen) = (Instant::now(), Vec::new());
    for row in 1..=ROWS {
        thread::sleep((start + whole / ROWS * row).saturating_duration_since(Instant::now()));
        if threads.iter().any(thread::JoinHandle::is_finished) {
            break;
        }
        seen.push(memory(server.pid()));
        let calls = usize::try_from(count.calls.load(Ordering::Relaxed))?;
        let rate = number(calls) / start.elapsed().as_secs_f64();
        let case = format!("after {:.1} min", start.elapsed().as_secs_f64() / 60.0);
        let sessions = count.sessions.load(Ordering::Relaxed);
        note(&format!("load: {case}, {calls} calls in {sessions} sessions, {:.1} MB", memory(server.pid())));
        let row = Row::new(PART, case, PMCP).with(Metric::PerSecond, rate);
        out.add(row.with(Metric::MemoryMb, memory(server.pid())).with(Metric::PeakMb, peak(server.pid())));
    }
    count.stop.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().map_err(|_| "a host panicked")?.map_err(|error| format!("a host failed: {error}"))?;
    }
    settled(&seen)
}

/// An error if the second half of the readings exceeds the first.
fn settled(seen: &[f64]) -> Outcome<()> {
    let (early, late) = seen.split_at(seen.len() / 2);
    let [early, late] = [early, late].map(|part| part.iter().copied().fold(0.0, f64::max));
    if late > early * 1.05 {
        return Err(format!("memory grew from {early:.1} MB in the first half of the run to {late:.1} MB").into());
    }
    Ok(())
}

/// Runs one client until the end.
fn host(port: u16, mut dice: Dice, count: &Count) -> io::Result<()> {
    let large = "x".repeat(100_000);
    while !count.stop.load(Ordering::Relaxed) {
        let mut client = WebClient::open(port)?;
        count.sessions.fetch_add(1, Ordering::Relaxed);
        for _ in 0..dice.below(40) {
            let text = if dice.below(20) == 0 { large.as_str() } else { "a few words" };
            client.call(text)?;
            count.calls.fetch_add(1, Ordering::Relaxed);
        }
        match dice.below(6) {
            0 => {
                let listed = client.post(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#)?;
                expect(listed.status, 200)?;
            }
            // Opens a stream and cuts it.
            1 => client.send("GET", "")?,
            // Makes a call and does not read the answer.
            2 => client.send("POST", &call(&large))?,
            // Leaves a request unfinished: the head announces more bytes than are sent.
            3 => {
                let text = call("half");
                client.send("POST", &text)?;
                client.reply()?;
                client.send_part("POST", &text, text.len() / 2)?;
            }
            _ => {}
        }
        if dice.below(2) == 0 {
            let mut ending = WebClient::connect(port)?;
            ending.resume(client.session());
            ending.send("DELETE", "")?;
            expect(ending.reply()?.status, 204)?;
        }
    }
    Ok(())
}

fn call(text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}}}}}}"#
    )
}

fn expect(status: u16, wanted: u16) -> io::Result<()> {
    if status == wanted { Ok(()) } else { Err(io::Error::other(format!("status {status} instead of {wanted}"))) }
}

/// A pseudo-random generator that yields the same numbers in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_an_error() {
        assert!(settled(&[70.0, 80.0, 81.0, 80.0]).is_ok());
        let error = settled(&[70.0, 80.0, 85.0, 80.0]).unwrap_err().to_string();
        assert_eq!(error, "memory grew from 80.0 MB in the first half of the run to 85.0 MB");
    }
}
