//! Lists of many tools, and a list while calls are queued.

use std::time::Instant;

use crate::bench::{Bench, Outcome};
use crate::client::Client;
use crate::measurement::{Measurement, Meter, Row};
use crate::subject::Tools;

/// The name of the part about many tools.
pub const PART: &str = "tools";
/// The name of the part about a list while calls are queued.
pub const QUEUED: &str = "queued";

/// Numbers of tools.
const COUNTS: [usize; 2] = [1_000, 10_000];
/// Lists of a subject in one round.
const LISTS: usize = 5;
/// Calls that wait for a tool process while lists are requested.
pub const WAITING: usize = 1_000;

/// Starts each subject with many tools, and lists all of them.
///
/// # Errors
///
/// If a program cannot be started, or a list is too short.
pub fn round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    for count in COUNTS {
        for started in bench.started(Tools::Many(count)) {
            let (subject, mut client) = started?;
            let [start, list] = [start_case(count), format!("{count} tools: whole list")];
            out.add(first_page(&mut client, Row::new(PART, start, subject.name()))?);
            out.add(whole_lists(&mut client, count, Row::new(PART, list, subject.name()))?);
        }
    }
    Ok(())
}

/// The case of a start with this many tools.
pub fn start_case(count: usize) -> String {
    format!("{count} tools: start to first page")
}

/// From the start to the first page.
///
/// # Errors
///
/// If the server closes its output.
pub fn first_page(client: &mut Client, row: Row) -> Outcome<Row> {
    let took = client.handshake()?;
    let spent = Meter::from_start(client.pid(), client.started()).read();
    Ok(row.spent(&spent, 1).timed(vec![took]))
}

/// Lists all tools several times, page after page.
///
/// # Errors
///
/// If the server closes its output, or lists fewer tools.
pub fn whole_lists(client: &mut Client, count: usize, row: Row) -> Outcome<Row> {
    let meter = Meter::new(client.pid());
    let mut samples = Vec::with_capacity(LISTS);
    for _ in 0..LISTS {
        let start = Instant::now();
        let listed = client.list()?;
        samples.push(start.elapsed());
        if listed < count {
            return Err(format!("{}: {listed} tools were listed of {count}", row.subject).into());
        }
    }
    Ok(row.spent(&meter.read(), LISTS).timed(samples))
}

/// Lists the tools of each bridge while 1,000 calls wait for a tool process that never answers.
///
/// # Errors
///
/// If a program cannot be started, or closes its output.
pub fn queued_round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    for started in bench.started(Tools::Silent) {
        let (subject, mut client) = started?;
        client.handshake()?;
        client.send_calls(WAITING)?;
        let meter = Meter::new(client.pid());
        let mut samples = Vec::with_capacity(WAITING);
        for _ in 0..WAITING {
            let start = Instant::now();
            client.list()?;
            samples.push(start.elapsed());
        }
        let case = format!("tools/list while {WAITING} calls wait");
        out.add(Row::new(QUEUED, case, subject.name()).spent(&meter.read(), WAITING).timed(samples));
    }
    Ok(())
}
