//! The three ways to say which tools are visible.

use std::collections::BTreeSet;

/// How a [`Selection`](crate::Selection) reads the names it lists (protomcp wire 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Everything is visible but what was disabled.
    Open,
    /// Nothing is visible but what was allowed (`allowlist`).
    Allow,
    /// Everything is visible but what was blocked (`blocklist`).
    Block,
}

impl Mode {
    /// Whether listing a name shows it; in the other modes listing it hides it.
    pub(crate) fn listing_shows(self) -> bool {
        match self {
            Self::Allow => true,
            Self::Open | Self::Block => false,
        }
    }
}

/// A fresh start for a selection: the mode, and the names it begins with.
///
/// The names need not be registered; they take effect when a tool of that name appears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy<N> {
    /// Everything is visible.
    Open,
    /// Only these are visible; with no name, nothing is. (On the wire an empty `set_allowed` means [`Policy::Open`]; see
    /// [`Command::set_allowed`](crate::Command::set_allowed).)
    Allow(BTreeSet<N>),
    /// Everything but these is visible.
    Block(BTreeSet<N>),
}
