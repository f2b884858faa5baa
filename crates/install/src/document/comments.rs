//! Finds what JSON does not know, comments and commas after the last member, and blanks it.
//!
//! A blanked text has spaces in these places and the same length, so that a parser of JSON reads it and its positions
//! are the positions in the file.

use std::ops::Range;

use crate::document::edit::{EditError, Format};

/// A text and its blanked forms.
pub(crate) struct Blanked<'a> {
    /// The file.
    pub(crate) text: &'a str,
    /// Without comments.
    pub(crate) code: String,
    /// Without comments and trailing commas: JSON, if the file is right.
    pub(crate) json: String,
    /// The comments. A comment of a line ends before the end of the line.
    pub(crate) comments: Vec<Range<usize>>,
}

impl<'a> Blanked<'a> {
    pub(crate) fn new(text: &'a str, format: Format) -> Result<Self, EditError> {
        let comments = comments(text)?;
        if let Some(first) = comments.first().filter(|_| format == Format::Json) {
            return Err(syntax(text, first.start, "the host reads this file as JSON, which has no comments"));
        }
        let mut code = text.as_bytes().to_vec();
        // Windows puts a mark at the beginning of some files.
        if text.starts_with('\u{feff}') {
            blank(&mut code, 0..'\u{feff}'.len_utf8());
        }
        for comment in &comments {
            blank(&mut code, comment.clone());
        }
        let mut json = code.clone();
        if format == Format::Jsonc {
            for comma in trailing_commas(&code) {
                blank(&mut json, comma..comma + 1);
            }
        }
        let utf8 = |bytes| String::from_utf8(bytes).expect("whole characters were replaced");
        Ok(Self { text, code: utf8(code), json: utf8(json), comments })
    }

    /// True if there is no value.
    pub(crate) fn is_empty(&self) -> bool {
        self.json.bytes().all(is_space)
    }

    /// The end of the last comment in a range, or its start.
    pub(crate) fn after_comments(&self, range: Range<usize>) -> usize {
        let inside = self.comments.iter().filter(|comment| comment.start >= range.start && comment.end <= range.end);
        inside.map(|comment| comment.end).max().unwrap_or(range.start)
    }

    /// The end of the comments that begin on the line of a position.
    pub(crate) fn after_comments_of_line(&self, at: usize) -> usize {
        let later = self.comments.iter().filter(|comment| comment.start >= at);
        later.fold(at, |at, comment| {
            let between = self.text.get(at..comment.start).unwrap_or("\n");
            if between.chars().all(|c| c == ' ' || c == '\t') { comment.end } else { at }
        })
    }

    /// The start of the white space before a position.
    pub(crate) fn space_before(&self, at: usize) -> usize {
        let code = self.code.as_bytes();
        let start = (0..at).rev().take_while(|&before| is_space(code[before])).last().unwrap_or(at);
        self.after_comments(start..at).max(start)
    }

    /// The position after the next comma, if nothing else follows a position.
    pub(crate) fn comma_after(&self, at: usize) -> Option<usize> {
        let code = self.code.as_bytes();
        let next = (at..code.len()).find(|&next| !is_space(code[next]))?;
        (code[next] == b',').then_some(next)
    }
}

/// The white space of JSON.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// An error at a position.
pub(crate) fn syntax(text: &str, at: usize, reason: impl Into<String>) -> EditError {
    let before = &text.as_bytes()[..at];
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    EditError::Syntax { line, column: at - line_start + 1, reason: reason.into() }
}

/// Ends of lines stay, so that errors name the right one.
fn blank(bytes: &mut [u8], range: Range<usize>) {
    for byte in bytes[range].iter_mut().filter(|byte| !matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
}

fn comments(text: &str) -> Result<Vec<Range<usize>>, EditError> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match &bytes[at..] {
            [b'"', ..] => at = string_end(bytes, at),
            [b'/', b'/', ..] => {
                let end = bytes[at..].iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                let end = end.map_or(bytes.len(), |length| at + length);
                found.push(at..end);
                at = end;
            }
            [b'/', b'*', rest @ ..] => {
                let length = rest.windows(2).position(|pair| pair == b"*/");
                let length = length.ok_or_else(|| syntax(text, at, "this comment has no end"))?;
                found.push(at..at + length + 4);
                at += length + 4;
            }
            _ => at += 1,
        }
    }
    Ok(found)
}

/// The position after a string. One without an end goes to the end of the text.
pub(crate) fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The commas before a closing bracket, and after a value.
fn trailing_commas(code: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = 0;
    // The last byte that is not white space, with its position.
    let mut last = None;
    let mut before_last = None;
    while at < code.len() {
        let byte = code[at];
        let end = if byte == b'"' { string_end(code, at) } else { at + 1 };
        if !is_space(byte) {
            if let (b'}' | b']', Some((comma, b','))) = (byte, last)
                && !matches!(before_last, None | Some(b'{' | b'[' | b',' | b':'))
            {
                found.push(comma);
            }
            before_last = last.map(|(_, byte)| byte);
            last = Some((at, byte));
        }
        at = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_become_spaces() {
        for (text, json) in [
            ("{\"a\": 1, // x\n}", "{\"a\": 1      \n}"),
            ("{\"a\": \"// no\", /* , */ \"b\": [1,],}", "{\"a\": \"// no\",         \"b\": [1 ] }"),
            ("\u{feff}{}", "   {}"),
            ("{,}", "{,}"),
            ("[1,,]", "[1,,]"),
            ("{\"\\\"//\": 1}", "{\"\\\"//\": 1}"),
            ("/* ä */{}", "        {}"),
        ] {
            let blanked = Blanked::new(text, Format::Jsonc).expect(text);
            assert_eq!((blanked.json.as_str(), blanked.json.len()), (json, text.len()), "{text}");
        }
    }

    #[test]
    fn a_comment_without_an_end_is_named() {
        let error = Blanked::new("{\n  /* x }", Format::Jsonc).err().expect("the comment is open");
        assert_eq!(error.to_string(), "line 2, column 3: this comment has no end");
    }
}
