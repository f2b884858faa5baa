//! Measures the client and the one of `rmcp` on the same server, and the gateway and a direct connection, and prints
//! tables.
//!
//! `cargo run --release -p protomcp-benches --bin clients -- [--rounds N] [--calls N]`
//!
//! The server of all rows is `rmcp`'s with a built-in tool, over pipes and over HTTP. The client libraries take turns
//! within each round, each in its own process; the processor time is the time of the client's process, or of the
//! gateway's.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use protomcp_benches::{Client, Figures, Measured, Programs, TEXT, WebClient, WebServer, cpu, flags, micros};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Calls in flight.
const WIDTHS: [usize; 2] = [1, 64];
const LIBRARIES: [&str; 2] = ["protomcp", "rmcp"];

fn main() -> Outcome<()> {
    let [rounds, calls] = flags([("--rounds", 5), ("--calls", 10_000)])?;
    let programs = Programs::build()?;
    clients(&programs, rounds, calls)?;
    gateway(&programs, rounds, calls)
}

/// Both client libraries, over both transports.
fn clients(programs: &Programs, rounds: usize, calls: usize) -> Outcome<()> {
    let mut all: BTreeMap<(&str, usize, &str), Figures> = BTreeMap::new();
    for _ in 0..rounds {
        let web = web_server(programs)?;
        let servers = [
            ("stdio", vec![programs.rmcp.display().to_string(), "--pipes".to_owned()]),
            ("HTTP", vec![format!("http://127.0.0.1:{}/mcp", web.port())]),
        ];
        for (transport, server) in &servers {
            for width in WIDTHS {
                for library in LIBRARIES {
                    let figures = all.entry((transport, width, library)).or_default();
                    let mut command = Command::new(&programs.caller);
                    command.arg(library).arg(calls.to_string()).arg(width.to_string()).args(server);
                    call(command, figures)?;
                }
            }
        }
    }
    let mut out = io::stdout();
    writeln!(
        out,
        "| clients, {rounds} rounds | in flight | calls/s | p50 / p99, µs | CPU of the client per call, µs |"
    )?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: |")?;
    for ((transport, width, library), figures) in &all {
        row(&mut out, &format!("{transport}, {library}"), *width, figures)?;
    }
    writeln!(out)?;
    Ok(())
}

/// Runs the program `caller` once, and reads its figures.
fn call(mut command: Command, figures: &mut Figures) -> Outcome<()> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
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

/// The gateway in comparison with a direct connection, with the same cheap client.
fn gateway(programs: &Programs, rounds: usize, calls: usize) -> Outcome<()> {
    let mut all: BTreeMap<(&str, usize), Figures> = BTreeMap::new();
    for _ in 0..rounds {
        let mut direct = Command::new(&programs.rmcp);
        direct.arg("--pipes");
        let mut command = Command::new(&programs.pmcp);
        command.arg("run").arg("--").arg(&programs.rmcp).arg("--pipes");
        for (name, command) in [("stdio, direct", direct), ("stdio, through the gateway", command)] {
            over_stdio(command, name, calls, &mut all)?;
        }
        let web = web_server(programs)?;
        let mut command = Command::new(&programs.pmcp);
        let url = format!("http://127.0.0.1:{}/mcp", web.port());
        command.args(["run", "--upstream", &url, "--transport", "http", "--port", "0"]);
        let before = WebServer::start(command)?;
        for (name, server) in [("HTTP, direct", &web), ("HTTP, through the gateway", &before)] {
            over_http(server, calls, all.entry((name, 1)).or_default())?;
        }
    }
    let mut out = io::stdout();
    writeln!(
        out,
        "| gateway, {rounds} rounds | in flight | calls/s | p50 / p99, µs | CPU of server or gateway per call, µs |"
    )?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: |")?;
    for ((name, width), figures) in &all {
        row(&mut out, name, *width, figures)?;
    }
    writeln!(out)?;
    Ok(())
}

fn over_stdio<'a>(
    mut command: Command,
    name: &'a str,
    calls: usize,
    all: &mut BTreeMap<(&'a str, usize), Figures>,
) -> Outcome<()> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut client = Client::new(command)?;
    client.handshake()?;
    client.many_in_flight(calls / 10 + 1, 64)?;
    let figures = all.entry((name, 1)).or_default();
    let before = cpu(client.pid());
    let mut samples = client.one_at_a_time(calls)?;
    let used = cpu(client.pid()).saturating_sub(before);
    push(figures, &mut samples, used)?;
    figures.burst.push(samples.iter().sum::<Duration>() / u32::try_from(samples.len())?);
    let figures = all.entry((name, 64)).or_default();
    let before = cpu(client.pid());
    let took = client.many_in_flight(calls, 64)?;
    let count = u32::try_from(calls)?;
    figures.burst.push(took / count);
    figures.cpu_many.push(cpu(client.pid()).saturating_sub(before) / count);
    Ok(())
}

fn over_http(server: &WebServer, calls: usize, figures: &mut Figures) -> Outcome<()> {
    let mut client = WebClient::open(server.port())?;
    for _ in 0..calls / 10 + 1 {
        client.call(TEXT)?;
    }
    let before = cpu(server.pid());
    let mut samples = (0..calls).map(|_| client.call(TEXT)).collect::<Result<Vec<_>, _>>()?;
    let used = cpu(server.pid()).saturating_sub(before);
    push(figures, &mut samples, used)?;
    figures.burst.push(samples.iter().sum::<Duration>() / u32::try_from(samples.len())?);
    Ok(())
}

fn push(figures: &mut Figures, samples: &mut [Duration], used: Duration) -> Outcome<()> {
    figures.cpu_many.push(used / u32::try_from(samples.len())?);
    samples.sort_unstable();
    figures.p50.push_share(samples, 0.5);
    figures.p99.push_share(samples, 0.99);
    Ok(())
}

fn web_server(programs: &Programs) -> Outcome<WebServer> {
    let mut command = Command::new(&programs.rmcp);
    command.arg("--http");
    Ok(WebServer::start(command)?)
}

fn row(out: &mut impl Write, name: &str, width: usize, figures: &Figures) -> io::Result<()> {
    let latency = |times: &Measured| if times.median().is_zero() { "–".to_owned() } else { micros(times.median()) };
    writeln!(
        out,
        "| {name} | {width} | {:.0} | {} / {} | {} |",
        1.0 / figures.burst.median().as_secs_f64().max(1e-9),
        latency(&figures.p50),
        latency(&figures.p99),
        micros(figures.cpu_many.median()),
    )
}
