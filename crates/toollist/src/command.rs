//! An atomic change of a selection.

use crate::policy::Policy;
use crate::selection::MAX_LISTED_NAMES;

/// A change of a [`Selection`](crate::Selection): a policy replaces it, if there is one, then `enable` is applied, then
/// `disable`. A name in both is disabled (docs/envelope.md, "Tool list").
///
/// A command is applied as a whole or not at all, and is announced as one [`Change`](crate::Change).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command<N> {
    /// Replaces mode and names.
    pub policy: Option<Policy<N>>,
    /// Makes these names visible, in any mode.
    pub enable: Vec<N>,
    /// Makes these names invisible, in any mode.
    pub disable: Vec<N>,
}

impl<N: Ord> Command<N> {
    /// The `enable_tools` message.
    pub fn enable(names: Vec<N>) -> Self {
        Self::enable_then_disable(names, Vec::new())
    }

    /// The `disable_tools` message.
    pub fn disable(names: Vec<N>) -> Self {
        Self::enable_then_disable(Vec::new(), names)
    }

    /// The two lists inside a call's result.
    pub fn enable_then_disable(enable: Vec<N>, disable: Vec<N>) -> Self {
        Self { policy: None, enable, disable }
    }

    /// The `set_allowed` message: only these names are visible. An empty list resets the mode to open.
    pub fn set_allowed(names: Vec<N>) -> Self {
        Self::switch_to(if names.is_empty() { Policy::Open } else { Policy::Allow(names.into_iter().collect()) })
    }

    /// The `set_blocked` message: all other names are visible. An empty list resets the mode to open.
    pub fn set_blocked(names: Vec<N>) -> Self {
        Self::switch_to(if names.is_empty() { Policy::Open } else { Policy::Block(names.into_iter().collect()) })
    }

    /// The `batch` message. Here an empty `allow` or `block` keeps the mode instead of resetting it.
    ///
    /// # Errors
    ///
    /// [`Rejected::AllowAndBlock`] if both are given: they contradict each other, so no part of the batch is applied.
    pub fn batch(batch: Batch<N>) -> Result<Self, Rejected> {
        let Batch { enable, disable, allow, block } = batch;
        let policy = match (allow.is_empty(), block.is_empty()) {
            (true, true) => None,
            (false, true) => Some(Policy::Allow(allow.into_iter().collect())),
            (true, false) => Some(Policy::Block(block.into_iter().collect())),
            (false, false) => return Err(Rejected::AllowAndBlock),
        };
        Ok(Self { policy, enable, disable })
    }

    /// Replaces mode and names.
    pub fn switch_to(policy: Policy<N>) -> Self {
        Self { policy: Some(policy), enable: Vec::new(), disable: Vec::new() }
    }
}

/// The fields of a `batch` message, as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch<N> {
    /// Names to make visible, after `allow` or `block` is applied.
    pub enable: Vec<N>,
    /// Names to make invisible, after `enable`.
    pub disable: Vec<N>,
    /// If not empty, the only visible names at first.
    pub allow: Vec<N>,
    /// If not empty, the only invisible names at first.
    pub block: Vec<N>,
}

impl<N> Default for Batch<N> {
    fn default() -> Self {
        Self { enable: Vec::new(), disable: Vec::new(), allow: Vec::new(), block: Vec::new() }
    }
}

/// The reason for which a command was not applied. The wire has no error for it, so the sender receives the unchanged
/// list and the reason is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejected {
    /// A batch has both an allowlist and a blocklist.
    #[error("a batch cannot both allow and block; nothing of it was applied")]
    AllowAndBlock,
    /// The selection would have to remember more than [`MAX_LISTED_NAMES`] names.
    #[error("a selection remembers at most {MAX_LISTED_NAMES} names; nothing of the command was applied")]
    TooManyNames,
}
