//! Large results over standard streams: 1, 10 and 100 MB, as they are and compressed by the tool process.

use crate::bench::{Bench, Outcome};
use crate::client::Client;
use crate::measurement::{Measurement, Meter, Row};
use crate::subject::Tools;

/// The name of this part.
pub const PART: &str = "results";

/// Sizes in megabytes.
const SIZES: [usize; 3] = [1, 10, 100];
/// Megabytes that are requested of a subject in a round, in at least one result.
const MEGABYTES: usize = 20;

/// Requests results of each size from each subject. The first is not preceded by others, so that the memory is of
/// these results alone.
///
/// # Errors
///
/// If a program cannot be started, or a result is too short.
pub fn round(bench: &Bench, out: &mut Measurement) -> Outcome<()> {
    for megabytes in SIZES {
        let size = megabytes * 1_000_000;
        for (encoding, tools) in [("raw", Tools::Large(size)), ("zstd", Tools::LargeZstd(size))] {
            for started in bench.started(tools) {
                let (subject, mut client) = started?;
                client.handshake()?;
                let row = Row::new(PART, format!("{megabytes} MB {encoding}"), subject.name());
                out.add(requests(&mut client, size, MEGABYTES.div_ceil(megabytes), row)?);
            }
        }
    }
    Ok(())
}

/// Requests a result of `size` bytes this many times, after the handshake.
///
/// # Errors
///
/// If the server closes its output, or a result is too short.
pub fn requests(client: &mut Client, size: usize, count: usize, row: Row) -> Outcome<Row> {
    let meter = Meter::new(client.pid());
    let mut samples = Vec::with_capacity(count);
    for _ in 0..count {
        let (took, bytes) = client.large(size)?;
        if bytes < size {
            return Err(format!("{}: {bytes} bytes came of {size}", row.subject).into());
        }
        samples.push(took);
    }
    Ok(row.spent(&meter.read(), count).timed(samples))
}
