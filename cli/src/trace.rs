//! `pmcp record`, `pmcp replay`, `pmcp mock` and `pmcp scenario`: messages between pipes. Their meaning is decided in
//! `protomcp-trace`.

mod mock;
mod parts;
mod record;
mod replay;
mod scenario;

use protomcp_trace::Redaction;
use tokio::runtime::Builder;

use crate::args::options::{Endpoint, Options, Source, StdioOptions};
use crate::args::trace::{MockOptions, RecordOptions, ReplayOptions, ScenarioSource};
use crate::args::upstream_config::StdioCommand;
use crate::exit::Failure;
use crate::log;
use crate::recorder::Recorder;
use crate::serve;

/// Serves a server, and records its messages.
pub(crate) fn record(options: RecordOptions) -> Result<(), Failure> {
    let RecordOptions { serve: options, to, names, patterns } = options;
    let redaction = Redaction::with_names(names)
        .with_patterns(&patterns)
        .map_err(|error| Failure::usage(format!("invalid --redact-pattern: {error}")))?;
    let recorder = Recorder::create(&to, redaction)?;
    let outcome = match passed_on(&options) {
        Some((command, max_line)) => block_on(record::record(command, max_line, &options.tool, &recorder)),
        None => serve::run(options, Some(recorder.clone())),
    };
    if outcome.is_err() {
        recorder.discard_if_empty();
    }
    outcome
}

/// A command whose messages are passed on as they are, and the longest line from the host.
fn passed_on(options: &Options) -> Option<(&StdioCommand, usize)> {
    match (&options.source, &options.endpoint) {
        (Source::Servers(servers), Endpoint::Stdio(StdioOptions { max_line, .. })) if !options.tool.changes_tools() => {
            Some((servers.plain_command()?, *max_line))
        }
        _ => None,
    }
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
