//! How the command ends: 0 success, 1 it failed, 2 the command line or what it names is wrong.

use std::fmt;
use std::io::{self, Write};

/// Everything went well.
pub(crate) const SUCCESS: i32 = 0;
/// It was asked for something right and failed.
const FAILED: i32 = 1;
/// It was asked for something wrong.
const USAGE: i32 = 2;

/// Why the command fails, for a person.
#[derive(Debug)]
pub(crate) struct Failure {
    code: i32,
    text: String,
}

impl Failure {
    /// It was asked for something right and failed.
    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self { code: FAILED, text: text.into() }
    }

    /// The command line, or what it names, is wrong.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self { code: USAGE, text: text.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Says why on stderr.
pub(crate) fn explain(failure: &Failure) -> i32 {
    // Whatever was logged before stands before it.
    crate::log::flush();
    // A closed stderr leaves only the exit code to speak.
    let _closed = writeln!(io::stderr(), "error: {failure}");
    failure.code
}

/// Prints what was asked for on stdout. A reader that has seen enough is no failure.
pub(crate) fn print(text: &str) -> i32 {
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => explain(&Failure::failed(error.to_string())),
        Ok(()) | Err(_) => SUCCESS,
    }
}
