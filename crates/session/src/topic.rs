//! The kinds of subscriptions.

/// The kinds of subscriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topic {
    /// By URI.
    Resource,
    /// By id. Only requests listen for tasks.
    Task,
}
