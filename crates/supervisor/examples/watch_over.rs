//! Runs a command under supervision: `cargo run --example watch_over -- sh -c 'echo hello; sleep 100'`.
//!
//! Prints what the command does. Ctrl-C stops it politely, a second one kills it; and if this program itself is killed
//! with SIGKILL, nothing of the command stays behind (with `--no-guardian`, only the command itself dies then). The
//! exit code is the exit code of the command.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use protomcp_supervisor::{Command, Event, Guardian, Process, Status, StopPolicy, guardian, open_files};

fn main() -> ExitCode {
    // Before anything else: this program may have been started to be a guardian.
    guardian::run_if_requested();

    let mut args = std::env::args_os().skip(1).peekable();
    let preforked = args.next_if(|arg| arg == "--prefork").map(|_| guardian::prefork());
    if args.next_if(|arg| arg == "--wait").is_some() {
        // For a line, or the end of the input.
        let _line = std::io::stdin().lines().next();
    }
    let alone = args.next_if(|arg| arg == "--no-guardian").is_some();
    if args.next_if(|arg| arg == "--raise-open-files").is_some() {
        // A server with many connections does the same.
        match open_files::raise(u64::MAX) {
            Ok(limit) => println!("{limit} open files"),
            Err(error) => eprintln!("the limit of open files stays as it is: {error}"),
        }
    }
    let Some(program) = args.next() else {
        eprintln!("usage: watch_over [--prefork [--wait]] [--no-guardian] [--raise-open-files] PROGRAM [ARG ...]");
        return ExitCode::from(2);
    };
    let mut command = Command::new(program).args(args);
    if alone {
        drop(preforked);
        command = command.guardian(Guardian::None);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime needs no more than a few descriptors").block_on(watch_over(&command))
}

async fn watch_over(command: &Command) -> ExitCode {
    let (process, mut events) = match Process::spawn(command, StopPolicy::default()).await {
        Ok(spawned) => spawned,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let mut interrupted = false;
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            _ = tokio::signal::ctrl_c() => {
                if interrupted { process.kill() } else { process.stop() }
                interrupted = true;
                continue;
            }
        };
        match event {
            Some(Event::Started { pid }) => println!("started {pid}"),
            Some(Event::Line { stream, text }) => println!("{stream}: {text}"),
            Some(Event::CloseLink) => println!("stopping"),
            Some(Event::Exited(exit)) => {
                println!("it {exit} after {:?}", exit.uptime);
                return match exit.status {
                    Status::Code(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
                    Status::Signal(_) | Status::Unknown => ExitCode::FAILURE,
                };
            }
            None => return ExitCode::FAILURE,
        }
    }
}
