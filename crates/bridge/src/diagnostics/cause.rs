//! The reason of a failure: in our words, and in the words of the tool process.
//!
//! Our words are for every client. The words of the process are for its author, in the log, and for clients only while
//! all of them are one owner.

use std::fmt;

use protomcp_supervisor::Exit;

use crate::diagnostics::advice;

/// The reason of a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    summary: String,
    /// The reason that the process gave.
    reason: String,
    /// Its last lines.
    lines: String,
    /// For the author.
    remedies: Vec<String>,
}

impl Cause {
    /// The process ended; `when` follows the status, such as ` before it connected`.
    pub(crate) fn exited(exit: &Exit, when: &str) -> Self {
        let mut lines = String::new();
        for (index, line) in exit.stderr_tail.iter().enumerate() {
            lines.push_str(if index == 0 { "; its last lines:\n  " } else { "\n  " });
            lines.push_str(line);
        }
        let cause = Self { lines, ..Self::from(format!("the tool process {exit}{when}")) };
        match advice::after_exit(&exit.stderr_tail) {
            Some(remedy) => cause.with_remedy(remedy),
            None => cause,
        }
    }

    /// With a remedy for the author.
    pub(crate) fn with_remedy(mut self, remedy: &str) -> Self {
        self.remedies.push(remedy.to_owned());
        self
    }

    /// The process gave its own reason.
    pub(crate) fn reported(what: &str, reason: &str) -> Self {
        Self { reason: format!(": {reason}"), ..Self::from(what) }
    }

    /// In our words alone.
    pub(crate) fn summary(&self) -> &str {
        &self.summary
    }

    /// In full for a log that has the lines of the process already.
    pub(crate) fn without_lines(&self) -> String {
        let remedies: String = self.remedies.iter().map(|remedy| format!("; {remedy}")).collect();
        format!("{}{}{remedies}", self.summary, self.reason)
    }

    /// In full if `in_full`, and otherwise in our words alone.
    pub(crate) fn text(&self, in_full: bool) -> String {
        if in_full { self.to_string() } else { self.summary.clone() }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.summary, self.reason, self.lines)?;
        self.remedies.iter().try_for_each(|remedy| write!(f, "\n{remedy}"))
    }
}

impl From<&str> for Cause {
    fn from(summary: &str) -> Self {
        Self::from(summary.to_owned())
    }
}

impl From<String> for Cause {
    fn from(summary: String) -> Self {
        Self { summary, reason: String::new(), lines: String::new(), remedies: Vec::new() }
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
        assert_eq!(missing.without_lines(), "the tool process exited with status 1; install it");
        assert_eq!(notified.without_lines(), notified.summary());
        assert_eq!(notified.text(true), notified.to_string());
        let reported = Cause::reported("the tool process reported an error", "account 42");
        assert_eq!(reported.summary(), "the tool process reported an error");
        assert_eq!(reported.to_string(), "the tool process reported an error: account 42");
        assert_eq!(reported.without_lines(), reported.to_string(), "no line of the log has it");
    }
}
