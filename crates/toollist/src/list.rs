//! The registered tools and the base selection, and the effect of each command.
//!
//! Tools are replaced whole (a tool process always sends its full list), so they live in one sorted, shared slice:
//! cloning the list for readers copies no definition, and a look-up is a binary search. Hiding or showing a name costs
//! only that name; a new policy or registration walks the list once.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::change::{Change, Visible};
use crate::command::{Command, Rejected};
use crate::selection::Selection;

/// Registered tools and their visibility. Sorted by name throughout, so equal states look equal to a client.
///
/// The number of tools has no separate bound: each registration replaces the previous one, and it arrives in one
/// envelope, whose size the link bounds.
#[derive(Debug, PartialEq, Eq)]
pub struct ToolList<N, D> {
    /// Sorted by name, each name once.
    registered: Arc<[(N, D)]>,
    selection: Selection<N>,
}

/// The effect of a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration<N> {
    /// The change of the visible (base) list.
    pub visible: Change<N>,
    /// The change of the registered tools, hidden ones included. For a session with its own selection; see
    /// [`Change::seen_through`].
    pub registered: Change<N>,
    /// Duplicate names, sorted, each once. The last definition wins; the author should be warned.
    pub duplicates: Vec<N>,
}

impl<N, D> ToolList<N, D> {
    /// No tools, everything visible.
    pub fn new() -> Self {
        Self { registered: Arc::from([]), selection: Selection::open() }
    }

    /// The base selection, for sessions without their own.
    pub fn selection(&self) -> &Selection<N> {
        &self.selection
    }

    /// Every registered tool, hidden or not, sorted by name.
    pub fn registered(&self) -> impl Iterator<Item = (&N, &D)> {
        self.registered.iter().map(|(name, definition)| (name, definition))
    }
}

impl<N: Ord, D> ToolList<N, D> {
    /// The visible tools, sorted by name.
    pub fn active(&self) -> impl Iterator<Item = (&N, &D)> {
        self.view(&self.selection)
    }

    /// The registered tools as seen through another selection, sorted by name.
    pub fn view<'a>(&'a self, selection: &'a Selection<N>) -> impl Iterator<Item = (&'a N, &'a D)> {
        self.registered().filter(|(name, _)| selection.allows(*name))
    }

    /// A tool if it is visible: hidden is the same as unknown.
    pub fn get<Q: Ord + ?Sized>(&self, name: &Q) -> Option<&D>
    where
        N: Borrow<Q>,
    {
        self.find(&self.selection, name)
    }

    /// [`get`](Self::get) through another selection.
    pub fn find<Q: Ord + ?Sized>(&self, selection: &Selection<N>, name: &Q) -> Option<&D>
    where
        N: Borrow<Q>,
    {
        self.lookup(name).filter(|_| selection.allows(name))
    }

    fn lookup<Q: Ord + ?Sized>(&self, name: &Q) -> Option<&D>
    where
        N: Borrow<Q>,
    {
        let at = self.registered.binary_search_by(|(other, _)| other.borrow().cmp(name)).ok()?;
        Some(&self.registered[at].1)
    }
}

impl<N: Ord + Clone, D> ToolList<N, D> {
    /// Applies a command to the base selection and returns the change of the visible list.
    ///
    /// # Errors
    ///
    /// See [`Rejected`]; the list is unchanged then.
    pub fn apply(&mut self, command: &Command<N>) -> Result<Change<N>, Rejected> {
        let mut selection = std::mem::take(&mut self.selection);
        let outcome = self.apply_to(&mut selection, command);
        self.selection = selection;
        outcome
    }

    /// Applies a command to a session's own selection and returns the change of its view.
    ///
    /// # Errors
    ///
    /// See [`Rejected`]; the selection is unchanged then.
    pub fn apply_to(&self, selection: &mut Selection<N>, command: &Command<N>) -> Result<Change<N>, Rejected> {
        if command.policy.is_some() {
            let before = selection.clone();
            selection.apply(command)?;
            return Ok(self.difference(&before, selection));
        }
        let touched = command.enable.iter().chain(&command.disable).collect::<BTreeSet<_>>();
        let touched = touched.into_iter().filter(|name| self.lookup(*name).is_some());
        let before = touched.map(|name| (name, selection.allows(name))).collect::<Vec<_>>();
        selection.apply(command)?;
        let mut change = Change::none();
        for (name, before) in before {
            change.note(name, Visible { before, after: selection.allows(name) });
        }
        Ok(change)
    }

    /// The difference between the views through two selections. Walks all registered tools.
    pub fn difference(&self, before: &Selection<N>, after: &Selection<N>) -> Change<N> {
        let mut change = Change::none();
        for (name, _) in self.registered() {
            change.note(name, Visible { before: before.allows(name), after: after.allows(name) });
        }
        change
    }
}

impl<N: Ord + Clone, D: PartialEq> ToolList<N, D> {
    /// Replaces the tools and keeps the selection: the same process has registered again.
    pub fn register(&mut self, tools: Vec<(N, D)>) -> Registration<N> {
        let (tools, duplicates) = sorted(tools);
        let next = Self { registered: tools.into(), selection: self.selection.clone() };
        self.replace(next, duplicates)
    }

    /// Replaces the tools and makes all of them visible: a new process has started, which does not know the selection
    /// of its predecessor and will hide tools again itself.
    pub fn restart(&mut self, tools: Vec<(N, D)>) -> Registration<N> {
        let (tools, duplicates) = sorted(tools);
        let next = Self { registered: tools.into(), selection: Selection::open() };
        self.replace(next, duplicates)
    }

    fn replace(&mut self, next: Self, duplicates: Vec<N>) -> Registration<N> {
        let visible = Change::between(self.active(), next.active());
        let registered = Change::between(self.registered(), next.registered());
        *self = next;
        Registration { visible, registered, duplicates }
    }
}

impl<N, D> Clone for ToolList<N, D>
where
    N: Clone,
{
    /// Shares the tools; copies the names that the selection lists.
    fn clone(&self) -> Self {
        Self { registered: Arc::clone(&self.registered), selection: self.selection.clone() }
    }
}

impl<N, D> Default for ToolList<N, D> {
    fn default() -> Self {
        Self::new()
    }
}

/// Sorts by name and keeps the last of each; also returns the duplicate names.
fn sorted<N: Ord + Clone, D>(mut tools: Vec<(N, D)>) -> (Vec<(N, D)>, Vec<N>) {
    let mut duplicates = Vec::new();
    // The sort is stable: among equal names the later registration stays last.
    tools.sort_by(|a, b| a.0.cmp(&b.0));
    tools.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            std::mem::swap(later, kept);
            if duplicates.last() != Some(&kept.0) {
                duplicates.push(kept.0.clone());
            }
        }
        same
    });
    (tools, duplicates)
}
