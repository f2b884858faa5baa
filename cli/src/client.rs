//! `pmcp list` and `pmcp call`: uses one server as a client.

mod arguments;
mod call;
mod connection;
mod form;
mod list;

use std::future::Future;

use tokio::runtime;

use crate::args::{CallOptions, ListOptions};
use crate::exit::Failure;
use crate::log;

/// Prints a list of a server.
pub(crate) fn list(options: ListOptions) -> Result<(), Failure> {
    log::start(options.server.log_level);
    block_on(list::list(options))
}

/// Calls a tool, and prints its result.
pub(crate) fn call(options: CallOptions) -> Result<(), Failure> {
    log::start(options.server.log_level);
    block_on(call::call(options))
}

fn block_on(command: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let outcome = runtime.block_on(command);
    // A thread that waits for a line of the user must not keep the program.
    runtime.shutdown_background();
    outcome
}
