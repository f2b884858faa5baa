//! The memory of servers that do nothing.

use crate::bench::{Bench, Outcome};
use crate::measurement::{Measurement, Metric, Row};
use crate::process::{memory, peak};
use crate::subject::Tools;
use crate::web::WebClient;

/// The name of this part.
pub const PART: &str = "memory";
/// The case of a server on standard streams, after its handshake.
pub const STDIO: &str = "idle on stdio";
/// The case of a server over HTTP, with one open session.
pub const HTTP: &str = "idle over HTTP";

/// Reads the memory of each subject after its handshake.
///
/// # Errors
///
/// If a program cannot be started, or an answer is wrong.
pub fn round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    for started in bench.started(Tools::Echo) {
        let (subject, mut client) = started?;
        client.handshake()?;
        out.add(row(STDIO, subject.name(), client.pid()));
    }
    for listening in bench.listening(&[]) {
        let (subject, server) = listening?;
        let _client = WebClient::open(server.port())?;
        out.add(row(HTTP, subject.name(), server.pid()));
    }
    Ok(())
}

fn row(case: &str, subject: &str, pid: u32) -> Row {
    Row::new(PART, case, subject).with(Metric::MemoryMb, memory(pid)).with(Metric::PeakMb, peak(pid))
}
