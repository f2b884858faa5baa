//! The three modes of a selection.

use std::collections::BTreeSet;

/// The meaning of the names in a [`Selection`](crate::Selection) (docs/envelope.md, "Tool list").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// All tools are visible except the disabled ones.
    Open,
    /// Only the allowed tools are visible (`allowlist`).
    Allow,
    /// All tools are visible except the blocked ones (`blocklist`).
    Block,
}

impl Mode {
    /// True if listing a name shows it; in the other modes listing a name hides it.
    pub(crate) fn listing_shows(self) -> bool {
        match self {
            Self::Allow => true,
            Self::Open | Self::Block => false,
        }
    }
}

/// A new start for a selection: the mode, and its initial names.
///
/// The names need not be registered; they take effect when a tool of that name appears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy<N> {
    /// All tools are visible.
    Open,
    /// Only these tools are visible; without a name, none is. (On the wire an empty `set_allowed` means
    /// [`Policy::Open`]; see [`Command::set_allowed`](crate::Command::set_allowed).)
    Allow(BTreeSet<N>),
    /// All tools except these are visible.
    Block(BTreeSet<N>),
}
