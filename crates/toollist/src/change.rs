//! The effect of a command on a visible list.

use std::cmp::Ordering;

use crate::selection::Selection;

/// The difference between a list before and after. Each part is sorted and no name is in two of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change<N> {
    /// Names that became visible.
    pub added: Vec<N>,
    /// Names that are no longer visible.
    pub removed: Vec<N>,
    /// Names that stay visible with another definition.
    pub updated: Vec<N>,
}

impl<N> Change<N> {
    /// No difference.
    pub fn none() -> Self {
        Self { added: Vec::new(), removed: Vec::new(), updated: Vec::new() }
    }

    /// True if both lists are the same, so that no notification is due.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.updated.is_empty()
    }
}

impl<N: Ord + Clone> Change<N> {
    /// Compares two lists, both sorted by name without duplicates, such as two [views](crate::ToolList::view).
    ///
    /// One pass over both, for two whole lists such as a session's view of the list before and after a restart;
    /// [`ToolList`](crate::ToolList) computes its own changes from the names it touched.
    pub fn between<'a, D: PartialEq + 'a>(
        before: impl IntoIterator<Item = (&'a N, &'a D)>,
        after: impl IntoIterator<Item = (&'a N, &'a D)>,
    ) -> Self
    where
        N: 'a,
    {
        let mut change = Self::none();
        let (mut before, mut after) = (before.into_iter(), after.into_iter());
        let (mut old, mut new) = (before.next(), after.next());
        loop {
            match (old, new) {
                (None, None) => return change,
                (Some((name, _)), None) => {
                    change.removed.push(name.clone());
                    old = before.next();
                }
                (None, Some((name, _))) => {
                    change.added.push(name.clone());
                    new = after.next();
                }
                (Some((left, was)), Some((right, is))) => match left.cmp(right) {
                    Ordering::Less => {
                        change.removed.push(left.clone());
                        old = before.next();
                    }
                    Ordering::Greater => {
                        change.added.push(right.clone());
                        new = after.next();
                    }
                    Ordering::Equal => {
                        if was != is {
                            change.updated.push(right.clone());
                        }
                        old = before.next();
                        new = after.next();
                    }
                },
            }
        }
    }

    /// The part of a change of *registered* tools that is visible through this selection.
    pub fn seen_through(&self, selection: &Selection<N>) -> Self {
        let visible = |names: &[N]| names.iter().filter(|name| selection.allows(*name)).cloned().collect();
        Self { added: visible(&self.added), removed: visible(&self.removed), updated: visible(&self.updated) }
    }

    /// Records the visibility of one registered name before and after. Must be called in the order of names.
    pub(crate) fn note(&mut self, name: &N, visible: Visible) {
        match visible {
            Visible { before: false, after: true } => self.added.push(name.clone()),
            Visible { before: true, after: false } => self.removed.push(name.clone()),
            Visible { .. } => {}
        }
    }
}

/// The visibility of one name before and after a change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Visible {
    pub(crate) before: bool,
    pub(crate) after: bool,
}

impl<N> Default for Change<N> {
    fn default() -> Self {
        Self::none()
    }
}
