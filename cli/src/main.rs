//! The `pmcp` command: parses, composes, prints, exits. The work is done in the crates below it.

mod advice;
mod args;
mod client;
mod exit;
mod json_names;
mod log;
mod proto_remote;
mod registries;
mod remote;
mod schema;
mod serve;

use std::process::ExitCode;

use crate::args::Parsed;

fn main() -> ExitCode {
    // Must come first: this program may have been started as the guardian of a tool process, which must stay small.
    protomcp_bridge::guardian::run_if_requested();
    let code = match args::parse(std::env::args_os()) {
        Ok(Parsed::Print(text)) => exit::code(exit::print(&text)),
        Ok(Parsed::Serve(options)) => exit::code(serve::run(*options)),
        Ok(Parsed::List(options)) => exit::code(client::list(*options)),
        Ok(Parsed::Call(options)) => exit::code(client::call(*options)),
        Ok(Parsed::Schema(options)) => exit::code(schema::run(*options)),
        Err(failure) => exit::explain(&failure),
    };
    log::flush();
    // Not a return: a thread may be blocked on a client that sends nothing.
    std::process::exit(code)
}
