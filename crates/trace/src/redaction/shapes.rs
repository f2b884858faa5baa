//! Secrets by their shape, and by a name before them.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::redacted::REDACTED;
use crate::redaction::names::is_harmless;

/// An authorization header.
const HEADER: &str = r"\b(?:bearer|basic)\s+[a-z0-9._~+/=-]{8,}";

/// JSON Web Tokens, keys of known services, and private keys.
const KEYS: [&str; 11] = [
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"\b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9]{16,}",
    r"\bgh[oprsu]_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\bglpat-[A-Za-z0-9_-]{16,}",
    r"\bnpm_[A-Za-z0-9]{20,}",
    r"\bhf_[A-Za-z0-9]{20,}",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"\bAIza[A-Za-z0-9_-]{30,}",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?",
];

/// Secrets by their shape, in any case: a message without a text that is none stays readable.
static SHAPES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(&format!("(?i){HEADER}|{}", KEYS.join("|"))).expect("the shapes are valid"));

/// Keys in the case in which they are given.
static EXACT: LazyLock<Regex> = LazyLock::new(|| Regex::new(&KEYS.join("|")).expect("the shapes are valid"));

/// True if the text has a key.
pub(super) fn has_key(text: &str) -> bool {
    EXACT.is_match(text)
}

/// The password of a URL.
static IN_URL: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(://[^/\s:@]*:)[^/\s@]+@").expect("the shape is valid"));

/// A secret in an element of XML.
static IN_ELEMENT: LazyLock<Regex> = LazyLock::new(|| {
    let name = format!(r"(?:[\w.-]+:)?[\w.-]*{WORDS}");
    Regex::new(&format!(r"(?i)(<{name}(?:\s[^<>]*)?>\s*(?:<!\[CDATA\[)?)[^<\s][^<]*</")).expect("the shape is valid")
});

/// The ends of the names of secrets in texts.
const WORDS: &str =
    "(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|signature|credentials?)";
/// The names of headers with secrets.
const HEADERS: &str = "(?:(?:proxy-)?authorization|(?:set-)?cookie)";
/// A quotation mark, which can be escaped.
const MARK: &str = r#"(?:\\*["'])?"#;
/// A text in quotation marks, which can be escaped, or a list.
const QUOTED: &str =
    r#"[bruf]{0,2}"(?:[^"\\\n]|\\.)*"?|[bruf]{0,2}'(?:[^'\\\n]|\\.)*'?|\\+["'][^"'\\\n]*|\[[^\[\]]*\]"#;
/// A value without quotation marks. It ends as one in a URL, in a list or in a sentence does.
const BARE: &str = r#"[^\s&"'`,;:)\]}<>\[{(][^\s&"'`,;)\]}<>]*"#;
/// A value to the next space.
const WORD: &str = r#"[^\s"'`\[{<][^\s]*"#;
/// A value to the next space that does not begin as a flag.
const ARGUMENT: &str = r#"[^\s"'`\[{<-][^\s]*"#;
/// A value to the end of the line, or of the text in quotation marks.
const LINE: &str = r#"[^\s"'`\[{<][^\r\n"']*"#;
/// A value to the end of the line.
const WORDS_OF_LINE: &str = r#"[^\s"'`\[{<][^\r\n]*"#;

/// Secrets after their names: lines of settings and headers, members of objects in the spelling of a language, queries of URLs,
/// and flags.
static AFTER_NAMES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let name = format!(r"(?P<name>[a-z0-9_.-]*{WORDS})");
    let shapes = [
        format!(r"^[ \t]*(?P<name>[a-z0-9_.-]*passphrase)[ \t]*[:=][ \t]*(?P<value>{QUOTED}|{WORDS_OF_LINE})"),
        format!(r"\b(?P<name>{HEADERS}){MARK}[ \t]*:[ \t]*(?P<value>{QUOTED}|{LINE})"),
        format!(r"^[ \t]*(?:-[ \t]+)?{MARK}{name}{MARK}(?:[ \t]*:[ \t]+|[ \t]+=[ \t]*)(?P<value>{QUOTED}|{WORD})"),
        format!(r"\b{name}{MARK}[ \t]*:[ \t]*(?P<value>{QUOTED}|{BARE})"),
        format!(r"\b{name}=(?P<value>{QUOTED}|{BARE})"),
        format!(r"\b(?P<name>[a-z0-9_.-]*(?:authorization|cookie))=(?P<value>{QUOTED}|{BARE})"),
        format!(r"\b{name}[ \t]*=[ \t]*(?P<value>{QUOTED})"),
        format!(r"\B--{name}[ \t]+(?P<value>{QUOTED}|{ARGUMENT})"),
    ];
    let shape = |shape: &String| Regex::new(&format!("(?im){shape}")).expect("the shapes are valid");
    shapes.iter().map(shape).collect()
});

/// Words in the place of a value that are its type.
const TYPES: [&str; 20] = [
    "str",
    "string",
    "int",
    "integer",
    "number",
    "float",
    "bool",
    "boolean",
    "bytes",
    "any",
    "none",
    "null",
    "true",
    "false",
    "undefined",
    "optional",
    "required",
    "object",
    "array",
    "secretstr",
];

/// Words that begin a sentence about the name, if another word follows.
const BEGINNINGS: [&str; 38] = [
    "a", "an", "the", "your", "its", "this", "that", "these", "must", "should", "is", "are", "was", "were", "has",
    "can", "cannot", "may", "will", "does", "not", "no", "of", "for", "if", "to", "in", "on", "at", "with", "from",
    "used", "needed", "expected", "too", "only", "when", "which",
];

/// The characters in which the first words of a sentence are looked for.
const MAX_PROSE: usize = 200;

/// The text without secrets; `None` if it has none.
pub(super) fn without(text: &str) -> Option<String> {
    let mut changed: Option<String> = None;
    let marked = format!("${{1}}{REDACTED}");
    let fixed =
        [(&*SHAPES, REDACTED.to_owned()), (&*IN_URL, format!("{marked}@")), (&*IN_ELEMENT, format!("{marked}</"))];
    for (shape, replacement) in fixed {
        let current = changed.as_deref().unwrap_or(text);
        if shape.is_match(current) {
            changed = Some(shape.replace_all(current, replacement.as_str()).into_owned());
        }
    }
    for shape in AFTER_NAMES.iter() {
        let current = changed.as_deref().unwrap_or(text);
        if shape.is_match(current) {
            changed = Some(after_names(current, shape));
        }
    }
    changed.filter(|changed| changed != text)
}

/// The text without the values that this shape finds after a name.
fn after_names(text: &str, shape: &Regex) -> String {
    let replaced = shape.replace_all(text, |found: &Captures<'_>| {
        let whole = &found[0];
        let (Some(name), Some(value)) = (found.name("name"), found.name("value")) else { return whole.to_owned() };
        let (name, place, value) = (name.as_str(), value.start(), value.as_str());
        let is_variable = value.starts_with("${") || value.starts_with("$(");
        let is_prose = is_prose(name, text.get(place..).unwrap_or_default());
        if is_variable || is_prose || is_harmless(name) || is_directory(name, value) {
            return whole.to_owned();
        }
        // The value is the end of the shape.
        whole.strip_suffix(value).unwrap_or_default().to_owned() + &redacted(value)
    });
    replaced.into_owned()
}

/// True for the working directory in an environment.
fn is_directory(name: &str, value: &str) -> bool {
    name.to_ascii_lowercase().ends_with("pwd") && value.starts_with('/')
}

/// True if a sentence or a type follows the name, such as `password: must not be empty`.
fn is_prose(name: &str, text: &str) -> bool {
    let end = text.char_indices().nth(MAX_PROSE).map_or(text.len(), |(at, _)| at);
    let line = text.get(..end).and_then(|text| text.lines().next()).unwrap_or_default();
    let mut words = line.split_whitespace();
    let word =
        words.next().unwrap_or_default().trim_end_matches([',', '.', ':', ';', ')', ']', '}', '>']).to_lowercase();
    let is_sentence = words.next().is_some_and(|next| next.starts_with(char::is_alphabetic));
    // A passphrase is words, too.
    let is_passphrase = name.to_ascii_lowercase().ends_with("passphrase");
    TYPES.contains(&word.as_str()) || (!is_passphrase && is_sentence && BEGINNINGS.contains(&word.as_str()))
}

/// The text in place of a value, with its quotation marks.
fn redacted(value: &str) -> String {
    let is_mark = |before: &str| before.chars().all(|c| matches!(c.to_ascii_lowercase(), '\\' | 'b' | 'r' | 'u' | 'f'));
    let mark = value.char_indices().find(|(_, c)| matches!(c, '"' | '\''));
    let Some((at, mark)) = mark.filter(|(at, _)| value.get(..*at).is_some_and(is_mark)) else {
        return REDACTED.to_owned();
    };
    let (before, inner) = value.split_at(at + 1);
    match inner.strip_suffix(mark) {
        Some("") => value.to_owned(),
        None if inner.is_empty() => value.to_owned(),
        Some(_) => format!("{before}{REDACTED}{mark}"),
        None => format!("{before}{REDACTED}"),
    }
}
