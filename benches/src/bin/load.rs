//! Loads `pmcp` over HTTP with well-behaved and badly behaved clients for the given time, and watches its memory.
//!
//! `cargo run --release -p protomcp-benches --bin load -- [--minutes N] [--hosts N]`
//!
//! Each client opens a session and does a random number of things: small calls, calls of 100 kB, lists, a stream that
//! it cuts, a request that it does not finish, a call whose answer it does not read. Then it ends or abandons the
//! session. A wrong answer ends the run with status 1, and so does memory that grows after the load has settled.

use std::error::Error;
use std::io::{self, Write};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use protomcp_benches::{Programs, WebClient, WebServer, flags, memory, peak};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Rows of the table.
const ROWS: u32 = 12;

#[derive(Debug, Default)]
struct Count {
    calls: AtomicU64,
    sessions: AtomicU64,
    stop: AtomicBool,
}

fn main() -> Outcome<()> {
    let [minutes, hosts] = flags([("--minutes", 30), ("--hosts", 16)])?;
    let programs = Programs::build()?;
    let mut command = Command::new(&programs.pmcp);
    command.arg("run").arg(&programs.tool).args(["--transport", "http", "--port", "0", "--session-idle", "20s"]);
    let server = WebServer::start(command)?;
    let count = Arc::new(Count::default());
    let threads: Vec<_> = (1..=u64::try_from(hosts)?)
        .map(|number| {
            let (count, port) = (Arc::clone(&count), server.port());
            thread::spawn(move || host(port, Dice(0x9E37_79B9_7F4A_7C15 ^ number), &count))
        })
        .collect();

    let mut out = io::stdout();
    writeln!(out, "| after, min | calls | sessions | memory, MB |")?;
    writeln!(out, "| ---: | ---: | ---: | ---: |")?;
    let (start, step) = (Instant::now(), Duration::from_secs(60 * u64::try_from(minutes)?) / ROWS);
    let mut seen = Vec::new();
    for row in 1..=ROWS {
        thread::sleep((start + step * row).saturating_duration_since(Instant::now()));
        if threads.iter().any(thread::JoinHandle::is_finished) {
            break;
        }
        seen.push(memory(server.pid()));
        writeln!(
            out,
            "| {:.1} | {} | {} | {:.1} |",
            start.elapsed().as_secs_f64() / 60.0,
            count.calls.load(Ordering::Relaxed),
            count.sessions.load(Ordering::Relaxed),
            megabytes(*seen.last().unwrap_or(&0))
        )?;
    }
    count.stop.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().map_err(|_| "a host panicked")?.map_err(|error| format!("a host failed: {error}"))?;
    }
    writeln!(out, "\npeak {:.1} MB", megabytes(peak(server.pid())))?;
    let (early, late) = seen.split_at(seen.len() / 2);
    let most = |part: &[u64]| part.iter().copied().max().unwrap_or(0);
    writeln!(
        out,
        "most in the first half {:.1} MB, in the second {:.1} MB",
        megabytes(most(early)),
        megabytes(most(late))
    )?;
    if most(late) * 100 > most(early) * 105 {
        return Err("memory grew by more than 5 % from the first half of the run to the second".into());
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

#[expect(clippy::cast_precision_loss, reason = "memory in kB is far below 2^52")]
fn megabytes(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1000.0
}
