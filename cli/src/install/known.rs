//! Texts that are looked for in the output of a server, each with the text in its place.

use std::cmp::Reverse;

use protomcp_trace::REDACTED;

/// The shortest text that is looked for, in bytes.
const MIN: usize = 4;

/// The length in bytes from which a text is looked for within words, too.
const MIN_WITHIN: usize = 8;

/// The most texts that are looked for.
const MAX: usize = 1000;

/// Values of flags and variables that tell nothing. Errors need them.
const PLAIN: [&str; 16] = [
    "auto",
    "debug",
    "error",
    "false",
    "http",
    "https",
    "info",
    "json",
    "localhost",
    "none",
    "null",
    "stdio",
    "text",
    "trace",
    "true",
    "warn",
];

/// The texts, the longest first.
#[derive(Debug, Default)]
pub(super) struct Known(Vec<Text>);

#[derive(Debug)]
struct Text {
    text: String,
    /// The text in its place; `None` for a secret, of which a beginning counts as well.
    shown: Option<String>,
}

impl Known {
    /// Adds a secret. One of less than four bytes, and a common word, is not looked for.
    pub(super) fn secret(&mut self, text: &str) {
        if !PLAIN.contains(&text.to_ascii_lowercase().as_str()) {
            self.add(text, None);
        }
    }

    /// Adds a word of a command, or a URL, of which a part is a secret, with the rest.
    pub(super) fn word(&mut self, text: &str, shown: &str) {
        self.add(text, Some(shown.to_owned()));
    }

    fn add(&mut self, text: &str, shown: Option<String>) {
        let text = text.trim();
        if text.len() < MIN
            || self.0.len() >= MAX
            || REDACTED.contains(text)
            || self.0.iter().any(|known| known.text == text)
        {
            return;
        }
        self.0.push(Text { text: text.to_owned(), shown });
        self.0.sort_by_key(|known| Reverse(known.text.len()));
    }

    /// A text without them.
    pub(super) fn without(&self, text: &str) -> String {
        let replace = |text: String, known: &Text| known.replaced(&text);
        let text = self.0.iter().fold(text.to_owned(), replace);
        text.split_inclusive('\n').map(|line| self.without_cut(line)).collect()
    }

    /// A line without the beginning of a secret at its end: texts are cut at a limit.
    fn without_cut(&self, line: &str) -> String {
        let words = line.trim_end();
        let cut = |known: &Text| {
            let secret = Some(&known.text).filter(|_| known.shown.is_none())?;
            let shortest = (MIN..secret.len()).find(|end| secret.is_char_boundary(*end))?;
            let starts = words.match_indices(&secret[..shortest]).map(|(at, _)| at);
            starts.filter(|at| !are_joined(&words[..*at], secret)).find(|at| secret.starts_with(&words[*at..]))
        };
        match self.0.iter().filter_map(cut).min() {
            Some(at) => format!("{}{REDACTED}{}", &line[..at], &line[words.len()..]),
            None => line.to_owned(),
        }
    }
}

impl Text {
    /// A text with another one in each place of this one. A short one counts only as a whole word.
    fn replaced(&self, text: &str) -> String {
        let shown = self.shown.as_deref().unwrap_or(REDACTED);
        let (mut replaced, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once(&self.text) {
            replaced.push_str(before);
            let is_part = are_joined(&replaced, &self.text) || are_joined(&self.text, after);
            let is_other = is_part && self.text.len() < MIN_WITHIN;
            replaced.push_str(if is_other { self.text.as_str() } else { shown });
            rest = after;
        }
        replaced + rest
    }
}

/// True if a word goes on from one text to the next.
fn are_joined(before: &str, after: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    is_word(before.chars().next_back()) && is_word(after.chars().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_replaced_as_words() {
        let mut known = Known::default();
        known.secret("pass");
        known.secret("info");
        known.secret("abc");
        known.secret("long-secret");
        known.word("--key=pass", "--key=[redacted]");
        for (text, expected) in [
            ("pass, \"pass\" and pass", "[redacted], \"[redacted]\" and [redacted]"),
            ("a password passes, and bypass", "a password passes, and bypass"),
            ("info: abc", "info: abc"),
            ("xlong-secretx", "x[redacted]x"),
            ("unknown flag --key=pass", "unknown flag --key=[redacted]"),
            ("[redacted]", "[redacted]"),
            ("", ""),
        ] {
            assert_eq!(known.without(text), expected);
        }
    }

    #[test]
    fn a_secret_that_is_cut_is_replaced() {
        let mut known = Known::default();
        known.secret("aabcaabcd-ü");
        known.word("https://h/?key=aabcaabcd-ü", "https://h/");
        for (text, expected) in [
            ("got aabc", "got [redacted]"),
            ("got aabcaabc\nthen", "got [redacted]\nthen"),
            ("got aabcaabcd- \n", "got [redacted] \n"),
            ("got aab", "got aab"),
            ("got aabc, more", "got aabc, more"),
            ("at https://h/", "at https://h/"),
        ] {
            assert_eq!(known.without(text), expected);
        }
    }
}
