//! Words of a text, and the likeness of two of them.

/// The shortest word whose beginning counts as another spelling of it.
const SHORTEST_STEM: usize = 3;

/// The likeness of two words; greater is more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Likeness {
    /// One is in the other.
    Part = 1,
    /// One begins with the other.
    Stem = 2,
    /// They are the same.
    Same = 4,
}

/// The words of a text in lower case. A word ends at a character that is neither a letter nor a digit, and before a
/// capital letter that follows a small one.
pub(super) fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut was_small) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        if (!c.is_alphanumeric() || was_small && c.is_uppercase()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        was_small = c.is_lowercase() || c.is_numeric();
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// The likeness of a word of a question and a word of a text.
pub(super) fn likeness(asked: &str, found: &str) -> Option<Likeness> {
    let (short, long) = if asked.len() <= found.len() { (asked, found) } else { (found, asked) };
    // A language without blanks has whole sentences as words.
    let is_long_enough = short.chars().count() >= SHORTEST_STEM || !short.is_ascii();
    match () {
        () if short == long => Some(Likeness::Same),
        () if !is_long_enough => None,
        () if long.starts_with(short) => Some(Likeness::Stem),
        () if long == found && long.contains(short) => Some(Likeness::Part),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sentences_are_cut_into_words() {
        for (text, expected) in [
            ("create_issue", "create issue"),
            ("createIssue2", "create issue2"),
            ("API-get.user", "api get user"),
            ("HTTPServer", "httpserver"),
            ("Größe ÄNDERN", "größe ändern"),
            ("  --  ", ""),
            ("列出文件", "列出文件"),
        ] {
            assert_eq!(words(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn words_are_alike_in_three_degrees() {
        use Likeness::{Part, Same, Stem};
        for (asked, found, expected) in [
            ("file", "file", Some(Same)),
            ("files", "file", Some(Stem)),
            ("file", "files", Some(Stem)),
            ("name", "rename", Some(Part)),
            ("rename", "name", None),
            ("to", "tool", None),
            ("to", "to", Some(Same)),
            ("文件", "列出文件", Some(Part)),
            ("file", "issue", None),
        ] {
            assert_eq!(likeness(asked, found), expected, "{asked} {found}");
        }
    }
}
