//! Finds the faults of a value that does not match its schema, in a bounded number of steps.
//!
//! A list of all errors cannot explain a value: it holds the errors of each branch of each union, with the errors of
//! the unions inside it, so that a value of 300 bytes can have gigabytes of them. The walk compares each value with
//! each schema once. It goes into a branch of a union only if the surface of the value, which is the value and the
//! members next to it, does not tell the branch apart: a tree of tagged nodes is walked along its tags.
//!
//! The library judges single keywords. The walk knows the keywords that apply schemas to parts of a value; where it meets
//! one that it does not know, it claims nothing.

mod found;
mod keywords;
pub(crate) mod path;
pub(crate) mod references;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ptr;
use std::rc::Rc;

use jsonschema::Draft;
use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value};

use self::found::{Assertion, Builder, Choice, Found, Kind};
use self::keywords::{Assertions, Patterns};
use crate::describe::{Describer, expected, placed};
use crate::quote::Quote;

pub(crate) use self::found::Fault;
use crate::walk::path::{Path, Step};
use crate::walk::references::References;

/// The comparisons that explain a value: at most some twenty milliseconds, and some megabytes.
pub(crate) const MAX_STEPS: usize = 20_000;
/// The comparisons inside one another. JSON is at most 128 deep, and each level takes a few.
const MAX_DEPTH: usize = 640;
/// The options of a violated `enum`, names in `required` and the like that cost as much as a comparison.
const OPTIONS_A_STEP: usize = 4;
/// The members or elements of a value that cost as much, if a keyword about all of them is violated.
const VALUES_A_STEP: usize = 64;

/// The parts of a value that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Reach {
    /// The value itself.
    Alone,
    /// The value and its members, without theirs.
    Surface,
    /// Everything.
    Whole,
}

/// One comparison: a schema, a value, where it is, and how much of it is compared.
#[derive(Clone)]
struct Pair<'a> {
    schema: &'a Value,
    value: &'a Value,
    parent: Option<&'a Value>,
    path: Path<'a>,
    reach: Reach,
}

impl<'a> Pair<'a> {
    /// The same value with another schema.
    fn with(&self, schema: &'a Value) -> Self {
        Self { schema, ..self.clone() }
    }

    fn assertion(&self, kind: Kind) -> Assertion<'a> {
        Assertion { schema: self.schema, value: self.value, path: self.path.clone(), parent: self.parent, kind }
    }
}

/// The faults of one value after the other, and what is known from them.
pub(crate) struct Walk<'a> {
    draft: Draft,
    assertions: Assertions,
    patterns: Patterns,
    references: References<'a>,
    /// The comparisons made. `None`: under way, and another one inside it means nothing new.
    known: HashMap<(*const Value, *const Value, Reach), Option<Rc<Found<'a>>>>,
    /// The comparisons that are left.
    steps: usize,
    depth: usize,
}

impl<'a> Walk<'a> {
    /// A walk of no more than this many comparisons.
    pub(crate) fn new(root: &'a Value, draft: Draft, steps: usize) -> Self {
        Self {
            draft,
            assertions: Assertions::new(draft),
            patterns: Patterns::new(draft),
            references: References::new(root, draft),
            known: HashMap::new(),
            steps,
            depth: 0,
        }
    }

    /// The faults of a value.
    pub(crate) fn faults(&mut self, schema: &'a Value, value: &'a Value) -> Rc<Found<'a>> {
        self.compare(&Pair { schema, value, parent: None, path: Path::default(), reach: Reach::Whole })
    }

    /// The comparisons that are left.
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    /// The lines that describe a fault, no more than `most`.
    pub(crate) fn describe(&mut self, fault: Fault<'_, 'a>, quote: Quote, most: usize) -> Vec<String> {
        let describer = Describer { quote };
        let Some(first) = fault.assertion() else { return Vec::new() };
        let texts = match fault {
            Fault::Assertion(Assertion { schema, value, .. }) => {
                let Some(asserting) = self.assertions.of(schema) else { return Vec::new() };
                let errors = asserting.validator.iter_errors(value).take(most);
                errors.flat_map(|error| describer.describe(schema, value, &error, most)).take(most).collect()
            }
            Fault::Values(schemas) => {
                let mut all: Vec<String> = Vec::new();
                for text in schemas.iter().filter_map(|one| self.expected(one)) {
                    if !all.contains(&text) {
                        all.push(text);
                    }
                }
                vec![describer.values(first.value, &all)]
            }
            Fault::Forbidden(one) => vec![describer.forbidden(one.value, one.schema.get("not").unwrap_or_default())],
            Fault::Ambiguous(one) => vec![describer.ambiguous(one.value)],
        };
        texts.iter().map(|text: &String| placed(&first.path, text)).collect()
    }

    /// The values that a schema expects.
    fn expected(&mut self, assertion: &Assertion<'a>) -> Option<String> {
        let validator = self.assertions.of(assertion.schema)?.validator;
        validator.iter_errors(assertion.value).find_map(|error| expected(&error))
    }

    fn compare(&mut self, pair: &Pair<'a>) -> Rc<Found<'a>> {
        let key = (ptr::from_ref(pair.schema), ptr::from_ref(pair.value), pair.reach);
        if let Some(known) = self.known.get(&key) {
            // A schema that applies itself to the same value adds nothing.
            return known.clone().unwrap_or_default();
        }
        if self.steps == 0 || self.depth == MAX_DEPTH {
            return Rc::new(Found::unknown());
        }
        self.steps -= 1;
        self.depth += 1;
        self.known.insert(key, None);
        let found = Rc::new(self.look(pair));
        self.known.insert(key, Some(Rc::clone(&found)));
        self.depth -= 1;
        found
    }

    fn look(&mut self, pair: &Pair<'a>) -> Found<'a> {
        let mut found = Builder::default();
        let Value::Object(schema) = pair.schema else {
            self.assert(pair, &mut found);
            return found.build();
        };
        let refers = schema.contains_key("$ref");
        if refers && matches!(self.draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7) {
            // Earlier drafts ignore what stands next to a reference.
            self.refer(pair, schema, &mut found);
            return found.build();
        }
        if keywords::is_unknown(schema) {
            found.mark_incomplete();
        }
        self.assert(pair, &mut found);
        self.refer(pair, schema, &mut found);
        self.combine(pair, schema, &mut found);
        self.descend(pair, schema, &mut found);
        found.build()
    }

    /// Compares with the keywords that look at the value itself.
    fn assert(&mut self, pair: &Pair<'a>, found: &mut Builder<'a>) {
        let Some(asserting) = self.assertions.of(pair.schema) else { return };
        if asserting.validator.is_valid(pair.value) {
            return;
        }
        let size = match pair.value {
            Value::Object(members) => members.len(),
            Value::Array(elements) => elements.len(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
        };
        self.steps = self.steps.saturating_sub(asserting.weight / OPTIONS_A_STEP + size / VALUES_A_STEP);
        let (mut kind, mut faults) = (None, 0);
        for error in asserting.validator.iter_errors(pair.value) {
            let (this, count) = match error.kind() {
                ValidationErrorKind::Type { .. } => (Kind::Type, 1),
                ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. } => (Kind::Constant, 1),
                ValidationErrorKind::AdditionalProperties { unexpected }
                | ValidationErrorKind::UnevaluatedProperties { unexpected } => (Kind::Other, unexpected.len()),
                _ => (Kind::Other, 1),
            };
            kind.get_or_insert(this);
            faults += count;
        }
        if let Some(kind) = kind {
            found.assertion(pair.assertion(kind), faults);
        }
    }

    /// Compares with the schemas that this one refers to.
    fn refer(&mut self, pair: &Pair<'a>, schema: &'a Map<String, Value>, found: &mut Builder<'a>) {
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let Some(reference) = schema.get(keyword).and_then(Value::as_str) else { continue };
            match self.references.find(reference) {
                Some(schema) => found.add(self.compare(&pair.with(schema))),
                None => found.mark_incomplete(),
            }
        }
    }

    /// Compares with the schemas that this one combines.
    fn combine(&mut self, pair: &Pair<'a>, schema: &'a Map<String, Value>, found: &mut Builder<'a>) {
        for schema in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            found.add(self.compare(&pair.with(schema)));
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(branches) = schema.get(keyword).and_then(Value::as_array) {
                self.choose(pair, keyword, branches, found);
            }
        }
        if let Some(schema) = schema.get("not") {
            let inner = self.compare(&pair.with(schema));
            match (inner.count(), pair.reach) {
                (0, Reach::Whole) if inner.is_complete() => found.forbidden(pair.assertion(Kind::Other)),
                (0, _) => found.mark_incomplete(),
                _ => {}
            }
        }
        if let Some(condition) = schema.get("if") {
            let condition = self.compare(&pair.with(condition));
            let consequence = match condition.count() {
                0 if condition.is_complete() && pair.reach == Reach::Whole => "then",
                0 => return found.mark_incomplete(),
                _ => "else",
            };
            if let Some(schema) = schema.get(consequence) {
                found.add(self.compare(&pair.with(schema)));
            }
        }
    }

    /// Compares with the branches of a union: with all of each branch that fits the surface of the value, or with the
    /// surface of all if none does.
    fn choose(&mut self, pair: &Pair<'a>, keyword: &str, branches: &'a [Value], found: &mut Builder<'a>) {
        let is_whole = pair.reach == Reach::Whole;
        let near = if is_whole { Reach::Surface } else { pair.reach };
        let mut choice = Choice::new(pair.path.clone(), pair.value);
        for schema in branches {
            let surface = self.compare(&Pair { reach: near, ..pair.with(schema) });
            let differs = choice.tells_apart(&surface);
            let branch = if differs || !is_whole { surface } else { self.compare(&pair.with(schema)) };
            choice.add(branch, differs);
        }
        match choice.fitting() {
            0 => found.choose(choice),
            // A branch with an unknown keyword may fit or not.
            1.. if !choice.is_certain() || !is_whole => found.mark_incomplete(),
            2.. if keyword == "oneOf" => found.ambiguous(pair.assertion(Kind::Other)),
            _ => {}
        }
    }

    /// Compares the members or elements of the value with their schemas.
    fn descend(&mut self, pair: &Pair<'a>, schema: &'a Map<String, Value>, found: &mut Builder<'a>) {
        let reach = match pair.reach {
            Reach::Whole => Reach::Whole,
            Reach::Surface => Reach::Alone,
            Reach::Alone => return,
        };
        match pair.value {
            Value::Object(members) => {
                for (name, value) in members {
                    let path = pair.path.child(Step::Member(name));
                    let member = Pair { schema: pair.schema, value, parent: Some(pair.value), path, reach };
                    self.member(schema, name, &member, found);
                    if self.steps == 0 {
                        return found.mark_incomplete();
                    }
                }
                for keyword in ["dependentSchemas", "dependencies"] {
                    for (name, schema) in schema.get(keyword).and_then(Value::as_object).into_iter().flatten() {
                        if members.contains_key(name) && !schema.is_array() {
                            found.add(self.compare(&pair.with(schema)));
                        }
                    }
                }
            }
            Value::Array(elements) => {
                for (index, value) in elements.iter().enumerate() {
                    if let Some(schema) = keywords::of_element(schema, index) {
                        let path = pair.path.child(Step::Element(index));
                        found.add(self.compare(&Pair { schema, value, parent: Some(pair.value), path, reach }));
                    }
                    if self.steps == 0 {
                        return found.mark_incomplete();
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Compares a member with each schema that applies to its name.
    fn member(&mut self, schema: &'a Map<String, Value>, name: &str, member: &Pair<'a>, found: &mut Builder<'a>) {
        let mut is_named = false;
        if let Some(schema) = schema.get("properties").and_then(|properties| properties.get(name)) {
            is_named = true;
            found.add(self.compare(&member.with(schema)));
        }
        for (pattern, schema) in schema.get("patternProperties").and_then(Value::as_object).into_iter().flatten() {
            match self.patterns.matches(pattern, name) {
                Some(true) => {
                    is_named = true;
                    found.add(self.compare(&member.with(schema)));
                }
                Some(false) => {}
                None => return found.mark_incomplete(),
            }
        }
        // The keyword with `false` is an assertion, which names the members.
        if let Some(schema) = schema.get("additionalProperties").filter(|schema| !is_named && schema.is_object()) {
            found.add(self.compare(&member.with(schema)));
        }
    }
}
