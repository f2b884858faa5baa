//! Exit codes: 0 success, 1 failure, 2 an error in the command line or in a file it names.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use protomcp_bridge::{SpawnError, StartError};
use protomcp_types::is_shown;

use crate::color;

/// Text of a server without the characters that a terminal executes, or that change the direction of the others. Lines
/// and tabs stay.
pub(crate) fn printable(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\n' | '\t') || is_shown(*c)).collect()
}

/// The text for standard output: a terminal gets the printable part, a file or a pipe all that the server has sent.
pub(crate) fn for_stdout(text: String) -> String {
    if io::stdout().is_terminal() { printable(&text) } else { text }
}

/// Prints a report for people, with its marks in colours where they are wanted.
pub(crate) fn print_report(text: String) -> Result<(), Failure> {
    let text = for_stdout(text);
    print(&if color::is_wanted(io::stdout().is_terminal()) { color::painted(&text) } else { text })
}

/// Success.
pub(crate) const SUCCESS: i32 = 0;
/// The command failed.
const FAILED: i32 = 1;
/// The command line is wrong.
const USAGE: i32 = 2;

/// The reason for a failure, for people.
#[derive(Debug)]
pub(crate) struct Failure {
    code: i32,
    text: String,
}

impl Failure {
    /// The command failed.
    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self { code: FAILED, text: text.into() }
    }

    /// The same failure with another text.
    pub(crate) fn map(self, text: impl FnOnce(&str) -> String) -> Self {
        Self { text: text(&self.text), ..self }
    }

    /// True if the command line, or a file it names, is wrong.
    #[cfg(any(feature = "upstream", test))]
    pub(crate) fn is_usage(&self) -> bool {
        self.code == USAGE
    }

    /// An error in the command line or in a file it names.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self { code: USAGE, text: text.into() }
    }
}

impl From<&StartError> for Failure {
    /// A program that cannot be started is named on the command line, or in the environment.
    fn from(error: &StartError) -> Self {
        match error {
            // With its remedy.
            StartError::Spawn(spawn) => Self { text: error.to_string(), ..Self::from(spawn.failure()) },
            StartError::Skills(why) => Self::usage(why.as_str()),
            other => Self::failed(reason(other)),
        }
    }
}

/// The reason why a tool process did not start. What it has printed is in the log, if the log shows that.
pub(crate) fn reason(error: &StartError) -> String {
    if crate::log::shows_tools() { error.without_lines() } else { error.to_string() }
}

impl From<&SpawnError> for Failure {
    fn from(error: &SpawnError) -> Self {
        match error {
            SpawnError::NotFound { .. }
            | SpawnError::InterpreterNotFound { .. }
            | SpawnError::PermissionDenied { .. }
            | SpawnError::IsDirectory { .. }
            | SpawnError::Directory { .. } => Self::usage(error.to_string()),
            other => Self::failed(other.to_string()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable(&self.text))
    }
}

/// The exit code of a command; a reason for its failure is printed on stderr.
pub(crate) fn code(outcome: Result<(), Failure>) -> i32 {
    match outcome {
        Ok(()) => SUCCESS,
        Err(failure) => explain(&failure),
    }
}

/// Prints the reason on stderr.
pub(crate) fn explain(failure: &Failure) -> i32 {
    // Earlier log lines come first.
    crate::log::queue::flush();
    if !crate::log::is_explained(failure) {
        // With a closed stderr the exit code has to suffice.
        let word = "error:";
        let word = if color::is_wanted(io::stderr().is_terminal()) { color::error(word) } else { word.to_owned() };
        let _closed = writeln!(io::stderr(), "{word} {failure}");
    }
    failure.code
}

/// Prints the help for a command line without a command: on stderr, because standard output belongs to the protocol.
pub(crate) fn no_command(help: &str) -> i32 {
    let _closed = write!(io::stderr(), "{help}");
    USAGE
}

/// Prints text on stdout, after the log lines before it. A reader that closes its end early is not an error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    crate::log::queue::flush();
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("cannot write to standard output: {error}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_lines_and_no_escape_sequences() {
        assert_eq!(Failure::failed("a\n\tb \x1b]0;title\x07\r").to_string(), "a\n\tb ]0;title");
    }
}
