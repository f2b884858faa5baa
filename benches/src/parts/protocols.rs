//! `pmcp` in proto-mcp and in JSON-RPC, over pipes and TCP, with the same tool process and the same calls.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::bench::{Bench, Outcome, WIDTH};
use crate::measurement::{Measurement, Meter, Metric, Row, number};
use crate::protocol_client::{Protocol, ProtocolClient};
use crate::web::WebServer;

/// The name of this part.
pub const PART: &str = "protocols";

/// The usual protocol.
pub const JSON: &str = "JSON-RPC";
/// The binary protocol.
pub const PROTO: &str = "proto-mcp";

const PROTOCOLS: [(Protocol, &str); 2] = [(Protocol::Json, JSON), (Protocol::Proto, PROTO)];

/// A case: the carrier, one call at a time or many, and the protocol.
pub fn case(carrier: &str, calls: &str, protocol: &str) -> String {
    format!("{carrier}, {calls}, {protocol}")
}

/// Measures both protocols of each bridge, in turn.
///
/// # Errors
///
/// If a program cannot be started, or an answer is wrong.
pub fn round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    for ((name, mut command), (protocol, spoken)) in both(bench) {
        command.arg("run").arg(&bench.programs.tool);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = Killed(command.spawn()?);
        let missing = "both streams are to be piped";
        let (stdin, stdout) = (server.0.stdin.take().ok_or(missing)?, server.0.stdout.take().ok_or(missing)?);
        let client = ProtocolClient::open(stdout, stdin, protocol)?;
        let row = |calls: &str| Row::new(PART, case("stdio", calls, spoken), name);
        measure(server.0.id(), client, bench.options.calls, row)?.into_iter().for_each(|row| out.add(row));
    }
    for ((name, command), (protocol, spoken)) in both(bench) {
        let server = listen(bench, command)?;
        let stream = TcpStream::connect(("127.0.0.1", server.port()))?;
        stream.set_nodelay(true)?;
        let client = ProtocolClient::open(stream.try_clone()?, stream, protocol)?;
        let row = |calls: &str| Row::new(PART, case("TCP", calls, spoken), name);
        measure(server.pid(), client, bench.options.calls, row)?.into_iter().for_each(|row| out.add(row));
    }
    Ok(())
}

/// Each bridge with each protocol.
fn both(bench: &Bench) -> impl Iterator<Item = ((&str, Command), (Protocol, &'static str))> {
    PROTOCOLS.into_iter().flat_map(move |spoken| bench.bridges().map(move |bridge| (bridge, spoken)))
}

/// Starts a bridge over TCP, where it speaks both protocols.
///
/// # Errors
///
/// If it cannot be started.
pub fn listen(bench: &Bench, mut command: Command) -> Outcome<WebServer> {
    command.arg("run").arg(&bench.programs.tool).args(["--transport", "tcp", "--port", "0"]);
    Ok(WebServer::start(command)?)
}

fn measure<R: Read, W: Write>(
    pid: u32,
    mut client: ProtocolClient<R, W>,
    calls: usize,
    row: impl Fn(&str) -> Row,
) -> Outcome<[Row; 2]> {
    client.many_in_flight(calls / 10 + 1, WIDTH)?;
    let (meter, before) = (Meter::new(pid), client.bytes());
    let samples = client.one_at_a_time(calls)?;
    let single = row("one at a time").spent(&meter.read(), calls).timed(samples);
    let bytes = number(usize::try_from(client.bytes() - before)?) / number(calls.max(1));
    let meter = Meter::new(pid);
    let samples = client.many_in_flight(calls, WIDTH)?;
    let many = row(&format!("{WIDTH} in flight")).spent(&meter.read(), calls).timed(samples);
    Ok([single.with(Metric::Bytes, bytes), many])
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
