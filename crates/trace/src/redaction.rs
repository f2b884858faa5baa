//! Secrets, replaced before a message is written.

mod json_text;
mod known;
mod names;
mod shapes;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;

use regex::Regex;
use serde_json::{Map, Value};

use crate::redacted::REDACTED;
use crate::redaction::json_text::{Edit, Node, decoded, quoted};
use crate::redaction::known::Known;
use crate::redaction::names::{Names, Place};

/// The most JSON texts within each other that are read.
const MAX_DEPTH: usize = 4;

/// The shortest name of a member that can be a secret, in bytes.
const MIN_NAME: usize = 8;

/// The parts of a message that say what it is about. As `[redacted]` they would be another message.
const KEPT: [&str; 9] = [
    "/jsonrpc",
    "/id",
    "/method",
    "/params/requestId",
    "/params/progressToken",
    "/params/_meta/progressToken",
    "/params/protocolVersion",
    "/result/protocolVersion",
    "/result/resultType",
];

/// Replaces secrets: the values of members with names such as `password`, also in a text that is JSON, texts in the shape of
/// a token or after such a name, and, in later messages, the values that were replaced before. What makes a message the one
/// that it is stays: its id, its method, and the names of tools and prompts.
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    names: Names,
    /// Further shapes.
    patterns: Vec<Regex>,
    /// The secrets so far.
    known: Known,
}

/// A text that is not a regular expression, or one that matches every text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a regular expression that matches some text")]
pub struct InvalidPattern(String);

/// True if a text has a private key, a JSON Web Token, or a key in the shape of a known service, such as `ghp_…`.
///
/// Names such as `password` are not looked for: source code is full of them.
#[must_use]
pub fn has_key(text: &str) -> bool {
    shapes::has_key(text)
}

impl Redaction {
    /// With further names of members whose values are secrets. Case, `-` and `_` do not matter.
    #[must_use]
    pub fn with_names(names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self { names: Names::with(names), ..Self::default() }
    }

    /// With further shapes of secrets, as regular expressions. The whole match is replaced.
    ///
    /// # Errors
    /// If a pattern is not a regular expression.
    pub fn with_patterns(
        mut self,
        patterns: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, InvalidPattern> {
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let shape = Regex::new(pattern).map_err(|_| InvalidPattern(pattern.to_owned()))?;
            // Everything else would be a secret, too.
            if shape.is_match("") {
                return Err(InvalidPattern(pattern.to_owned()));
            }
            self.patterns.push(shape);
        }
        Ok(self)
    }

    /// The message without its secrets.
    pub fn redact(&mut self, mut message: Value) -> Value {
        self.learn(&message, Place::Plain, 0);
        let kept = kept(&message);
        self.replace(&mut message, Place::Plain);
        for (pointer, value) in kept {
            if let Some(place) = message.pointer_mut(&pointer) {
                *place = value;
            }
        }
        message
    }

    /// True if there were more secrets than are looked for in later messages: the oldest ones no longer are.
    #[must_use]
    pub fn has_forgotten(&self) -> bool {
        self.known.has_forgotten()
    }

    /// Remembers the secrets of a message, so that each place of them is replaced.
    fn learn(&mut self, value: &Value, place: Place, depth: usize) {
        match value {
            Value::Array(all) => {
                let mut before = None;
                for inner in all {
                    let place = self.names.after(place, before, inner.as_str());
                    self.learn(inner, place, depth);
                    before = inner.as_str();
                }
            }
            Value::Object(members) => {
                let is_named = self.names.is_named(members);
                for (name, inner) in members {
                    let place = self.names.below(place, name, is_named);
                    self.learn(inner, place, depth);
                }
            }
            Value::String(text) if place == Place::Secret => self.known.remember(text),
            Value::String(text) if depth < MAX_DEPTH => {
                if let Some(inner) = json_text::value(text) {
                    self.learn(&inner, Place::Plain, depth + 1);
                }
            }
            Value::Number(number) if place == Place::Secret => self.known.remember(&number.to_string()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn replace(&self, value: &mut Value, place: Place) {
        match value {
            Value::String(text) => {
                let without =
                    if place == Place::Secret { Some(REDACTED.into()) } else { self.without_secrets(text, 0) };
                if let Some(without) = without {
                    *text = without;
                }
            }
            Value::Number(number) => {
                if place == Place::Secret || self.known.contains(&number.to_string()) {
                    *value = REDACTED.into();
                }
            }
            Value::Array(all) => {
                let mut before: Option<String> = None;
                for inner in all {
                    let place = self.names.after(place, before.as_deref(), inner.as_str());
                    before = inner.as_str().filter(|word| word.starts_with("--")).map(str::to_owned);
                    self.replace(inner, place);
                }
            }
            Value::Object(members) => {
                let is_named = self.names.is_named(members);
                for (name, inner) in members.iter_mut() {
                    self.replace(inner, self.names.below(place, name, is_named));
                }
                self.rename(members);
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Replaces the secrets in the names of members.
    fn rename(&self, members: &mut Map<String, Value>) {
        let renamed = members.keys().filter_map(|name| Some((name.clone(), self.new_name(name)?)));
        let mut numbers: HashMap<String, usize> = HashMap::new();
        for (name, new) in renamed.collect::<Vec<_>>() {
            let Some(inner) = members.remove(&name) else { continue };
            let mut free = new.clone();
            let number = numbers.entry(new.clone()).or_insert(1);
            while members.contains_key(&free) {
                *number += 1;
                free = format!("{new}-{number}");
            }
            members.insert(free, inner);
        }
    }

    fn new_name(&self, name: &str) -> Option<String> {
        if name.len() < MIN_NAME { None } else { self.in_text(name) }
    }

    /// The text without secrets; `None` if it has none.
    fn without_secrets(&self, text: &str, depth: usize) -> Option<String> {
        let json = if depth < MAX_DEPTH { json_text::parts(text) } else { None };
        match json {
            Some(parts) => {
                let mut edits = Edits { redaction: self, text, depth, all: Vec::new() };
                edits.visit(&parts, Place::Plain);
                let changed = json_text::edited(text, &edits.all);
                self.without_patterns(changed, text)
            }
            None => self.in_text(text),
        }
    }

    fn in_text(&self, text: &str) -> Option<String> {
        let mut changed = self.known.without(text);
        changed = shapes::without(changed.as_deref().unwrap_or(text)).or(changed);
        self.without_patterns(changed, text)
    }

    /// The changed text, if it was changed, or the text, without what the further shapes match.
    fn without_patterns(&self, mut changed: Option<String>, text: &str) -> Option<String> {
        for shape in &self.patterns {
            let current = changed.as_deref().unwrap_or(text);
            if shape.is_match(current) {
                changed = Some(shape.replace_all(current, REDACTED).into_owned());
            }
        }
        changed
    }
}

/// The changes of a JSON text.
struct Edits<'a> {
    redaction: &'a Redaction,
    text: &'a str,
    /// The number of JSON texts around it.
    depth: usize,
    all: Vec<Edit>,
}

impl<'a> Edits<'a> {
    fn visit(&mut self, node: &Node, place: Place) {
        let redaction = self.redaction;
        let names = &redaction.names;
        match node {
            Node::Leaf(range) => {
                if let Some(new) = self.new_leaf(self.literal(node), place) {
                    self.all.push((range.clone(), new));
                }
            }
            Node::Array(all) => {
                let mut before: Option<String> = None;
                for inner in all {
                    let element = decoded(self.literal(inner));
                    self.visit(inner, names.after(place, before.as_deref(), element.as_deref()));
                    before = element;
                }
            }
            Node::Object(members) => {
                let name_of = |range: &Range<usize>| self.text.get(range.clone()).and_then(decoded).unwrap_or_default();
                let named: Vec<(String, &Node)> =
                    members.iter().map(|(range, inner)| (name_of(range), inner)).collect();
                let is_title = |(name, inner): &(String, &Node)| {
                    decoded(self.literal(inner)).is_some_and(|text| names.is_title(name, &text))
                };
                let is_named = named.iter().any(is_title);
                for ((range, _), (name, inner)) in members.iter().zip(named) {
                    if let Some(new) = redaction.new_name(&name) {
                        self.all.push((range.clone(), quoted(&new)));
                    }
                    self.visit(inner, names.below(place, &name, is_named));
                }
            }
        }
    }

    /// The spelling of a leaf; nothing for others.
    fn literal(&self, node: &Node) -> &'a str {
        match node {
            Node::Leaf(range) => self.text.get(range.clone()).unwrap_or_default(),
            Node::Array(_) | Node::Object(_) => "",
        }
    }

    fn new_leaf(&self, literal: &str, place: Place) -> Option<String> {
        let is_number = literal.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        match decoded(literal) {
            Some(text) if place == Place::Secret => {
                if text.is_empty() {
                    None
                } else {
                    Some(quoted(REDACTED))
                }
            }
            Some(text) => self.redaction.without_secrets(&text, self.depth + 1).map(|without| quoted(&without)),
            None if is_number && (place == Place::Secret || self.redaction.known.contains(literal)) => {
                Some(quoted(REDACTED))
            }
            None => None,
        }
    }
}

/// The parts of a message that stay, by their places.
fn kept(message: &Value) -> Vec<(String, Value)> {
    let mut places: Vec<String> = Vec::from(KEPT.map(str::to_owned));
    if message["method"] == "tools/call" || message["method"] == "prompts/get" {
        places.push("/params/name".into());
    }
    for list in ["tools", "prompts"] {
        let count = message["result"][list].as_array().map_or(0, Vec::len);
        places.extend((0..count).map(|index| format!("/result/{list}/{index}/name")));
    }
    let value = |place: &String| message.pointer(place).filter(|value| value.is_string() || value.is_number()).cloned();
    places.into_iter().filter_map(|place| Some((place.clone(), value(&place)?))).collect()
}
