//! The difference between a value and its schema, as a text.

use std::fmt;

/// The faults of a value, at most eight of them; the rest is counted.
///
/// [`Display`](fmt::Display) writes them in one line, for a log. [`Mismatch::list`] writes one line for each, for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    pub(crate) faults: Vec<String>,
    pub(crate) more: usize,
}

impl Mismatch {
    /// A mismatch with one fault, in the words of the caller.
    pub fn new(fault: impl Into<String>) -> Self {
        Self { faults: vec![fault.into()], more: 0 }
    }

    /// One line for each fault, with a dash before it.
    #[must_use]
    pub fn list(&self) -> String {
        let mut text = self.faults.iter().map(|fault| format!("- {fault}")).collect::<Vec<_>>().join("\n");
        if self.more > 0 {
            text.push_str(&format!("\n- and {} more", self.more));
        }
        text
    }

    /// The text for a model whose call of this tool has arguments that do not match.
    #[must_use]
    pub fn of_arguments(&self, tool: &str) -> String {
        format!("invalid arguments for tool \"{tool}\":\n{}", self.list())
    }

    /// The text for a model whose call of an action of this tool has arguments that do not match.
    #[must_use]
    pub fn of_action(&self, tool: &str, action: &str) -> String {
        format!("invalid arguments for action \"{action}\" of tool \"{tool}\":\n{}", self.list())
    }

    /// The text for a call whose result does not match the output schema of its tool.
    #[must_use]
    pub fn of_result(&self, tool: &str) -> String {
        format!("the result of tool \"{tool}\" does not fit its own output schema:\n{}", self.list())
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.faults.join("; "))?;
        if self.more > 0 {
            write!(f, "; and {} more", self.more)?;
        }
        Ok(())
    }
}
