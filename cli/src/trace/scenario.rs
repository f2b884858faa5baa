//! `pmcp scenario`: a trace as a test.

use protomcp_trace::scenario as made_of;

use crate::args::trace::ScenarioSource;
use crate::exit::{self, Failure};
use crate::trace::parts::read;

/// Prints the scenario.
pub(super) fn scenario(options: &ScenarioSource) -> Result<(), Failure> {
    let path = &options.trace;
    let title = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let text = made_of(&read(path)?, &title);
    if text.ends_with("steps:\n") {
        return Err(Failure::usage(format!(
            "{} has no call, list, resource or prompt with an answer: record a conversation in which a host uses the tools",
            path.display()
        )));
    }
    exit::print(&exit::for_stdout(text))
}
