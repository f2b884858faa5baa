//! Measures the whole bridge next to its lower bound and its peers, and prints tables; `-- --help` has the flags.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match protomcp_benches::run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Without standard error the status has to be enough.
            let _ = writeln!(std::io::stderr(), "bridge: {error}");
            ExitCode::FAILURE
        }
    }
}
