//! Measures `pmcp` over HTTP and an `rmcp` server with a built-in tool, measures the cost of sessions, and prints
//! tables.
//!
//! `cargo run --release -p protomcp-benches --bin http -- [--rounds N] [--calls N] [--cycles N]`
//!
//! Both servers take turns within each round, and set `TCP_NODELAY`; so does another build of `pmcp` whose path is in
//! `PMCP_OTHER`. A client is a thread with its own connection and makes one call after the other: in a session, or, to
//! `pmcp`, as requests without one (MCP 2026-07-28). A cycle opens 10,000 sessions, leaves them idle, and measures
//! memory again after they have expired.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use protomcp_benches::{Figures, Programs, WebClient, WebServer, cpu, flags, memory, micros};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Connects one client.
type Connect = fn(u16) -> io::Result<WebClient>;

/// Concurrent clients.
const WIDTHS: [usize; 3] = [1, 16, 64];
/// Sessions of one cycle: the maximum that `pmcp` allows.
const SESSIONS: usize = 10_000;
/// The idle timeout of a session: longer than it takes to open all of them.
const IDLE: Duration = Duration::from_secs(30);
const TEXT: &str =
    "some words that make this call about as long as calls usually are, a few hundred bytes with what is around it";

fn main() -> Outcome<()> {
    let [rounds, calls, cycles] = flags([("--rounds", 5), ("--calls", 20_000), ("--cycles", 3)])?;
    let programs = Programs::build()?;
    if rounds > 0 {
        compare(&programs, rounds, calls)?;
    }
    if cycles > 0 { sessions(&programs, cycles) } else { Ok(()) }
}

fn pmcp(program: &Path, programs: &Programs, flags: &[&str]) -> Outcome<WebServer> {
    let mut command = Command::new(program);
    command.arg("run").arg(&programs.tool).args(["--transport", "http", "--port", "0"]).args(flags);
    Ok(WebServer::start(command)?)
}

fn rmcp(programs: &Programs) -> Outcome<WebServer> {
    let mut command = Command::new(&programs.rmcp);
    command.arg("--http");
    Ok(WebServer::start(command)?)
}

fn compare(programs: &Programs, rounds: usize, calls: usize) -> Outcome<()> {
    let mut all: BTreeMap<(usize, &str), Figures> = BTreeMap::new();
    for _ in 0..rounds {
        let other = programs.other.as_ref().map(|other| pmcp(other, programs, &[])).transpose()?;
        let (pmcp, rmcp) = (pmcp(&programs.pmcp, programs, &[])?, rmcp(programs)?);
        let mut subjects: Vec<(&str, &WebServer, Connect)> = vec![
            ("pmcp", &pmcp, WebClient::open),
            ("pmcp, stateless", &pmcp, WebClient::stateless),
            ("rmcp in-process", &rmcp, WebClient::open),
        ];
        if let Some(other) = &other {
            subjects.push(("pmcp, other build", other, WebClient::open));
            subjects.push(("pmcp, other build, stateless", other, WebClient::stateless));
        }
        for (name, server, connect) in subjects {
            for width in WIDTHS {
                round(server, connect, width, calls, all.entry((width, name)).or_default())?;
            }
        }
    }
    let mut out = io::stdout();
    writeln!(out, "| HTTP, {rounds} rounds | clients | calls/s | p50 / p99, µs | CPU per call, µs |")?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: |")?;
    for ((width, name), figures) in &all {
        writeln!(
            out,
            "| {name} | {width} | {:.0} | {} / {} | {} |",
            1.0 / figures.burst.median().as_secs_f64().max(1e-9),
            micros(figures.p50.median()),
            micros(figures.p99.median()),
            micros(figures.cpu_many.median()),
        )?;
    }
    writeln!(out)?;
    Ok(())
}

/// Makes `calls` calls in total, spread over `width` clients.
fn round(server: &WebServer, connect: Connect, width: usize, calls: usize, figures: &mut Figures) -> Outcome<()> {
    let clients: Result<Vec<_>, _> = (0..width).map(|_| connect(server.port())).collect();
    let mut clients = clients?;
    for client in &mut clients {
        for _ in 0..calls / width / 10 + 1 {
            client.call(TEXT)?;
        }
    }
    let (before, start) = (cpu(server.pid()), Instant::now());
    let threads: Vec<_> = clients
        .into_iter()
        .map(|mut client| {
            thread::spawn(move || (0..calls / width).map(|_| client.call(TEXT)).collect::<Result<Vec<_>, _>>())
        })
        .collect();
    let mut samples = Vec::with_capacity(calls);
    for thread in threads {
        samples.extend(thread.join().map_err(|_| "a client panicked")??);
    }
    let took = start.elapsed();
    let count = u32::try_from(samples.len())?;
    figures.cpu_many.push(cpu(server.pid()).saturating_sub(before) / count);
    figures.burst.push(took / count);
    samples.sort_unstable();
    figures.p50.push_share(&samples, 0.5);
    figures.p99.push_share(&samples, 0.99);
    Ok(())
}

/// Measures the memory of open sessions over several cycles: memory must not grow from one cycle to the next.
fn sessions(programs: &Programs, cycles: usize) -> Outcome<()> {
    let idle = format!("{}s", IDLE.as_secs());
    let server = pmcp(&programs.pmcp, programs, &["--session-idle", &idle])?;
    let mut client = WebClient::open(server.port())?;
    client.call(TEXT)?;
    let mut out = io::stdout();
    writeln!(out, "| {SESSIONS} sessions opened and left alone | open, MB | gone, MB | each, kB |")?;
    writeln!(out, "| --- | ---: | ---: | ---: |")?;
    for cycle in 1..=cycles {
        let before = memory(server.pid());
        let mut connection = WebClient::connect(server.port())?;
        let mut ends = Vec::new();
        // `client` already holds one session.
        for number in 1..SESSIONS {
            let session = connection.initialize()?;
            if number == 1 || number + 1 == SESSIONS {
                ends.push(session.to_owned());
            }
        }
        let open = memory(server.pid());
        // A request to a session would reset its expiry, so the sessions are left alone. `client` keeps making calls in
        // this time, so that its own session does not expire.
        let until = Instant::now() + IDLE + IDLE / 3;
        while Instant::now() < until {
            client.call(TEXT)?;
            thread::sleep(IDLE / 10);
        }
        let gone = memory(server.pid());
        for session in ends {
            let mut late = WebClient::connect(server.port())?;
            late.resume(&session);
            let reply = late.post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)?;
            if reply.status != 404 {
                return Err(format!("a session that should be gone answers with {}", reply.status).into());
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "memory in kB is far below 2^52")]
        let each = open.saturating_sub(before) as f64 / SESSIONS as f64;
        writeln!(out, "| cycle {cycle} | {:.1} | {:.1} | {each:.1} |", megabytes(open), megabytes(gone))?;
    }
    writeln!(out)?;
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "memory in kB is far below 2^52")]
fn megabytes(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1000.0
}
