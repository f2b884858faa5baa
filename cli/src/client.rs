//! `pmcp list`, `pmcp call`, `pmcp read`, `pmcp prompt`, `pmcp validate`, `pmcp test` and `pmcp doctor`: uses one server as a client.

mod answers;
mod arguments;
#[cfg(feature = "install")]
mod bundle;
pub(crate) mod call;
mod connection;
mod content;
mod doctor;
mod elements;
mod file_skills;
pub(crate) mod form;
mod list;
mod printed;
mod prompt;
mod read;
mod refusal;
#[cfg(feature = "upstream")]
mod remote_connection;
mod scenarios;
mod signature;
mod skill_entries;
mod skill_faults;
mod test;
mod validate;

use std::future::Future;

use tokio::runtime;

#[cfg(feature = "install")]
use crate::args::bundle::BundleOptions;
use crate::args::client::{CallOptions, ListOptions};
use crate::args::doctor::DoctorOptions;
use crate::args::get::{PromptOptions, ReadOptions};
use crate::args::test::TestOptions;
use crate::args::validate::ValidateOptions;
use crate::exit::Failure;
use crate::log;

/// Prints a list of a server.
pub(crate) fn list(options: ListOptions) -> Result<(), Failure> {
    log::start(options.server.log_level, options.server.log);
    block_on(unless_interrupted(list::list(options)))
}

/// Calls a tool, and prints its result.
pub(crate) fn call(options: CallOptions) -> Result<(), Failure> {
    log::start(options.server.log_level, options.server.log);
    block_on(call::call(options))
}

/// Prints a resource.
pub(crate) fn read(options: ReadOptions) -> Result<(), Failure> {
    log::start(options.server.log_level, options.server.log);
    block_on(unless_interrupted(read::read(options)))
}

/// Prints a prompt.
pub(crate) fn prompt(options: PromptOptions) -> Result<(), Failure> {
    log::start(options.server.log_level, options.server.log);
    block_on(unless_interrupted(prompt::prompt(options)))
}

/// Makes a bundle of a tool file.
#[cfg(feature = "install")]
pub(crate) fn bundle(options: BundleOptions) -> Result<(), Failure> {
    log::start(options.server.log_level, options.server.log);
    block_on(bundle::bundle(options))
}

/// Checks the tools of a server.
pub(crate) fn validate(options: ValidateOptions) -> Result<(), Failure> {
    log::start(options.server.log_level, options.server.log);
    block_on(unless_interrupted(validate::validate(options)))
}

/// Waits for a part of a command that has nothing to cancel at a server.
async fn unless_interrupted<T>(part: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::select! {
        biased;
        _ = tokio::signal::ctrl_c() => Err(Failure::failed("interrupted")),
        outcome = part => outcome,
    }
}

/// Tests a server.
pub(crate) fn test(options: TestOptions) -> Result<(), Failure> {
    log::start(options.server.log_level, options.server.log);
    block_on(test::test(options))
}

/// Finds out what is wrong with a tool file.
pub(crate) fn doctor(options: DoctorOptions) -> Result<(), Failure> {
    // Without a log: a finding has the last lines of a process that fails.
    block_on(doctor::doctor(options))
}

fn block_on(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let outcome = runtime.block_on(command);
    // A thread that waits for a line of the user must not keep the program.
    runtime.shutdown_background();
    outcome
}
