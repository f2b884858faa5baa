//! The parts of a schema that its message does not express.

use serde::Serialize;

/// The parts that were lost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    losses: Vec<Loss>,
}

/// A keyword that the message does not express as the schema does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The place in the schema, as a JSON pointer.
    pub pointer: String,
    /// The keyword.
    pub keyword: String,
    /// The difference.
    pub reason: String,
    /// The severity.
    pub verdict: Verdict,
}

/// The severity of a loss, and the worst of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The message accepts the same JSON, but for what the [module](crate::convert) says of every message.
    Lossless,
    /// A rule is not checked, or checked differently.
    Lossy,
    /// A part has no specific type: it is any JSON value, object or list.
    Fallback,
}

impl Report {
    /// The losses of each message: the losses of its fields in the order of the schema, then the losses of their names.
    #[must_use]
    pub fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// The worst loss.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.losses.iter().map(|loss| loss.verdict).max().unwrap_or(Verdict::Lossless)
    }

    pub(crate) fn add(&mut self, verdict: Verdict, pointer: &str, keyword: &str, reason: &str) {
        let (pointer, keyword, reason) = (pointer.to_owned(), keyword.to_owned(), reason.to_owned());
        let loss = Loss { pointer, keyword, reason, verdict };
        if !self.losses.contains(&loss) {
            self.losses.push(loss);
        }
    }
}
