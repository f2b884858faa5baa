//! `pmcp record`, `pmcp replay`, `pmcp mock` and `pmcp scenario`: messages between pipes. What they mean is decided in `protomcp-trace`.

mod mock;
mod new_file;
mod parts;
mod record;
mod replay;
mod scenario;

use tokio::runtime::Builder;

use crate::args::trace::{MockOptions, RecordOptions, ReplayOptions, ScenarioSource};
use crate::exit::Failure;
use crate::log;

/// Serves a server on standard input and output, and records its messages.
pub(crate) fn record(options: RecordOptions) -> Result<(), Failure> {
    block_on(record::record(options))
}

/// Sends a recorded conversation to a server, and compares its answers.
pub(crate) fn replay(options: ReplayOptions) -> Result<(), Failure> {
    log::start(options.log_level, options.log);
    block_on(replay::replay(options))
}

/// Answers a host from a trace.
pub(crate) fn mock(options: &MockOptions) -> Result<(), Failure> {
    block_on(mock::mock(options))
}

/// Prints a trace as a scenario.
pub(crate) fn scenario(options: &ScenarioSource) -> Result<(), Failure> {
    scenario::scenario(options)
}

fn block_on(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.map_err(|error| Failure::failed(format!("cannot start: {error}")))?.block_on(command)
}
