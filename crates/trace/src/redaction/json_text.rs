//! JSON in a text, with the places of its parts: what stays keeps its form.

use std::ops::Range;

use serde_json::Value;

/// The longest text that is read as JSON, in bytes.
const MAX_JSON: usize = 1 << 20;

/// A part of a JSON text.
#[derive(Debug)]
pub(super) enum Node {
    /// A text with its quotation marks, a number, or a word.
    Leaf(Range<usize>),
    Array(Vec<Self>),
    /// The members in their order, also those with equal names.
    Object(Vec<(Range<usize>, Self)>),
}

/// A part of a text, and what takes its place.
pub(super) type Edit = (Range<usize>, String);

/// The value that a text is. Results often have one as the mirror of their structured content.
pub(super) fn value(text: &str) -> Option<Value> {
    if is_candidate(text) { serde_json::from_str(text).ok() } else { None }
}

/// The parts of a text that is JSON.
pub(super) fn parts(text: &str) -> Option<Node> {
    // This bounds the depth, too.
    let is_json = is_candidate(text) && serde_json::from_str::<Value>(text).is_ok();
    if is_json { Parts { bytes: text.as_bytes(), at: 0 }.node() } else { None }
}

/// The text of a leaf that is a text.
pub(super) fn decoded(literal: &str) -> Option<String> {
    if literal.starts_with('"') { serde_json::from_str(literal).ok() } else { None }
}

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// The text with these changes, which are in its order; `None` if there are none.
pub(super) fn edited(text: &str, edits: &[Edit]) -> Option<String> {
    let mut changed = String::with_capacity(text.len());
    let mut from = 0;
    for (range, replacement) in edits {
        changed.push_str(text.get(from..range.start)?);
        changed.push_str(replacement);
        from = range.end;
    }
    changed.push_str(text.get(from..)?);
    if edits.is_empty() { None } else { Some(changed) }
}

fn is_candidate(text: &str) -> bool {
    text.len() <= MAX_JSON && text.trim_start().starts_with(['{', '[', '"'])
}

struct Parts<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Parts<'_> {
    fn node(&mut self) -> Option<Node> {
        match self.peek()? {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => self.text().map(Node::Leaf),
            _ => self.word().map(Node::Leaf),
        }
    }

    fn object(&mut self) -> Option<Node> {
        let mut members = Vec::new();
        self.at += 1;
        loop {
            match self.peek()? {
                b'}' => {
                    self.at += 1;
                    return Some(Node::Object(members));
                }
                b'"' => {
                    let name = self.text()?;
                    self.peek().filter(|byte| *byte == b':')?;
                    self.at += 1;
                    members.push((name, self.node()?));
                }
                _ => self.at += 1,
            }
        }
    }

    fn array(&mut self) -> Option<Node> {
        let mut all = Vec::new();
        self.at += 1;
        loop {
            match self.peek()? {
                b']' => {
                    self.at += 1;
                    return Some(Node::Array(all));
                }
                b',' => self.at += 1,
                _ => all.push(self.node()?),
            }
        }
    }

    fn text(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.bytes.get(self.at)? {
                b'"' => {
                    self.at += 1;
                    return Some(start..self.at);
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }

    fn word(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b']' | b'}' | b':');
        self.at = self.bytes.iter().skip(start).position(is_end).map_or(self.bytes.len(), |length| start + length);
        if self.at > start { Some(start..self.at) } else { None }
    }

    /// The next byte behind the spaces.
    fn peek(&mut self) -> Option<u8> {
        while self.bytes.get(self.at)?.is_ascii_whitespace() {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }
}
