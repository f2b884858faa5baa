//! The gateway in front of an `rmcp` server, compared with a direct connection, with the same cheap client. The
//! processor time is the server's, or the gateway's.

use std::process::Command;

use crate::bench::{Bench, Outcome};
use crate::client::Client;
use crate::measurement::{Measurement, Meter, Row};
use crate::parts::stdio;
use crate::web::{TEXT, WebClient, WebServer};

/// The name of this part.
pub const PART: &str = "gateway";
/// The subject of a direct connection.
pub const DIRECT: &str = "rmcp, direct";

/// Measures the direct connection, then each bridge, over both transports.
///
/// # Errors
///
/// If a program cannot be started, or an answer is wrong.
pub fn round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    let rmcp = &bench.programs.rmcp;
    let mut direct = Command::new(rmcp);
    direct.arg("--pipes");
    over_stdio(bench, direct, DIRECT, out)?;
    for (name, mut command) in bench.bridges() {
        command.arg("run").arg("--").arg(rmcp).arg("--pipes");
        over_stdio(bench, command, &in_front(name), out)?;
    }

    let mut server = Command::new(rmcp);
    server.arg("--http");
    let server = WebServer::start(server)?;
    over_http(bench, &server, DIRECT, out)?;
    let url = format!("http://127.0.0.1:{}/mcp", server.port());
    for (name, mut command) in bench.bridges() {
        command.args(["run", "--upstream", &url, "--transport", "http", "--port", "0"]);
        over_http(bench, &WebServer::start(command)?, &in_front(name), out)?;
    }
    Ok(())
}

/// The subject of a bridge in front of the server.
pub fn in_front(bridge: &str) -> String {
    format!("{bridge} in front of rmcp")
}

fn over_stdio(bench: &Bench, mut command: Command, subject: &str, out: &mut Measurement) -> Outcome<()> {
    let mut client = Client::start(&mut command)?;
    client.handshake()?;
    let row = |case: String| Row::new(PART, format!("stdio, {case}"), subject);
    for row in stdio::calls(&mut client, bench.options.calls, row)? {
        out.add(row);
    }
    Ok(())
}

fn over_http(bench: &Bench, server: &WebServer, subject: &str, out: &mut Measurement) -> Outcome<()> {
    let calls = bench.options.calls;
    let mut client = WebClient::open(server.port())?;
    (0..calls / 10 + 1).try_for_each(|_| client.call(TEXT).map(drop))?;
    let meter = Meter::new(server.pid());
    let samples = (0..calls).map(|_| client.call(TEXT)).collect::<Result<Vec<_>, _>>()?;
    out.add(Row::new(PART, "HTTP, one at a time", subject).spent(&meter.read(), calls).timed(samples));
    Ok(())
}
