//! Small calls over standard streams: one at a time, and many in flight.

use crate::bench::{Bench, Outcome, WIDTH};
use crate::client::Client;
use crate::measurement::{Measurement, Meter, Row};
use crate::pinned::Pinned;
use crate::subject::Tools;

/// The name of the part on all processors.
pub const PART: &str = "stdio";
/// The name of the part on one processor. The placement of processes by the scheduler moves the latencies of all
/// subjects; with everything on one processor it cannot.
pub const PINNED: &str = "stdio-pinned";

/// Measures on all processors.
///
/// # Errors
///
/// If a program cannot be started, or closes its output.
pub fn round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    all(bench, PART, out)
}

/// Measures on one processor.
///
/// # Errors
///
/// If a program cannot be started, or closes its output.
pub fn pinned_round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    let _pinned = Pinned::new()?;
    all(bench, PINNED, out)
}

fn all(bench: &Bench, part: &str, out: &mut Measurement) -> Outcome<()> {
    for started in bench.started(Tools::Echo) {
        let (subject, mut client) = started?;
        client.handshake()?;
        for row in calls(&mut client, bench.options.calls, |case| Row::new(part, case, subject.name()))? {
            out.add(row);
        }
    }
    Ok(())
}

/// Both rows of a server after its handshake. `row` makes them from their case.
///
/// # Errors
///
/// If the server closes its output.
pub fn calls(client: &mut Client, calls: usize, row: impl Fn(String) -> Row) -> Outcome<[Row; 2]> {
    client.one_at_a_time(calls / 4)?;
    let meter = Meter::new(client.pid());
    let samples = client.one_at_a_time(calls)?;
    let single = row("one at a time".to_owned()).spent(&meter.read(), calls).timed(samples);

    let many = calls * 10;
    client.many_in_flight(many / 4, WIDTH)?;
    let meter = Meter::new(client.pid());
    let samples = client.many_in_flight(many, WIDTH)?;
    Ok([single, row(format!("{WIDTH} in flight")).spent(&meter.read(), many).timed(samples)])
}
