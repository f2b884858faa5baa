//! The texts of errors in a file of Python, JavaScript or TypeScript: literals that are raised, thrown, given to the
//! constructor of an error, or assigned to a variable for one.

use super::normal_form::{is_text, tidy, unescaped};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    TypeScript,
}

/// The ends of names of constructors, and of functions that print an error.
const CONSTRUCTORS: &[&str] = &[
    "Error",
    "Refused",
    "_Refusal",
    "Malformed",
    "Unresolved",
    "UnknownType",
    "Mismatch",
    "InvalidArguments",
    "Beyond",
    "refuse",
];

/// A function whose text is the name of the part that has failed.
const LABELLED: &str = "logError";

/// A part of the source.
#[derive(Debug, PartialEq)]
enum Part<'a> {
    Line,
    Word(&'a str),
    Mark(char),
    /// A literal with its text in the normal form.
    Text(String),
}

/// The texts of errors with the lines on which they begin.
pub(super) fn texts(language: Language, source: &str) -> Vec<(usize, String)> {
    let parts = parts(language, source);
    let mut found = Vec::new();
    // For each open bracket, true if it belongs to a constructor; and the depth of the statement that raises or throws.
    let (mut brackets, mut raised): (Vec<bool>, Option<usize>) = (Vec::new(), None);
    let mut at = 0;
    while let Some((line, part)) = parts.get(at) {
        match part {
            Part::Word("raise" | "throw") => raised = Some(brackets.len()),
            Part::Text(_) => {
                let (text, end) = joined(language, &parts, at, !brackets.is_empty());
                let is_error = raised.is_some() || brackets.contains(&true) || is_named(&parts[..at]);
                if is_error && is_text(&text) {
                    found.push((*line, text));
                }
                at = end;
                continue;
            }
            Part::Mark(open @ ('(' | '[' | '{')) => {
                let name = at.checked_sub(1).map(|before| &parts[before].1);
                brackets.push(*open == '(' && matches!(name, Some(Part::Word(name)) if is_constructor(name)));
            }
            Part::Mark(')' | ']' | '}') => {
                brackets.pop();
                raised = raised.filter(|depth| brackets.len() >= *depth);
            }
            Part::Line if language == Language::Python => raised = raised.filter(|depth| *depth != brackets.len()),
            Part::Mark(';') => raised = raised.filter(|depth| *depth != brackets.len()),
            Part::Line | Part::Word(_) | Part::Mark(_) => {}
        }
        at += 1;
    }
    found
}

fn is_constructor(name: &str) -> bool {
    name != LABELLED && CONSTRUCTORS.iter().any(|end| name.ends_with(end))
}

/// True if the value after these parts is assigned to a variable with a name of texts.
fn is_named(before: &[(usize, Part<'_>)]) -> bool {
    matches!(before, [.., (_, Part::Word("text" | "why" | "reason")), (_, Part::Mark('='))])
}

/// A literal together with the literals that it is joined with, and the position after them. In Python a line ends a
/// literal outside brackets.
fn joined(language: Language, parts: &[(usize, Part<'_>)], from: usize, is_inside: bool) -> (String, usize) {
    let (mut text, mut end) = (String::new(), from);
    let mut at = from;
    loop {
        match parts.get(at) {
            Some((_, Part::Text(more))) => {
                // In JavaScript only a plus joins.
                let is_joined = at == from
                    || language == Language::Python
                    || parts[end..at].iter().any(|(_, part)| *part == Part::Mark('+'));
                if !is_joined {
                    break;
                }
                text.push_str(more);
                end = at + 1;
            }
            Some((_, Part::Line)) if language == Language::Python && !is_inside => break,
            Some((_, Part::Line | Part::Mark('+'))) => {}
            _ => break,
        }
        at += 1;
    }
    (tidy(&text), end)
}

/// The parts of the source with their lines. Comments are left out.
fn parts(language: Language, source: &str) -> Vec<(usize, Part<'_>)> {
    let mut found: Vec<(usize, Part<'_>)> = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < source.len() {
        let rest = &source[at..];
        let last = found.last().map(|(_, part)| part);
        let (part, length) = next(language, rest, last);
        found.extend(part.map(|part| (line, part)));
        line += rest[..length].matches('\n').count();
        at += length;
    }
    found
}

/// The part that the rest begins with, if it is not a space or a comment, and its bytes.
fn next<'a>(language: Language, rest: &'a str, last: Option<&Part<'_>>) -> (Option<Part<'a>>, usize) {
    let first = rest.chars().next().expect("there is a rest");
    let is_python = language == Language::Python;
    let to = |end: &str| rest.find(end).unwrap_or(rest.len());
    match first {
        '\n' => return (Some(Part::Line), 1),
        '#' if is_python => return (None, to("\n")),
        '/' if !is_python && rest.starts_with("//") => return (None, to("\n")),
        '/' if !is_python && rest.starts_with("/*") => return (None, (to("*/") + 2).min(rest.len())),
        '/' if !is_python && begins_expression(last) => return (Some(Part::Mark('/')), regular_expression(rest)),
        '"' | '\'' => return literal(language, rest, ""),
        '`' if !is_python => return literal(language, rest, "f"),
        _ if first.is_whitespace() => return (None, first.len_utf8()),
        _ => {}
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    if !is_word(first) {
        return (Some(Part::Mark(first)), first.len_utf8());
    }
    let (word, after) = rest.split_at(rest.find(|c| !is_word(c)).unwrap_or(rest.len()));
    let is_prefix = is_python && word.len() < 3 && word.chars().all(|c| "rbfuRBFU".contains(c));
    if is_prefix && after.starts_with(['"', '\'']) {
        let (part, length) = literal(language, after, word);
        return (part, word.len() + length);
    }
    (Some(Part::Word(word)), word.len())
}

/// True if a slash after this part begins a regular expression, and is not a division.
fn begins_expression(last: Option<&Part<'_>>) -> bool {
    match last {
        None | Some(Part::Line | Part::Word("return")) => true,
        Some(Part::Mark(mark)) => "(,=:[!&|?{};".contains(*mark),
        Some(Part::Word(_) | Part::Text(_)) => false,
    }
}

fn regular_expression(rest: &str) -> usize {
    let (mut is_escaped, mut is_class) = (false, false);
    let end = rest.char_indices().skip(1).find(|(_, c)| {
        let is_end = *c == '/' && !is_escaped && !is_class;
        match c {
            '[' if !is_escaped => is_class = true,
            ']' if !is_escaped => is_class = false,
            _ => {}
        }
        is_escaped = *c == '\\' && !is_escaped;
        is_end
    });
    end.map_or(rest.len(), |(at, _)| at + 1)
}

/// A literal with its quotes, and its bytes.
fn literal<'a>(language: Language, rest: &str, prefix: &str) -> (Option<Part<'a>>, usize) {
    let mark = &rest[..1];
    let triple = mark.repeat(3);
    let quote = if language == Language::Python && rest.starts_with(&triple) { triple.as_str() } else { mark };
    let mut at = quote.len();
    let mut depth = 0_usize;
    while at < rest.len() && (depth > 0 || !rest[at..].starts_with(quote)) {
        match rest.as_bytes()[at] {
            b'\\' => at += 1,
            b'{' if mark == "`" && (depth > 0 || rest[..at].ends_with('$')) => depth += 1,
            b'}' if depth > 0 => depth -= 1,
            _ => {}
        }
        // To the next character.
        at += rest.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
    }
    let inner = rest.get(quote.len()..at).unwrap_or_default();
    let has_parts = prefix.contains(['f', 'F']);
    let text = if has_parts { varying(&inner.replace("${", "{")) } else { inner.replace("{}", "…") };
    (Some(Part::Text(unescaped(&text))), at + quote.len())
}

/// The text with `…` for each part in braces.
fn varying(text: &str) -> String {
    let mut depth = 0_usize;
    let mut found = String::new();
    for c in text.chars() {
        match c {
            '{' => {
                depth += 1;
                found.extend((depth == 1).then_some('…'));
            }
            '}' if depth > 0 => depth -= 1,
            _ if depth == 0 => found.push(c),
            _ => {}
        }
    }
    found
}

#[test]
fn texts_that_are_raised_or_thrown_are_found() {
    let python = "# raise X('in a comment')\nname = 'not an error'\nraise ToolError(\n    f\"no file {name!r} \"\n    \
        \"is here\"\n)\nother = 'not an error'\nfailed = Refused('it is late')\ntext = f'{a} is wrong'\n\
        \"\"\"raise X('of a doc')\"\"\"\n";
    let script = "// throw new X('in a comment')\n\
        if (!a) throw new TypeError(`${about}: ${b ? `x ${c}` : \"y\"} is wrong`);\n\
        const other = 'not an error';\nthrow new Error(\"one part \" + 'and another');\n\
        logError(\"the label of a part\", e);\n\
        printError('it has failed:', e);\nconst r = /throw 'x y'/;\n";
    let found = |language, source| texts(language, source).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    assert_eq!(found(Language::Python, python), ["no file … is here", "it is late", "… is wrong"]);
    let expected = ["…: … is wrong", "one part and another", "it has failed:"];
    assert_eq!(found(Language::TypeScript, script), expected);
}
