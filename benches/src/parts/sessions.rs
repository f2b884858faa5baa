//! The memory of sessions that are opened and abandoned: it must not grow from one cycle to the next.

use std::thread;
use std::time::{Duration, Instant};

use crate::bench::{Bench, Outcome};
use crate::measurement::{Measurement, Metric, Row, number};
use crate::process::memory;
use crate::web::{TEXT, WebClient, WebServer};

/// The name of this part.
pub const PART: &str = "sessions";

/// Sessions of one cycle: the maximum that `pmcp` allows.
const SESSIONS: usize = 10_000;
/// The idle timeout of a session: longer than it takes to open all of them.
const IDLE: Duration = Duration::from_secs(30);

/// Opens 10,000 sessions, waits until they have expired, and repeats that.
///
/// # Errors
///
/// If a program cannot be started, an answer is wrong, or a session does not expire.
pub fn round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    let idle = format!("{}s", IDLE.as_secs());
    for (name, mut command) in bench.bridges() {
        command.arg("run").arg(&bench.programs.tool);
        command.args(["--transport", "http", "--port", "0", "--session-idle", &idle]);
        let server = WebServer::start(command)?;
        let mut client = WebClient::open(server.port())?;
        client.call(TEXT)?;
        for number in 1..=bench.options.cycles {
            out.add(cycle(&server, &mut client, Row::new(PART, case(number), name))?);
        }
    }
    Ok(())
}

/// The case of a cycle, counted from one.
pub fn case(cycle: usize) -> String {
    format!("{SESSIONS} sessions, cycle {cycle}")
}

fn cycle(server: &WebServer, client: &mut WebClient, row: Row) -> Outcome<Row> {
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
    let each = (open - before).max(0.0) * 1e3 / number(SESSIONS);
    Ok(row.with(Metric::PeakMb, open).with(Metric::MemoryMb, gone).with(Metric::EachKb, each))
}
