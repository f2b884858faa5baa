//! A server of another origin that an entry of ours has replaced.

use serde::{Deserialize, Serialize};

/// The change of the text, as one range, so that it can be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Replaced {
    /// The digest of the entry before.
    pub(crate) digest: String,
    /// The beginning of the range in bytes.
    at: usize,
    /// The bytes before.
    removed: String,
    /// The bytes in their place.
    inserted: String,
}

impl Replaced {
    /// The difference between two texts.
    pub(crate) fn new(before: &str, after: &str, digest: String) -> Self {
        let different = before.char_indices().zip(after.chars()).find(|((_, one), other)| one != other);
        let at = different.map_or(before.len().min(after.len()), |((at, _), _)| at);
        let (removed, inserted) = (&before[at..], &after[at..]);
        let same = removed.chars().rev().zip(inserted.chars().rev()).take_while(|(one, other)| one == other);
        let same: usize = same.map(|(one, _)| one.len_utf8()).sum();
        let (removed, inserted) = (&removed[..removed.len() - same], &inserted[..inserted.len() - same]);
        Self { digest, at, removed: removed.to_owned(), inserted: inserted.to_owned() }
    }

    /// The text with the bytes before in their place. `None` if others are there by now.
    pub(crate) fn undone(&self, text: &str) -> Option<String> {
        let (before, rest) = text.split_at_checked(self.at)?;
        let after = rest.strip_prefix(self.inserted.as_str())?;
        Some(format!("{before}{}{after}", self.removed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_taken_back() {
        for (before, after) in [
            ("", ""),
            ("a", ""),
            ("", "a"),
            ("abc", "axc"),
            ("aa", "aaa"),
            ("aaa", "aa"),
            ("ä1ö", "ä22ö"),
            ("äö", "åø"),
        ] {
            let replaced = Replaced::new(before, after, String::new());
            assert_eq!(replaced.undone(after).as_deref(), Some(before), "{before} {after}");
        }
        let replaced = Replaced::new("one two three", "one 2 three", String::new());
        assert_eq!(replaced.undone("one 2 three, four").as_deref(), Some("one two three, four"));
        assert_eq!(replaced.undone("one 3 three"), None);
        assert_eq!(replaced.undone("o"), None);
    }
}
