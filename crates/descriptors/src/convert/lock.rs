//! The numbers that fields have been given, so that a later conversion gives the same ones.
//!
//! A field that disappears keeps its number reserved; a field that returns gets it back. Messages whose places give equal
//! names keep the ones they got, whatever comes first later.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize};

/// The highest field number (protobuf, "Assigning Field Numbers").
const LAST: u32 = (1 << 29) - 1;

/// The numbers of fields by message and JSON key. Its text is the lock file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldLock {
    messages: BTreeMap<String, BTreeMap<String, u32>>,
    /// The names of the messages inside others, by the name of the outermost message and the JSON pointer.
    #[serde(default, deserialize_with = "names", skip_serializing_if = "BTreeMap::is_empty")]
    names: BTreeMap<String, BTreeMap<String, String>>,
}

/// The text is not a lock file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the lock file is not valid: {0}")]
pub struct LockError(String);

impl FieldLock {
    /// Reads a lock file.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a lock file, or uses a number twice in one message.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        // Without a byte order mark at the beginning (RFC 8259, section 8.1).
        let lock: Self = serde_json::from_str(text.strip_prefix('\u{feff}').unwrap_or(text))
            .map_err(|error| LockError(error.to_string()))?;
        for (message, fields) in &lock.messages {
            let mut numbers: Vec<u32> = fields.values().copied().collect();
            numbers.sort_unstable();
            let is_valid = |number: &u32| (1..=LAST).contains(number) && !is_reserved(*number);
            if !numbers.iter().all(is_valid) || numbers.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(LockError(format!("the field numbers of {message} are not valid")));
            }
        }
        let is_name = |name: &String| name.parse::<crate::FullName>().is_ok() && !name.contains('.');
        for (root, names) in &lock.names {
            let different: BTreeSet<&String> = names.values().collect();
            if different.len() < names.len() || !names.values().all(is_name) {
                return Err(LockError(format!("the names of the messages of {root} are not valid")));
            }
        }
        Ok(lock)
    }

    /// The lock file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The number of fields that have a number.
    #[must_use]
    pub fn len(&self) -> usize {
        self.messages.values().map(BTreeMap::len).sum()
    }

    /// True if no field has a number yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of the message at a place, the same as before or the first one that neither `taken` nor another place has.
    pub(crate) fn name(&mut self, root: &str, pointer: &str, wanted: &str, taken: &BTreeSet<String>) -> String {
        let names = self.names.entry(root.to_owned()).or_default();
        if let Some(name) = names.get(pointer)
            && !taken.contains(name)
        {
            return name.clone();
        }
        let reserved: BTreeSet<&String> = names.values().collect();
        let numbered = (2..).map(|number| format!("{wanted}_{number}"));
        let mut candidates = std::iter::once(wanted.to_owned()).chain(numbered);
        let chosen = candidates.find(|name| !taken.contains(name) && !reserved.contains(name));
        let chosen = chosen.unwrap_or_else(|| wanted.to_owned());
        names.insert(pointer.to_owned(), chosen.clone());
        chosen
    }

    /// The number of a field, the same as before or the next free one.
    pub(crate) fn number(&mut self, message: &str, key: &str) -> u32 {
        let fields = self.messages.entry(message.to_owned()).or_default();
        if let Some(number) = fields.get(key) {
            return *number;
        }
        let last = fields.values().copied().max().unwrap_or(0);
        let is_free = |number: &u32| !is_reserved(*number) && !fields.values().any(|taken| taken == number);
        let next = (last + 1..=LAST).chain(1..=last).find(is_free).unwrap_or(LAST);
        fields.insert(key.to_owned(), next);
        next
    }

    /// The numbers of fields that a message had, and does not have among `present`.
    pub(crate) fn reserved(&self, message: &str, present: &[u32]) -> Vec<u32> {
        let fields = self.messages.get(message).into_iter().flat_map(BTreeMap::values);
        let mut reserved: Vec<u32> = fields.copied().filter(|number| !present.contains(number)).collect();
        reserved.sort_unstable();
        reserved
    }
}

/// Reads the names of messages. A member that is null counts as absent.
fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, BTreeMap<String, String>>, D::Error> {
    let names: Option<BTreeMap<String, Option<BTreeMap<String, String>>>> = Option::deserialize(deserializer)?;
    let names = names.unwrap_or_default().into_iter();
    Ok(names.filter_map(|(root, names)| Some((root, names?))).collect())
}

/// The numbers that belong to protobuf itself.
fn is_reserved(number: u32) -> bool {
    (19_000..=19_999).contains(&number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_null_count_as_absent() {
        let expected = FieldLock::parse(r#"{"messages":{"M":{"a":1}}}"#).unwrap();
        for names in ["null", r#"{"M":null}"#] {
            let text = format!(r#"{{"messages":{{"M":{{"a":1}}}},"names":{names}}}"#);
            assert_eq!(FieldLock::parse(&text).as_ref(), Ok(&expected), "{names}");
        }
    }
}
