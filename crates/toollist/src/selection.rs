//! The visibility rule, without the tools it is applied to.
//!
//! The wire contract speaks of three sets (`disabled`, `allowed`, `blocked`), but every switch of mode clears the others
//! and every later step touches only the one its mode reads. So the whole state is one mode and one set:
//!
//! ```text
//!                  set_allowed(names) / set_blocked(names)
//!            ┌───────────────────────────────────────────────┐
//!        Open(disabled)                         Allow(allowed) ⇄ Block(blocked)
//!            └───────────────────────────────────────────────┘
//!                  set_allowed([]) / set_blocked([])
//! ```
//!
//! `enable` and `disable` never leave the mode: they put names on the list or take them off.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use crate::command::{Command, Rejected};
use crate::policy::{Mode, Policy};

/// The most names one [`Selection`] remembers.
///
/// Names need not be registered, so a tool process could otherwise grow the set for ever by hiding names it makes up.
/// The bound is several times the largest tool list the bridge is built for (10,000).
pub const MAX_LISTED_NAMES: usize = 65_536;

/// Which names may be seen: a [`Mode`] and the names it lists.
///
/// Names are remembered whether or not a tool of that name is registered, so a tool that disappears and returns is as
/// visible as before (protomcp wire 3.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection<N> {
    mode: Mode,
    listed: BTreeSet<N>,
}

impl<N> Selection<N> {
    /// Everything is visible: the state in which every tool process starts.
    pub fn open() -> Self {
        Self { mode: Mode::Open, listed: BTreeSet::new() }
    }

    /// The mode in force.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The names the mode speaks of, sorted: disabled, allowed or blocked ones.
    pub fn listed(&self) -> impl Iterator<Item = &N> {
        self.listed.iter()
    }

    /// Whether a tool of this name would be visible.
    pub fn allows<Q: Ord + ?Sized>(&self, name: &Q) -> bool
    where
        N: Borrow<Q> + Ord,
    {
        self.listed.contains(name) == self.mode.listing_shows()
    }
}

impl<N: Ord + Clone> Selection<N> {
    /// Takes one step.
    ///
    /// Costs the logarithm of the set for each name in the command; a command with a policy builds a new set.
    ///
    /// # Errors
    ///
    /// [`Rejected::TooManyNames`]; the selection is then as it was.
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
        // Names that the same command takes off the list make no room: one plain rule for every mode.
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
