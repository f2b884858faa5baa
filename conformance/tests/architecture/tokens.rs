//! Rust source as tokens: comments and literals apart from code.
//!
//! Enough of the lexical grammar to tell the three apart and to read paths. Numbers come out as words.

/// One token and the line that it starts on, counted from 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

/// The part of a source file that a token belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A comment with its marks.
    Comment,
    /// A string literal without its quotes, escapes as written.
    Text,
    /// An identifier, a keyword or a number.
    Word,
    /// One character of punctuation, a lifetime or a character literal.
    Mark,
}

impl Token<'_> {
    pub(crate) fn is(&self, text: &str) -> bool {
        self.kind != Kind::Comment && self.kind != Kind::Text && self.text == text
    }
}

/// All tokens of `source`.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < source.len() {
        let rest = &source[at..];
        let (kind, skip, len, end) = next(rest);
        if let Some(kind) = kind {
            let token = Token { kind, text: &rest[skip..skip + len], line };
            found.push(token);
        }
        line += rest[..end].matches('\n').count();
        at += end;
    }
    found
}

/// The token that `rest` begins with: its kind, the range of its text as start and length, and the bytes it takes.
fn next(rest: &str) -> (Option<Kind>, usize, usize, usize) {
    let first = rest.chars().next().expect("there is a rest");
    if first.is_whitespace() {
        return (None, 0, 0, first.len_utf8());
    }
    if rest.starts_with("//") {
        let end = rest.find('\n').unwrap_or(rest.len());
        return (Some(Kind::Comment), 0, end, end);
    }
    if rest.starts_with("/*") {
        let end = block_comment(rest);
        return (Some(Kind::Comment), 0, end, end);
    }
    if let Some((start, end, after)) = string(rest) {
        return (Some(Kind::Text), start, end - start, after);
    }
    if first == '\'' {
        let end = quote(rest);
        return (Some(Kind::Mark), 0, end, end);
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if is_word(first) {
        let skip = if rest.starts_with("r#") { 2 } else { 0 };
        let end = rest[skip..].find(|c| !is_word(c)).map_or(rest.len(), |end| skip + end);
        return (Some(Kind::Word), skip, end - skip, end);
    }
    let end = if rest.starts_with("::") { 2 } else { first.len_utf8() };
    (Some(Kind::Mark), 0, end, end)
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if here.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The start and end of the text of a string literal, and the bytes that the literal takes.
fn string(rest: &str) -> Option<(usize, usize, usize)> {
    let prefix = ["br", "cr", "b", "c", "r", ""]
        .into_iter()
        .find(|prefix| rest.strip_prefix(prefix).is_some_and(|rest| rest.trim_start_matches('#').starts_with('"')))?;
    let hashes = rest[prefix.len()..].find('"')?;
    if hashes > 0 && !prefix.ends_with('r') {
        return None;
    }
    let start = prefix.len() + hashes + 1;
    if prefix.ends_with('r') {
        let close = format!("\"{}", "#".repeat(hashes));
        let end = start + rest[start..].find(&close)?;
        return Some((start, end, end + close.len()));
    }
    let mut is_escaped = false;
    let end = rest[start..].find(|c| {
        let is_end = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    })?;
    Some((start, start + end, start + end + 1))
}

/// The length of a character literal or of a lifetime.
fn quote(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((after, c))) => {
            let close = after + c.len_utf8();
            rest[close..].find('\'').map_or(rest.len(), |end| close + end + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => rest[1..].find(|c: char| !c.is_alphanumeric() && c != '_').map_or(rest.len(), |end| end + 1),
    }
}
