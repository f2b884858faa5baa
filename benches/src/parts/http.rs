//! Small calls over HTTP. A client is a thread with its own connection and makes one call after the other, in a session
//! or without one (MCP 2026-07-28).

use std::io;
use std::thread;

use crate::bench::{Bench, Outcome, note};
use crate::measurement::{Measurement, Meter, Row};
use crate::subject::PMCP;
use crate::web::{TEXT, WebClient, WebServer};

/// The name of this part.
pub const PART: &str = "http";

/// Concurrent clients.
const WIDTHS: [usize; 3] = [1, 16, 64];

/// Connects one client.
type Connect = fn(u16) -> io::Result<WebClient>;

/// Measures each subject with each number of clients.
///
/// # Errors
///
/// If a program cannot be started, or an answer is wrong.
pub fn round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    let calls = bench.options.calls * 5;
    for width in WIDTHS {
        for listening in bench.listening(&[]) {
            let (subject, server) = listening?;
            let row = Row::new(PART, sessions(width), subject.name());
            out.add(measure(&server, connect(&server, WebClient::open, width)?, calls, row)?);
            if subject.bridge().is_none() {
                continue;
            }
            let row = Row::new(PART, stateless(width), subject.name());
            match connect(&server, WebClient::stateless, width) {
                Ok(clients) => out.add(measure(&server, clients, calls, row)?),
                Err(error) if subject.name() != PMCP => note(&format!("{}: {error}", subject.name())),
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

/// The case of this many clients with a session each.
pub fn sessions(width: usize) -> String {
    format!("{width} session{}", if width == 1 { "" } else { "s" })
}

/// The case of this many clients without a session.
pub fn stateless(width: usize) -> String {
    format!("{width} without a session")
}

/// Connects clients, each of which makes a call.
fn connect(server: &WebServer, connect: Connect, width: usize) -> io::Result<Vec<WebClient>> {
    let mut clients = (0..width).map(|_| connect(server.port())).collect::<io::Result<Vec<_>>>()?;
    clients.iter_mut().try_for_each(|client| client.call(TEXT).map(drop))?;
    Ok(clients)
}

/// Makes `calls` calls in total, spread over the clients.
fn measure(server: &WebServer, mut clients: Vec<WebClient>, calls: usize, row: Row) -> Outcome<Row> {
    let each = (calls / clients.len()).max(1);
    for client in &mut clients {
        (0..each / 10 + 1).try_for_each(|_| client.call(TEXT).map(drop))?;
    }
    let meter = Meter::new(server.pid());
    let threads: Vec<_> = clients
        .into_iter()
        .map(|mut client| thread::spawn(move || (0..each).map(|_| client.call(TEXT)).collect::<io::Result<Vec<_>>>()))
        .collect();
    let mut samples = Vec::with_capacity(calls);
    for thread in threads {
        samples.extend(thread.join().map_err(|_| "a client panicked")??);
    }
    Ok(row.spent(&meter.read(), samples.len()).timed(samples))
}
