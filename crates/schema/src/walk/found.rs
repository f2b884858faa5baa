//! The faults that a comparison of a value with a schema has found.

use std::ptr;
use std::rc::Rc;

use serde_json::Value;

use crate::walk::path::Path;

/// The most faults that the search for a tag looks at.
const MAX_LOOKED_AT: usize = 256;
/// The most assertions that describe the values that a union expects.
const MAX_EXPECTED: usize = 32;

/// The keywords of a schema that look at the value itself, and that a value violates.
#[derive(Debug, Clone)]
pub(crate) struct Assertion<'a> {
    pub(crate) schema: &'a Value,
    pub(crate) value: &'a Value,
    /// The location of the value, and the value around it.
    pub(crate) path: Path<'a>,
    pub(crate) parent: Option<&'a Value>,
    pub(crate) kind: Kind,
}

/// The kind of an assertion: types and constants tell the branches of a union apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The value has another type.
    Type,
    /// The value is not among the expected ones.
    Constant,
    Other,
}

/// A fault of a value, in the form in which it is described.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault<'f, 'a> {
    /// These keywords are violated.
    Assertion(&'f Assertion<'a>),
    /// The value fits none of several schemas that expect other values at its place.
    Values(&'f [Assertion<'a>]),
    /// The value fits a schema that it must not fit: the schema with the keyword `not`.
    Forbidden(&'f Assertion<'a>),
    /// The value fits several schemas, and must fit exactly one of them.
    Ambiguous(&'f Assertion<'a>),
}

/// The faults of one comparison. None means that the value fits, if the comparison is complete.
#[derive(Debug, Default)]
pub(crate) struct Found<'a> {
    items: Vec<Item<'a>>,
    count: usize,
    is_incomplete: bool,
}

#[derive(Debug)]
enum Item<'a> {
    Assertion(Assertion<'a>),
    Forbidden(Assertion<'a>),
    Ambiguous(Assertion<'a>),
    Inside(Rc<Found<'a>>),
    Choice(Choice<'a>),
}

impl<'a> Found<'a> {
    /// Nothing is known.
    pub(super) fn unknown() -> Self {
        Self { items: Vec::new(), count: 0, is_incomplete: true }
    }

    /// The number of faults. One that several schemas find counts once for each.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Nothing was left out.
    pub(crate) fn is_complete(&self) -> bool {
        !self.is_incomplete
    }

    /// Calls `each` with the faults in order, the faults of the nearest branch for a union, until it returns false.
    pub(crate) fn visit<'f>(&'f self, each: &mut impl FnMut(Fault<'f, 'a>) -> bool) -> bool {
        self.items.iter().all(|item| match item {
            Item::Assertion(assertion) => each(Fault::Assertion(assertion)),
            Item::Forbidden(assertion) => each(Fault::Forbidden(assertion)),
            Item::Ambiguous(assertion) => each(Fault::Ambiguous(assertion)),
            Item::Inside(inside) => inside.visit(each),
            Item::Choice(choice) => match &choice.shown {
                Shown::Values(expected) => each(Fault::Values(expected)),
                Shown::Branch(index) => choice.branches.get(*index).is_none_or(|(near, _)| near.visit(each)),
            },
        })
    }

    /// Calls `each` with every value that a fault is about, outside of unions and in all their branches, until it returns
    /// false. The flag is true for a value in a branch.
    pub(crate) fn visit_values<'f>(
        &'f self,
        is_inside: bool,
        each: &mut impl FnMut(&'f Path<'a>, &'a Value, bool) -> bool,
    ) -> bool {
        self.items.iter().all(|item| match item {
            Item::Assertion(assertion) | Item::Forbidden(assertion) | Item::Ambiguous(assertion) => {
                each(&assertion.path, assertion.value, is_inside)
            }
            Item::Inside(inside) => inside.visit_values(is_inside, each),
            Item::Choice(choice) => {
                each(&choice.path, choice.value, is_inside)
                    && choice.branches.iter().all(|(branch, _)| branch.visit_values(true, each))
            }
        })
    }

    fn first(&self) -> Option<Fault<'_, 'a>> {
        let mut first = None;
        self.visit(&mut |fault| {
            first = Some(fault);
            false
        });
        first
    }
}

impl<'f, 'a> Fault<'f, 'a> {
    /// The first of the keywords that are violated.
    pub(crate) fn assertion(&self) -> Option<&'f Assertion<'a>> {
        match self {
            Self::Assertion(assertion) | Self::Forbidden(assertion) | Self::Ambiguous(assertion) => Some(assertion),
            Self::Values(expected) => expected.first(),
        }
    }

    /// The schemas that expect other values, if that is all the fault says.
    fn expected(&self) -> Option<&'f [Assertion<'a>]> {
        match self {
            Self::Assertion(assertion) if assertion.kind != Kind::Other => Some(std::slice::from_ref(assertion)),
            Self::Values(expected) => Some(expected),
            Self::Assertion(_) | Self::Forbidden(_) | Self::Ambiguous(_) => None,
        }
    }
}

/// Collects the findings of a comparison.
#[derive(Debug, Default)]
pub(super) struct Builder<'a>(Found<'a>);

impl<'a> Builder<'a> {
    pub(super) fn build(self) -> Found<'a> {
        self.0
    }

    /// Records that something was left out.
    pub(super) fn mark_incomplete(&mut self) {
        self.0.is_incomplete = true;
    }

    /// Violated keywords, with the number of their faults.
    pub(super) fn assertion(&mut self, assertion: Assertion<'a>, faults: usize) {
        self.0.items.push(Item::Assertion(assertion));
        self.count(faults);
    }

    pub(super) fn forbidden(&mut self, assertion: Assertion<'a>) {
        self.0.items.push(Item::Forbidden(assertion));
        self.count(1);
    }

    pub(super) fn ambiguous(&mut self, assertion: Assertion<'a>) {
        self.0.items.push(Item::Ambiguous(assertion));
        self.count(1);
    }

    /// The faults of a comparison that is part of this one.
    pub(super) fn add(&mut self, inside: Rc<Found<'a>>) {
        self.0.is_incomplete |= inside.is_incomplete;
        self.count(inside.count);
        if inside.count > 0 {
            self.0.items.push(Item::Inside(inside));
        }
    }

    /// The faults of a value that fits no branch of a union.
    pub(super) fn choose(&mut self, mut choice: Choice<'a>) {
        choice.shown = match choice.values().or_else(|| choice.tags()) {
            Some(expected) => Shown::Values(expected),
            None => Shown::Branch(choice.nearest()),
        };
        self.count(match &choice.shown {
            Shown::Values(_) => 1,
            Shown::Branch(index) => choice.branches.get(*index).map_or(1, |(near, _)| near.count),
        });
        self.0.items.push(Item::Choice(choice));
    }

    fn count(&mut self, faults: usize) {
        self.0.count = self.0.count.saturating_add(faults);
    }
}

/// The branches of a union for a value.
#[derive(Debug)]
pub(super) struct Choice<'a> {
    path: Path<'a>,
    value: &'a Value,
    /// Each with true if a tag of the value tells it apart.
    branches: Vec<(Rc<Found<'a>>, bool)>,
    shown: Shown<'a>,
}

/// The description of a value that fits no branch.
#[derive(Debug)]
enum Shown<'a> {
    /// By the values that the branches expect.
    Values(Vec<Assertion<'a>>),
    /// By the faults of a branch.
    Branch(usize),
}

impl<'a> Choice<'a> {
    pub(super) fn new(path: Path<'a>, value: &'a Value) -> Self {
        Self { path, value, branches: Vec::new(), shown: Shown::Branch(0) }
    }

    /// The value is of another type than this branch expects, or has another constant in a member.
    pub(super) fn tells_apart(&self, surface: &Found<'a>) -> bool {
        let (mut differs, mut left) = (false, MAX_LOOKED_AT);
        surface.visit(&mut |fault| {
            left -= 1;
            let expected = fault.expected().unwrap_or_default();
            differs |= expected.iter().any(|one| self.is_here(one) || self.is_tag(one));
            !differs && left > 0
        });
        differs
    }

    pub(super) fn add(&mut self, branch: Rc<Found<'a>>, differs: bool) {
        self.branches.push((branch, differs));
    }

    /// The branches without faults.
    pub(super) fn fitting(&self) -> usize {
        self.branches.iter().filter(|(branch, _)| branch.count == 0).count()
    }

    /// Nothing was left out of the branches without faults.
    pub(super) fn is_certain(&self) -> bool {
        self.branches.iter().all(|(branch, _)| branch.count > 0 || branch.is_complete())
    }

    /// The branch that the value resembles most: one that no tag tells apart, with the fewest faults.
    fn nearest(&self) -> usize {
        let candidates = self.branches.iter().enumerate().filter(|(_, (branch, _))| self.value_of(branch).is_none());
        candidates.min_by_key(|(_, (branch, differs))| (*differs, branch.count)).map_or(0, |(index, _)| index)
    }

    /// The values that are expected in place of this one, if no branch describes a part of a value.
    fn values(&self) -> Option<Vec<Assertion<'a>>> {
        self.joined(|branch| self.value_of(branch))
    }

    /// The constants that are expected in the member that tells all branches apart.
    fn tags(&self) -> Option<Vec<Assertion<'a>>> {
        let expected = self.joined(|branch| self.tag_of(branch))?;
        let member = expected.first()?.value;
        expected.iter().all(|one| ptr::eq(one.value, member)).then_some(expected)
    }

    fn joined<'f>(
        &'f self,
        expected: impl Fn(&'f Found<'a>) -> Option<&'f [Assertion<'a>]>,
    ) -> Option<Vec<Assertion<'a>>> {
        let mut all: Vec<Assertion<'a>> = Vec::new();
        for (branch, _) in &self.branches {
            for one in expected(branch)? {
                if all.len() < MAX_EXPECTED && !all.iter().any(|known| ptr::eq(known.schema, one.schema)) {
                    all.push(one.clone());
                }
            }
        }
        Some(all)
    }

    /// The values that a branch expects in place of this one.
    fn value_of<'f>(&self, branch: &'f Found<'a>) -> Option<&'f [Assertion<'a>]> {
        branch.first()?.expected().filter(|expected| expected.iter().all(|one| self.is_here(one)))
    }

    /// The constants that a branch expects in a member.
    fn tag_of<'f>(&self, branch: &'f Found<'a>) -> Option<&'f [Assertion<'a>]> {
        let (mut tag, mut left) = (None, MAX_LOOKED_AT);
        branch.visit(&mut |fault| {
            left -= 1;
            tag = fault.expected().filter(|expected| expected.iter().all(|one| self.is_tag(one)));
            tag.is_none() && left > 0
        });
        tag
    }

    fn is_here(&self, assertion: &Assertion<'a>) -> bool {
        ptr::eq(assertion.value, self.value)
    }

    fn is_tag(&self, assertion: &Assertion<'a>) -> bool {
        assertion.kind == Kind::Constant && assertion.parent.is_some_and(|parent| ptr::eq(parent, self.value))
    }
}
