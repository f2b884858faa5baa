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

use crate::bench::{Bench, Outcome};
use crate::measurement::Measurement;
use crate::parts::readings::{Run, settled};
use crate::web::{WebClient, WebServer};

/// The name of this part.
pub const PART: &str = "load";

/// Concurrent clients.
const HOSTS: u64 = 16;

#[derive(Debug, Default)]
struct Count {
    calls: AtomicU64,
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

    let run = Run { part: PART, minutes: bench.options.minutes, calls: &count.calls };
    let seen = run.read(&server, || threads.iter().any(thread::JoinHandle::is_finished), out)?;
    count.stop.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().map_err(|_| "a host panicked")?.map_err(|error| format!("a host failed: {error}"))?;
    }
    settled(&seen)
}

/// Runs one client until the end.
fn host(port: u16, mut dice: Dice, count: &Count) -> io::Result<()> {
    let large = "x".repeat(100_000);
    while !count.stop.load(Ordering::Relaxed) {
        let mut client = WebClient::open(port)?;
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
