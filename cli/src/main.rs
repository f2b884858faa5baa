//! The `pmcp` command: parses, composes, prints, exits. The work is done in the crates below it.

mod advice;
mod args;
mod client;
mod color;
mod exit;
mod init;
#[cfg(feature = "install")]
mod install;
mod json_names;
mod lending;
mod log;
mod nearest;
#[cfg(feature = "upstream")]
mod proto_remote;
#[cfg(feature = "trace")]
mod recorder;
#[cfg(not(feature = "trace"))]
#[path = "recorder/none.rs"]
mod recorder;
#[cfg(feature = "proto-mcp")]
mod registries;
#[cfg(feature = "upstream")]
mod remote;
#[cfg(feature = "proto-mcp")]
mod schema;
mod serve;
mod served_file;
mod shell_word;
mod text_file;
#[cfg(feature = "trace")]
mod trace;
mod waiting;

use std::process::ExitCode;

use crate::args::parsed::Parsed;

fn main() -> ExitCode {
    // Must come first: this program may have been started as the guardian of a tool process, which must stay small.
    protomcp_bridge::guardian::run_if_requested();
    protomcp_bridge::allocator::return_large_blocks();
    let words: Vec<_> = std::env::args_os().collect();
    let code = match args::parse(words.iter().cloned()) {
        Ok(Parsed::Print(text)) => exit::code(exit::print(&text)),
        Ok(Parsed::NoCommand(help)) => exit::no_command(&help),
        Ok(Parsed::Serve(options)) => exit::code(serve::run(*options, None)),
        Ok(Parsed::List(options)) => exit::code(client::list(*options)),
        Ok(Parsed::Call(options)) => exit::code(client::call(*options)),
        Ok(Parsed::Read(options)) => exit::code(client::read(*options)),
        Ok(Parsed::Prompt(options)) => exit::code(client::prompt(*options)),
        Ok(Parsed::Validate(options)) => exit::code(client::validate(*options)),
        Ok(Parsed::Test(options)) => exit::code(client::test(*options)),
        Ok(Parsed::Doctor(options)) => exit::code(client::doctor(*options)),
        #[cfg(feature = "trace")]
        Ok(Parsed::Record(options)) => exit::code(trace::record(*options)),
        #[cfg(feature = "trace")]
        Ok(Parsed::Replay(options)) => exit::code(trace::replay(*options)),
        #[cfg(feature = "trace")]
        Ok(Parsed::Mock(options)) => exit::code(trace::mock(&options)),
        #[cfg(feature = "trace")]
        Ok(Parsed::Scenario(options)) => exit::code(trace::scenario(&options)),
        #[cfg(feature = "playground")]
        Ok(Parsed::Playground(options)) => exit::code(serve::playground::run(*options)),
        #[cfg(feature = "proto-mcp")]
        Ok(Parsed::Schema(options)) => exit::code(schema::run(*options)),
        Ok(Parsed::Init(options)) => exit::code(init::run(&options)),
        #[cfg(feature = "install")]
        Ok(Parsed::Bundle(options)) => exit::code(client::bundle(*options)),
        #[cfg(feature = "install")]
        Ok(Parsed::Install(options)) => exit::code(install::install(&options)),
        #[cfg(feature = "install")]
        Ok(Parsed::Uninstall(options)) => exit::code(install::uninstall(&options)),
        #[cfg(feature = "install")]
        Ok(Parsed::Status(options)) => exit::code(install::status(&options)),
        Err(failure) => {
            color::choose(&words);
            exit::explain(&failure)
        }
    };
    log::queue::flush();
    // Not a return: a thread may be blocked on a client that sends nothing.
    std::process::exit(code)
}
