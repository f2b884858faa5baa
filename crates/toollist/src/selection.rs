//! The visibility rule, without the tools it applies to.
//!
//! The protocol (docs/envelope.md, "Tool list") describes three sets (`disabled`, `allowed`, `blocked`), but each
//! change of mode clears the others and each later command touches only the one its mode reads. So the whole state is
//! one mode and one set:
//!
//! ```text
//!                  set_allowed(names) / set_blocked(names)
//!            ┌───────────────────────────────────────────────┐
//!        Open(disabled)                         Allow(allowed) ⇄ Block(blocked)
//!            └───────────────────────────────────────────────┘
//!                  set_allowed([]) / set_blocked([])
//! ```
//!
//! `enable` and `disable` never change the mode: they add names to the set or remove them.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use crate::command::{Command, Rejected};
use crate::policy::{Mode, Policy};

/// The most names in one [`Selection`].
///
/// Names need not be registered, so without a bound a tool process could grow the set for ever by hiding invented
/// names. The bound is several times the largest tool list the bridge is built for (10,000).
pub const MAX_LISTED_NAMES: usize = 65_536;

/// The visible names: a [`Mode`] and the names it lists.
///
/// Names stay listed when no tool of that name is registered, so a tool that disappears and returns is as visible as
/// before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection<N> {
    mode: Mode,
    listed: BTreeSet<N>,
}

impl<N> Selection<N> {
    /// All tools are visible: the initial state of every tool process.
    pub fn open() -> Self {
        Self { mode: Mode::Open, listed: BTreeSet::new() }
    }

    /// The current mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The names of the mode, sorted: disabled, allowed or blocked ones.
    pub fn listed(&self) -> impl Iterator<Item = &N> {
        self.listed.iter()
    }

    /// True if a tool of this name would be visible.
    pub fn allows<Q: Ord + ?Sized>(&self, name: &Q) -> bool
    where
        N: Borrow<Q> + Ord,
    {
        self.listed.contains(name) == self.mode.listing_shows()
    }
}

impl<N: Ord + Clone> Selection<N> {
    /// Applies a command.
    ///
    /// Costs the logarithm of the set for each name in the command; a command with a policy builds a new set.
    ///
    /// # Errors
    ///
    /// [`Rejected::TooManyNames`]; the selection is unchanged then.
    pub fn apply(&mut self, command: &Command<N>) -> Result<(), Rejected> {
        match &command.policy {
            None => self.edit(&command.enable, &command.disable),
            Some(policy) => {
                let mut fresh = Self::from(policy.clone());
                if fresh.listed.len() > MAX_LISTED_NAMES {
                    return Err(Rejected::TooManyNames);
                }
                fresh.edit(&command.enable, &command.disable)?;
                *self = fresh;
                Ok(())
            }
        }
    }

    fn edit(&mut self, enable: &[N], disable: &[N]) -> Result<(), Rejected> {
        let growing = if self.mode.listing_shows() { enable } else { disable };
        let new = growing.iter().filter(|name| !self.listed.contains(*name)).collect::<BTreeSet<_>>();
        // Names that the same command removes make no room: one plain rule for every mode.
        if self.listed.len() + new.len() > MAX_LISTED_NAMES {
            return Err(Rejected::TooManyNames);
        }
        self.mark(enable, self.mode.listing_shows());
        self.mark(disable, !self.mode.listing_shows());
        Ok(())
    }

    fn mark(&mut self, names: &[N], list: bool) {
        for name in names {
            if list {
                self.listed.insert(name.clone());
            } else {
                self.listed.remove(name);
            }
        }
    }
}

impl<N> Default for Selection<N> {
    fn default() -> Self {
        Self::open()
    }
}

impl<N> From<Policy<N>> for Selection<N> {
    fn from(policy: Policy<N>) -> Self {
        match policy {
            Policy::Open => Self::open(),
            Policy::Allow(allowed) => Self { mode: Mode::Allow, listed: allowed },
            Policy::Block(blocked) => Self { mode: Mode::Block, listed: blocked },
        }
    }
}
