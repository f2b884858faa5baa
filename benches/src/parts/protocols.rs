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

/// The protocols, and the subjects that speak them.
pub const PROTOCOLS: [(Protocol, &str); 2] = [(Protocol::Json, "pmcp, JSON-RPC"), (Protocol::Proto, "pmcp, proto-mcp")];

/// Measures both protocols, in turn.
///
/// # Errors
///
/// If a program cannot be started, or an answer is wrong.
pub fn round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    for (protocol, subject) in PROTOCOLS {
        let mut command = Command::new(&bench.programs.pmcp);
        command.arg("run").arg(&bench.programs.tool);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = Killed(command.spawn()?);
        let missing = "both streams are to be piped";
        let (stdin, stdout) = (server.0.stdin.take().ok_or(missing)?, server.0.stdout.take().ok_or(missing)?);
        let client = ProtocolClient::open(stdout, stdin, protocol)?;
        let row = |case: &str| Row::new(PART, format!("stdio, {case}"), subject);
        measure(server.0.id(), client, bench.options.calls, row)?.into_iter().for_each(|row| out.add(row));
    }
    let server = listen(bench)?;
    for (protocol, subject) in PROTOCOLS {
        let stream = TcpStream::connect(("127.0.0.1", server.port()))?;
        stream.set_nodelay(true)?;
        let client = ProtocolClient::open(stream.try_clone()?, stream, protocol)?;
        let row = |case: &str| Row::new(PART, format!("TCP, {case}"), subject);
        measure(server.pid(), client, bench.options.calls, row)?.into_iter().for_each(|row| out.add(row));
    }
    Ok(())
}

/// Starts `pmcp` over TCP, where it speaks both protocols.
///
/// # Errors
///
/// If it cannot be started.
pub fn listen(bench: &Bench) -> Outcome<WebServer> {
    let mut command = Command::new(&bench.programs.pmcp);
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
