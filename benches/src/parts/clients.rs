//! Clients: the library of this project and `rmcp`'s on the same `rmcp` server, and the library in proto-mcp and in
//! JSON-RPC on `pmcp`. Each run of a client is a process (`caller`), and the processor time is its time.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::bench::{Bench, Outcome, WIDTH};
use crate::measurement::{Measurement, Metric, Row, micros, number};
use crate::parts::protocols;
use crate::web::WebServer;

/// The name of this part.
pub const PART: &str = "clients";

/// The libraries for servers of `rmcp`.
const LIBRARIES: [(&str, &str); 2] = [("protomcp", "protomcp-client"), ("rmcp", "rmcp's client")];
/// The protocols of the library of this project.
const PROTOCOLS: [(&str, &str); 2] =
    [("protomcp", "protomcp-client, JSON-RPC"), ("proto-mcp", "protomcp-client, proto-mcp")];

/// Runs each client with each server, one call at a time and many in flight.
///
/// # Errors
///
/// If a program cannot be started, or an answer is wrong.
pub fn round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    let text = |path: &Path| path.display().to_string();
    let mut command = Command::new(&bench.programs.rmcp);
    command.arg("--http");
    let web = WebServer::start(command)?;
    let tcp = protocols::listen(bench, Command::new(&bench.programs.pmcp))?;
    let pmcp = vec![text(&bench.programs.pmcp), "run".to_owned(), text(&bench.programs.tool)];
    let servers = [
        ("rmcp over stdio", vec![text(&bench.programs.rmcp), "--pipes".to_owned()], LIBRARIES),
        ("rmcp over HTTP", vec![format!("http://127.0.0.1:{}/mcp", web.port())], LIBRARIES),
        ("pmcp over stdio", pmcp, PROTOCOLS),
        ("pmcp over TCP", vec![format!("proto://127.0.0.1:{}", tcp.port())], PROTOCOLS),
    ];
    for (server, words, clients) in &servers {
        for (width, case) in [(1, "one at a time".to_owned()), (WIDTH, format!("{WIDTH} in flight"))] {
            for (library, subject) in clients {
                let mut command = Command::new(&bench.programs.caller);
                command.args([*library, &bench.options.calls.to_string(), &width.to_string()]).args(words);
                out.add(call(command, Row::new(PART, format!("{server}, {case}"), subject))?);
            }
        }
    }
    Ok(())
}

/// Runs the program `caller` once, and reads its figures.
fn call(mut command: Command, row: Row) -> Outcome<Row> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8(output.stdout)?;
    let values: Vec<u64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [count, took, p50, p99, used, peak] = values[..] else {
        return Err(format!("{command:?}: {}, {text:?}", output.status).into());
    };
    let duration = |nanos: u64| micros(Duration::from_nanos(nanos));
    let rate = 1e6 / duration(took / count.max(1)).max(1e-3);
    Ok(row
        .with(Metric::MedianUs, duration(p50))
        .with(Metric::P99Us, duration(p99))
        .with(Metric::PerSecond, rate)
        .with(Metric::CpuUs, duration(used / count.max(1)))
        .with(Metric::PeakMb, number(usize::try_from(peak)?) / 1e3))
}
