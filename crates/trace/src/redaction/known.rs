//! Secrets of earlier messages.

use std::collections::{HashSet, VecDeque};

use serde_json::Value;

use crate::redacted::REDACTED;
use crate::redaction::names::is_word;

/// The shortest secret that is looked for in other texts, in bytes.
const MIN_KNOWN: usize = 8;
/// The most secrets that are remembered.
const MAX_KNOWN: usize = 1000;

/// The secrets that were replaced last.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// The oldest first.
    order: VecDeque<String>,
    all: HashSet<String>,
    /// The secrets as texts can have them, the longest first.
    spellings: Vec<String>,
    has_forgotten: bool,
}

impl Known {
    /// Remembers a secret, and forgets the oldest one if there are too many.
    pub(super) fn remember(&mut self, secret: &str) {
        if secret.len() < MIN_KNOWN || secret == REDACTED || is_word(secret) || self.all.contains(secret) {
            return;
        }
        if self.order.len() >= MAX_KNOWN
            && let Some(oldest) = self.order.pop_front()
        {
            let gone = spellings(&oldest);
            self.spellings.retain(|known| !gone.contains(known));
            self.all.remove(&oldest);
            self.has_forgotten = true;
        }
        for spelling in spellings(secret) {
            let place = self.spellings.partition_point(|known| known.len() >= spelling.len());
            self.spellings.insert(place, spelling);
        }
        self.all.insert(secret.to_owned());
        self.order.push_back(secret.to_owned());
    }

    /// True if this is one of them, and not only a part of it is.
    pub(super) fn contains(&self, text: &str) -> bool {
        self.all.contains(text)
    }

    /// True if there were too many.
    pub(super) fn has_forgotten(&self) -> bool {
        self.has_forgotten
    }

    /// The text without them; `None` if it has none.
    pub(super) fn without(&self, text: &str) -> Option<String> {
        let mut changed: Option<String> = None;
        for secret in &self.spellings {
            let current = changed.as_deref().unwrap_or(text);
            if current.contains(secret.as_str()) {
                changed = Some(current.replace(secret.as_str(), REDACTED));
            }
        }
        changed
    }
}

/// The secret, and its spellings in JSON: a text can have JSON in it without being JSON.
fn spellings(secret: &str) -> Vec<String> {
    let quoted = Value::from(secret).to_string();
    let escaped = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(secret).to_owned();
    let ascii = ascii(&escaped);
    let mut all = vec![secret.to_owned()];
    for spelling in [escaped, ascii] {
        if !all.contains(&spelling) {
            all.push(spelling);
        }
    }
    all
}

/// A text of JSON in the characters of ASCII.
fn ascii(escaped: &str) -> String {
    let mut text = String::with_capacity(escaped.len());
    for c in escaped.chars() {
        if c.is_ascii() {
            text.push(c);
        } else {
            let mut units = [0; 2];
            text.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    text
}
