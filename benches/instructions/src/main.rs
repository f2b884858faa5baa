//! Runs one operation: `instructions NAME COUNT`. Without arguments it prints the names.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for a script talks to it")]

use std::process::ExitCode;

use protomcp_instructions::OPERATIONS;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [] => OPERATIONS.iter().for_each(|(name, _)| println!("{name}")),
        [name, count] => {
            let operation = OPERATIONS.iter().find(|(known, _)| known == name);
            let (Some((_, operation)), Ok(count)) = (operation, count.parse()) else { return usage() };
            operation(count);
        }
        _ => return usage(),
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: instructions [NAME COUNT]");
    ExitCode::from(2)
}
