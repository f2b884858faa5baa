//! The values that an explanation repeats.

/// The values that an explanation repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quote {
    /// Short values are repeated: the explanation goes back to the sender of the value.
    Values,
    /// No value is repeated: the explanation may end up in a log.
    Nothing,
}
