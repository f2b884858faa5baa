//! A fault that a check has found, without the row that it belongs to.

/// A fault that a check has found, without the row that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) place: String,
    pub(crate) issue: String,
    pub(crate) fix: String,
    pub(crate) more: usize,
}

impl Fault {
    pub(crate) fn new(place: impl Into<String>, issue: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { place: place.into(), issue: issue.into(), fix: fix.into(), more: 0 }
    }
}
