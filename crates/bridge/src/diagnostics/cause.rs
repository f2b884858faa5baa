//! The reason of a failure: in our words, and in those of the tool process.
//!
//! Our words are for every client. Those of the process are for its author, in the log, and for clients only while all
//! of them are one owner.

use std::fmt;

use protomcp_supervisor::Exit;

use crate::diagnostics::advice;

/// The reason of a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    summary: String,
    /// Follows the summary.
    quoted: String,
}

impl Cause {
    /// The process ended; `when` follows the status, such as ` before it connected`.
    pub(crate) fn exited(exit: &Exit, when: &str) -> Self {
        let mut quoted = String::new();
        for (index, line) in exit.stderr_tail.iter().enumerate() {
            quoted.push_str(if index == 0 { "; its last lines:\n  " } else { "\n  " });
            quoted.push_str(line);
        }
        if let Some(remedy) = advice::after_exit(&exit.stderr_tail) {
            quoted.push('\n');
            quoted.push_str(remedy);
        }
        Self { summary: format!("the tool process {exit}{when}"), quoted }
    }

    /// With a remedy for the author.
    pub(crate) fn with_remedy(mut self, remedy: &str) -> Self {
        self.quoted.push('\n');
        self.quoted.push_str(remedy);
        self
    }

    /// The process gave a reason of its own.
    pub(crate) fn reported(what: &str, reason: &str) -> Self {
        Self { summary: what.to_owned(), quoted: format!(": {reason}") }
    }

    /// In our words alone.
    pub(crate) fn summary(&self) -> &str {
        &self.summary
    }

    /// In full if `in_full`, and otherwise in our words alone.
    pub(crate) fn text(&self, in_full: bool) -> String {
        if in_full { self.to_string() } else { self.summary.clone() }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.summary, self.quoted)
    }
}

impl From<&str> for Cause {
    fn from(summary: &str) -> Self {
        Self { summary: summary.to_owned(), quoted: String::new() }
    }
}

impl From<String> for Cause {
    fn from(summary: String) -> Self {
        Self { summary, quoted: String::new() }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use protomcp_supervisor::Status;

    use super::*;

    #[test]
    fn the_summary_quotes_nothing() {
        let stderr_tail = vec!["Traceback".to_owned(), "KeyError: 42".to_owned()];
        let exit = Exit { status: Status::Code(1), stderr_tail, uptime: Duration::ZERO };
        let notified = Cause::exited(&exit, " before it connected");
        assert_eq!(notified.summary(), "the tool process exited with status 1 before it connected");
        assert_eq!(
            notified.to_string(),
            "the tool process exited with status 1 before it connected; its last lines:\n  Traceback\n  KeyError: 42"
        );
        assert_eq!(notified.text(false), notified.summary());
        let unread = vec!["Unknown file extension \".ts\"".to_owned()];
        let unread = Cause::exited(&Exit { stderr_tail: unread, ..exit.clone() }, "");
        assert!(unread.to_string().contains("\".ts\"\nthis Node does not read"), "{unread}");
        let missing = Cause::exited(&exit, "").with_remedy("install it");
        assert_eq!(
            missing.to_string(),
            "the tool process exited with status 1; its last lines:\n  Traceback\n  KeyError: 42\ninstall it"
        );
        assert_eq!(notified.text(true), notified.to_string());
        let reported = Cause::reported("the tool process reported an error", "account 42");
        assert_eq!(reported.summary(), "the tool process reported an error");
        assert_eq!(reported.to_string(), "the tool process reported an error: account 42");
    }
}
