//! Traces as files, servers as processes, and messages as values.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use protomcp_client::{Command, CommandTransport};
use protomcp_trace::Recording;
use protomcp_types::{Incoming, Message};
use serde_json::Value;

use crate::args::client::Target;
use crate::exit::Failure;
use crate::recorder::MAX_TRACE;
use crate::text_file::read_bounded;

/// The server as a process: for a tool file and a URL it is this program.
pub(super) fn process(target: Target) -> Result<CommandTransport, Failure> {
    let own = || env::current_exe().map_err(|error| Failure::failed(format!("this program has no path: {error}")));
    let words: Vec<OsString> = match target {
        Target::File(path) => vec![own()?.into(), "run".into(), path.into()],
        Target::Url(url) => vec![own()?.into(), "run".into(), "--upstream".into(), url.into()],
        Target::Command(words) => words,
        Target::Proto(_) => {
            return Err(Failure::usage("a trace has messages of JSON-RPC: name a URL with http or https"));
        }
    };
    let (program, arguments) = words.split_first().expect("the command line names a program");
    let command = arguments.iter().fold(Command::new(program), Command::arg);
    Ok(CommandTransport::new(command).on_stderr(|line| tracing::info!(target: "tool::stderr", "{line}")))
}

/// Reads a trace.
pub(super) fn read(path: &Path) -> Result<Recording, Failure> {
    let wrong = |why: String| Failure::usage(format!("{}: {why}", path.display()));
    let text = read_bounded(path, MAX_TRACE, "a trace").map_err(|error| wrong(error.to_string()))?;
    Recording::parse(&text).map_err(|error| wrong(error.to_string()))
}

/// The message of a trace. It was one when it was recorded, unless the file was edited.
pub(super) fn message(value: &Value) -> Result<Message, Failure> {
    match Incoming::parse(&value.to_string().into()) {
        Ok(Incoming::One(message)) => Ok(message),
        Ok(Incoming::Batch(_)) | Err(_) => {
            Err(Failure::usage(format!("the trace has a line without a message: {value}")))
        }
    }
}

/// The messages of what was received; malformed ones are `None`.
pub(super) fn messages(incoming: Incoming) -> Vec<Message> {
    match incoming {
        Incoming::One(message) => vec![message],
        Incoming::Batch(messages) => messages.into_iter().flatten().collect(),
    }
}
