//! A line that a person edits.

use unicode_width::UnicodeWidthChar;

use crate::keys::Key;
use crate::line::{Line, Tone};

/// The longest line, in characters. More is not taken.
const MAX_TEXT: usize = 16 * 1024;

/// A line, with the place at which the next character goes in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prompt {
    label: String,
    text: Vec<char>,
    at: usize,
    /// The place in the history whose line is shown, counted from its end.
    back: usize,
}

/// The meaning of a key for the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Edit {
    /// It goes on.
    Open,
    /// It is complete.
    Entered(String),
    /// It is given up.
    Left,
}

impl Prompt {
    pub(crate) fn new(label: &str) -> Self {
        Self { label: label.to_owned(), ..Self::default() }
    }

    /// Edits the line. `names`: words with which it may begin. `history`: earlier lines, the newest at the end.
    pub(crate) fn key(&mut self, key: Key, names: &[String], history: &[String]) -> Edit {
        match key {
            Key::Char(c) => self.insert([c]),
            Key::Enter => return Edit::Entered(self.text.iter().collect()),
            Key::Escape => return Edit::Left,
            // The end of input, as in a shell.
            Key::Control('d') if self.text.is_empty() => return Edit::Left,
            Key::Tab => self.complete(names),
            Key::Backspace => self.remove(self.at.saturating_sub(1)..self.at),
            Key::Delete | Key::Control('d') => self.remove(self.at..(self.at + 1).min(self.text.len())),
            Key::Control('u') => self.remove(0..self.at),
            Key::Control('k') => self.remove(self.at..self.text.len()),
            Key::Control('w') => self.remove(self.word_start()..self.at),
            Key::Left | Key::Control('b') => self.at = self.at.saturating_sub(1),
            Key::Right | Key::Control('f') => self.at = (self.at + 1).min(self.text.len()),
            Key::Home | Key::Control('a') => self.at = 0,
            Key::End | Key::Control('e') => self.at = self.text.len(),
            Key::Up | Key::Control('p') => self.show(self.back + 1, history),
            Key::Down | Key::Control('n') => self.show(self.back.saturating_sub(1), history),
            Key::Control(_) => {}
        }
        Edit::Open
    }

    fn insert(&mut self, characters: impl IntoIterator<Item = char>) {
        for c in characters {
            if self.text.len() < MAX_TEXT {
                self.text.insert(self.at, c);
                self.at += 1;
            }
        }
    }

    fn remove(&mut self, range: std::ops::Range<usize>) {
        self.at = range.start;
        self.text.drain(range);
    }

    /// The start of the word before the cursor.
    fn word_start(&self) -> usize {
        let before = &self.text[..self.at];
        let end = before.iter().rposition(|c| !c.is_whitespace()).map_or(0, |at| at + 1);
        before[..end].iter().rposition(|c| c.is_whitespace()).map_or(0, |at| at + 1)
    }

    /// Shows an earlier line. The one that was begun is not kept.
    fn show(&mut self, back: usize, history: &[String]) {
        let back = back.min(history.len());
        if back != self.back {
            self.text = if back == 0 { Vec::new() } else { history[history.len() - back].chars().collect() };
            (self.at, self.back) = (self.text.len(), back);
        }
    }

    /// Completes the first word as far as all names agree that begin with it.
    fn complete(&mut self, names: &[String]) {
        let typed: String = self.text[..self.at].iter().collect();
        let matching: Vec<&str> = names.iter().map(String::as_str).filter(|name| name.starts_with(&typed)).collect();
        let Some((first, others)) = matching.split_first() else { return };
        let common = others.iter().fold(first.len(), |length, name| shared(&first[..length], name));
        let end = if others.is_empty() { " " } else { "" };
        self.insert(first[typed.len()..common].chars().chain(end.chars()).collect::<Vec<_>>());
    }

    /// The line within this number of columns. The part around the cursor is shown.
    pub(crate) fn line(&self, columns: usize) -> Line {
        let line = Line::default().with(Tone::Strong, &self.label).plain(" ");
        let room = columns.saturating_sub(line.width() + 1);
        let mut start = self.at;
        let mut width = 0;
        while start > 0 && width + columns_of(self.text[start - 1]) <= room {
            start -= 1;
            width += columns_of(self.text[start]);
        }
        let before: String = self.text[start..self.at].iter().collect();
        let at = self.text.get(self.at).copied().unwrap_or(' ');
        let after: String = self.text.iter().skip(self.at + 1).collect();
        line.plain(&before).with(Tone::Cursor, &at.to_string()).plain(&after).clipped(columns)
    }
}

fn columns_of(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// The number of bytes with which both begin.
fn shared(one: &str, other: &str) -> usize {
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b);
    same.map(|(c, _)| c.len_utf8()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Keys;

    /// The line after these bytes, or what became of it.
    fn typed(bytes: &str) -> (Prompt, Edit) {
        let names = ["add", "alerts", "alarm", "city"].map(str::to_owned);
        let history = ["one", "two"].map(str::to_owned);
        let mut prompt = Prompt::new("call");
        let mut edit = Edit::Open;
        for key in Keys::default().read(bytes.as_bytes()) {
            edit = prompt.key(key, &names, &history);
        }
        (prompt, edit)
    }

    #[test]
    fn a_line_is_edited() {
        let (left, home, delete, up, down) = ("\x1b[D", "\x1b[H", "\x1b[3~", "\x1b[A", "\x1b[B");
        for (bytes, text) in [
            ("abc".to_owned(), "abc"),
            (format!("ac{left}b"), "abc"),
            (format!("xabc{home}{delete}"), "abc"),
            ("abcx\x7f".to_owned(), "abc"),
            ("\x7f\x7fabc".to_owned(), "abc"),
            ("x y\x15abc".to_owned(), "abc"),
            ("abc def  \x17\x7f".to_owned(), "abc"),
            (format!("abcd{left}\x0b"), "abc"),
            (format!("new{up}"), "two"),
            (format!("{up}{up}{up}"), "one"),
            (format!("{up}{up}{down}"), "two"),
            (format!("{up}{down}x"), "x"),
            ("ci\t".to_owned(), "city "),
            ("al\t".to_owned(), "al"),
            ("ale\t".to_owned(), "alerts "),
            ("zz\t".to_owned(), "zz"),
            ("ü日".to_owned(), "ü日"),
        ] {
            assert_eq!(typed(&format!("{bytes}\r")).1, Edit::Entered(text.to_owned()), "{bytes:?}");
        }
        assert_eq!(typed("\x04").1, Edit::Left);
        let mut prompt = typed("abc").0;
        assert_eq!(prompt.key(Key::Escape, &[], &[]), Edit::Left);
    }

    #[test]
    fn the_part_around_the_cursor_is_shown() {
        let left = "\x1b[D";
        for (bytes, columns, text) in [
            ("abc".to_owned(), 20, "call abc "),
            ("0123456789".to_owned(), 10, "call 6789 "),
            (format!("0123456789{}", left.repeat(10)), 10, "call 0123…"),
            ("日本語".to_owned(), 10, "call 本語 "),
            ("a".to_owned(), 3, "ca…"),
        ] {
            let line = typed(&bytes).0.line(columns);
            assert_eq!(line.text(), text, "{bytes:?}");
            assert!(line.width() <= columns);
        }
    }

    #[test]
    fn a_line_is_bounded() {
        let (prompt, _) = typed(&"x".repeat(MAX_TEXT + 10));
        assert_eq!(prompt.text.len(), MAX_TEXT);
    }
}
