//! From the start of a program to the answer to `tools/list`.

use crate::bench::{Bench, Outcome};
use crate::measurement::{Measurement, Meter, Row, Spent};
use crate::subject::{Subject, Tools};

/// The name of this part.
pub const PART: &str = "start";

/// Starts of each subject in one round.
const STARTS: usize = 5;

/// Starts each subject several times, with a tool process that answers every request of the bridge, and with one that
/// leaves some unanswered, as a simple SDK does.
///
/// # Errors
///
/// If a program cannot be started, or closes its output.
pub fn round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    for subject in &bench.subjects {
        for (case, tools) in [("native tool", Tools::Echo), ("native tool that answers everything", Tools::Answering)] {
            if let Some(row) = starts(bench, subject, tools, case)? {
                out.add(row);
            }
        }
    }
    Ok(())
}

fn starts(bench: &Bench, subject: &Subject, tools: Tools, case: &str) -> Outcome<Option<Row>> {
    let mut samples = Vec::new();
    let mut all = Spent::default();
    for _ in 0..STARTS {
        let Some(mut client) = subject.start(&bench.programs, tools)? else { return Ok(None) };
        samples.push(client.handshake()?);
        all = all.and(&Meter::from_start(client.pid(), client.started()).read());
    }
    Ok(Some(Row::new(PART, case, subject.name()).spent(&all, STARTS).timed(samples)))
}
