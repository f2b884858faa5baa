//! The extensions of the envelope that the bridge has announced.

/// The features in the announcement of the bridge; none before it has come.
#[derive(Debug, Default)]
pub(crate) struct Features(Vec<String>);

impl Features {
    pub(crate) fn new(announced: Vec<String>) -> Self {
        Self(announced)
    }

    /// True if the bridge understands this extension (`docs/envelope.md`, Extensions).
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|known| known == name)
    }
}
