//! Measures `pmcp` in proto-mcp and in JSON-RPC, over pipes and TCP, with the same tool process and the same calls;
//! then both protocols in the client. Prints tables.
//!
//! `cargo run --release -p protomcp-benches --bin protocols -- [--rounds N] [--calls N]`
//!
//! The protocols take turns within each round. In the first table the client is a cheap one, and the processor time is
//! the server's; in the second one the server is `pmcp`, and the time is the time of the client's process.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use protomcp_benches::{Figures, Measured, Programs, Protocol, ProtocolClient, WebServer, cpu, flags, micros};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Calls in flight.
const WIDTH: usize = 64;
const PROTOCOLS: [Protocol; 2] = [Protocol::Json, Protocol::Proto];

/// The figures of one row.
#[derive(Default)]
struct Row {
    figures: Figures,
    /// Bytes of a call and its answer.
    bytes: u64,
}

fn main() -> Outcome<()> {
    let [rounds, calls] = flags([("--rounds", 5), ("--calls", 4_000)])?;
    let programs = Programs::build()?;
    servers(&programs, rounds, calls)?;
    clients(&programs, rounds, calls)
}

/// `pmcp` as the server of both protocols.
fn servers(programs: &Programs, rounds: usize, calls: usize) -> Outcome<()> {
    let mut rows: BTreeMap<(&str, Protocol), Row> = BTreeMap::new();
    for _ in 0..rounds {
        for protocol in PROTOCOLS {
            over_pipes(programs, protocol, calls, rows.entry(("stdio", protocol)).or_default())?;
        }
        let server = listen(programs)?;
        for protocol in PROTOCOLS {
            let stream = TcpStream::connect(("127.0.0.1", server.port()))?;
            stream.set_nodelay(true)?;
            let row = rows.entry(("TCP", protocol)).or_default();
            measure(server.pid(), ProtocolClient::open(stream.try_clone()?, stream, protocol)?, calls, row)?;
        }
    }
    let mut out = io::stdout();
    writeln!(
        out,
        "| server, {rounds} rounds of {calls} calls | bytes per call and answer | p50 / p99, µs | CPU per call, µs | \
         {WIDTH} in flight, calls/s | CPU per call, µs |"
    )?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: | ---: |")?;
    for ((transport, protocol), Row { figures, bytes }) in &rows {
        writeln!(
            out,
            "| {transport}, {} | {bytes} | {} / {} | {} | {} | {} |",
            name(*protocol),
            micros(figures.p50.median()),
            micros(figures.p99.median()),
            micros(figures.cpu_single.median()),
            per_second(&figures.burst),
            micros(figures.cpu_many.median()),
        )?;
    }
    writeln!(out)?;
    Ok(())
}

fn over_pipes(programs: &Programs, protocol: Protocol, calls: usize, row: &mut Row) -> Outcome<()> {
    let mut command = Command::new(&programs.pmcp);
    command.arg("run").arg(&programs.tool).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Killed(command.spawn()?);
    let missing = "both streams are to be piped";
    let (stdin, stdout) = (server.0.stdin.take().ok_or(missing)?, server.0.stdout.take().ok_or(missing)?);
    measure(server.0.id(), ProtocolClient::open(stdout, stdin, protocol)?, calls, row)
}

/// A process that ends with its value.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // Both fail if it has already ended, which is fine.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn listen(programs: &Programs) -> Outcome<WebServer> {
    let mut command = Command::new(&programs.pmcp);
    command.arg("run").arg(&programs.tool).args(["--transport", "tcp", "--port", "0"]);
    Ok(WebServer::start(command)?)
}

fn measure<R: Read, W: Write>(pid: u32, mut client: ProtocolClient<R, W>, calls: usize, row: &mut Row) -> Outcome<()> {
    let count = u32::try_from(calls)?;
    client.many_in_flight(calls / 10 + 1, WIDTH)?;
    let (before, bytes) = (cpu(pid), client.bytes());
    let mut samples = client.one_at_a_time(calls)?;
    row.figures.cpu_single.push(cpu(pid).saturating_sub(before) / count);
    row.bytes = (client.bytes() - bytes) / u64::from(count);
    samples.sort_unstable();
    row.figures.p50.push_share(&samples, 0.5);
    row.figures.p99.push_share(&samples, 0.99);
    let before = cpu(pid);
    let took = client.many_in_flight(calls, WIDTH)?;
    row.figures.burst.push(took / count);
    row.figures.cpu_many.push(cpu(pid).saturating_sub(before) / count);
    Ok(())
}

/// The client of both protocols.
fn clients(programs: &Programs, rounds: usize, calls: usize) -> Outcome<()> {
    let mut rows: BTreeMap<(&str, usize, &str), Figures> = BTreeMap::new();
    let pipes = vec![programs.pmcp.display().to_string(), "run".to_owned(), programs.tool.display().to_string()];
    for _ in 0..rounds {
        let server = listen(programs)?;
        let address = vec![format!("proto://127.0.0.1:{}", server.port())];
        for width in [1, WIDTH] {
            for (transport, library, words) in [
                ("stdio", "protomcp", &pipes),
                ("stdio", "proto-mcp", &pipes),
                ("TCP", "protomcp", &address),
                ("TCP", "proto-mcp", &address),
            ] {
                let mut command = Command::new(&programs.caller);
                command.arg(library).arg(calls.to_string()).arg(width.to_string()).args(words);
                call(command, rows.entry((transport, width, library)).or_default())?;
            }
        }
    }
    let mut out = io::stdout();
    writeln!(
        out,
        "| client, {rounds} rounds of {calls} calls | in flight | calls/s | p50 / p99, µs | CPU of the client per call, µs |"
    )?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: |")?;
    for ((transport, width, library), figures) in &rows {
        let protocol = if *library == "proto-mcp" { Protocol::Proto } else { Protocol::Json };
        writeln!(
            out,
            "| {transport}, {} | {width} | {} | {} / {} | {} |",
            name(protocol),
            per_second(&figures.burst),
            micros(figures.p50.median()),
            micros(figures.p99.median()),
            micros(figures.cpu_many.median()),
        )?;
    }
    writeln!(out)?;
    Ok(())
}

/// Runs the program `caller` once, and reads its figures.
fn call(mut command: Command, figures: &mut Figures) -> Outcome<()> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let values: Vec<u64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [count, took, p50, p99, used] = values[..] else {
        return Err(format!("{command:?}: {}, {text:?}", output.status).into());
    };
    figures.burst.push(Duration::from_nanos(took / count));
    figures.p50.push(Duration::from_nanos(p50));
    figures.p99.push(Duration::from_nanos(p99));
    figures.cpu_many.push(Duration::from_nanos(used / count));
    Ok(())
}

fn name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Json => "JSON-RPC",
        Protocol::Proto => "proto-mcp",
    }
}

fn per_second(each: &Measured) -> String {
    format!("{:.0}", 1.0 / each.median().as_secs_f64().max(1e-9))
}
