//! The prose of the workspace is plain English: the phrases that CONTRIBUTING.md bans occur nowhere.
//!
//! Searched are comments, string literals and function names of Rust files, and the whole text of other files. The table
//! in CONTRIBUTING.md is the list; see there for the notation.

use std::fs;
use std::path::Path;

use super::tokens::{Kind, Token, tokens};
use super::{files, root};

/// Text by others, and code that is generated from it.
const EXEMPT: &[&str] = &["proto", "crates/bufmcp/src/gen", "crates/envelope/src/gen"];

/// Kinds of files with prose.
const WITH_PROSE: &[&str] = &["rs", "md", "py", "ts", "js", "mjs", "mts", "toml", "sh"];

/// Words after which `is no` is right: "there is no …", "is no longer …".
const THERE: &[&str] = &["there", "here"];
const COMPARED: &[&str] =
    &["longer", "more", "less", "fewer", "better", "worse", "later", "earlier", "larger", "smaller"];

#[test]
fn no_banned_phrase_occurs() {
    let banned = Banned::read();
    let mut report = String::new();
    for path in files(&root()) {
        let name = path.strip_prefix(root()).expect("files are below the root");
        let has_prose = path.extension().is_some_and(|kind| WITH_PROSE.iter().any(|known| kind == *known));
        if !has_prose || EXEMPT.iter().any(|exempt| name.starts_with(exempt)) {
            continue;
        }
        let mut text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if name == Path::new("CONTRIBUTING.md") {
            text = text.lines().filter(|line| !line.starts_with("| `")).collect::<Vec<_>>().join("\n");
        }
        report.extend(banned.occurrences(name, &text));
    }
    assert!(report.is_empty(), "CONTRIBUTING.md has better words for these:\n{report}");
}

/// The phrases of the table, as words in lower case.
#[derive(Default)]
struct Banned {
    anywhere: Vec<Vec<String>>,
    /// Only where a clause ends behind them.
    ending: Vec<Vec<String>>,
    /// Only as the first word of a comment or heading.
    first: Vec<String>,
    /// Before a noun.
    verbs: Vec<String>,
}

impl Banned {
    fn read() -> Self {
        let text = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("CONTRIBUTING.md is there");
        let (_, table) = text.split_once("| banned |").expect("CONTRIBUTING.md has the table");
        let mut read = Self::default();
        for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
            let cell = row.split('|').nth(1).expect("a row has cells");
            for phrase in cell.split('`').skip(1).step_by(2).map(str::to_lowercase) {
                if let Some(first) = phrase.strip_suffix(" …") {
                    match first.strip_suffix(" no") {
                        Some(verb) => read.verbs.push(verb.to_owned()),
                        None => read.first.push(first.to_owned()),
                    }
                } else {
                    let list = if phrase.ends_with('.') { &mut read.ending } else { &mut read.anywhere };
                    list.push(phrase.trim_end_matches('.').split(' ').map(str::to_owned).collect());
                }
            }
        }
        assert!(!read.anywhere.is_empty() && !read.first.is_empty() && !read.verbs.is_empty(), "the table has phrases");
        read
    }

    fn occurrences(&self, name: &Path, text: &str) -> Vec<String> {
        let passages = if name.extension().is_some_and(|kind| kind == "rs") { in_code(text) } else { in_text(text) };
        let mut found = Vec::new();
        for passage in passages {
            let words = passage.words();
            for (at, word) in words.iter().enumerate() {
                if let Some(phrase) = self.at(&words, at, passage.has_first) {
                    found.push(format!("{}:{}: {phrase}\n", name.display(), word.line));
                }
            }
        }
        found
    }

    /// The banned phrase that begins at a word.
    fn at(&self, words: &[Word], at: usize, has_first: bool) -> Option<String> {
        let here = |phrase: &&Vec<String>| {
            phrase.iter().enumerate().all(|(offset, part)| {
                words.get(at + offset).is_some_and(|word| word.text == *part && (offset == 0 || word.follows))
            })
        };
        let ends = |phrase: &&Vec<String>| words.get(at + phrase.len()).is_none_or(|word| !word.follows);
        let word = &words[at];
        let phrase = self.anywhere.iter().find(here).or(self.ending.iter().find(|phrase| here(phrase) && ends(phrase)));
        if let Some(phrase) = phrase {
            return Some(phrase.join(" "));
        }
        if at == 0 && has_first && self.first.contains(&word.text) {
            return Some(format!("{} …", word.text));
        }
        let is_no =
            self.verbs.contains(&word.text) && words.get(at + 1).is_some_and(|no| no.text == "no" && no.follows);
        let noun = words.get(at + 2).filter(|noun| noun.follows && !COMPARED.contains(&noun.text.as_str()))?;
        let is_there = at > 0 && THERE.contains(&words[at - 1].text.as_str());
        (is_no && !is_there).then(|| format!("{} no {}", word.text, noun.text))
    }
}

/// One comment, literal, name or paragraph.
struct Passage {
    text: String,
    line: usize,
    /// The first word can begin a clause that stands for a noun.
    has_first: bool,
}

/// A word in lower case.
struct Word {
    text: String,
    line: usize,
    /// Only space is between this word and the one before.
    follows: bool,
}

impl Passage {
    fn words(&self) -> Vec<Word> {
        let mut words = Vec::new();
        let mut line = self.line;
        let mut between = String::from("^");
        let mut rest = self.text.as_str();
        while let Some(first) = rest.chars().next() {
            let is_part = |c: char| c.is_alphanumeric() || "'’-".contains(c);
            if first.is_alphanumeric() {
                let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                let follows = between.chars().all(char::is_whitespace);
                let text = rest[..end].to_lowercase();
                // A possessive counts as its noun.
                let text = text.strip_suffix("'s").or(text.strip_suffix("’s")).map_or(text.clone(), str::to_owned);
                words.push(Word { text, line, follows });
                between.clear();
                rest = &rest[end..];
            } else {
                line += usize::from(first == '\n');
                between.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        words
    }
}

fn in_code(source: &str) -> Vec<Passage> {
    let tokens = tokens(source);
    let mut passages: Vec<Passage> = Vec::new();
    let mut comment = None;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Comment => {
                let mark = mark(token);
                let text = &token.text[mark.len()..];
                let (line, has_first) = (token.line, true);
                if comment == Some((mark, line - 1)) && !text.trim().is_empty() {
                    let open = passages.last_mut().expect("the comment has begun");
                    open.text.extend(["\n", text]);
                } else {
                    passages.push(Passage { text: text.to_owned(), line, has_first });
                }
                comment = (!text.trim().is_empty()).then_some((mark, line));
            }
            Kind::Text => passages.push(Passage { text: token.text.to_owned(), line: token.line, has_first: false }),
            Kind::Word if at > 0 && tokens[at - 1].is("fn") => {
                passages.push(Passage { text: token.text.replace('_', " "), line: token.line, has_first: false });
            }
            Kind::Word | Kind::Mark => {}
        }
    }
    passages
}

fn mark<'a>(comment: &Token<'a>) -> &'a str {
    let end = comment.text.find(|c| !"/!*".contains(c)).unwrap_or(comment.text.len());
    &comment.text[..end]
}

fn in_text(text: &str) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let mut is_open = false;
    for (number, line) in text.lines().enumerate() {
        let is_heading = line.starts_with('#');
        if is_open && !is_heading && !line.trim().is_empty() {
            let open = passages.last_mut().expect("a paragraph has begun");
            open.text.extend(["\n", line]);
        } else {
            passages.push(Passage { text: line.to_owned(), line: number + 1, has_first: is_heading });
        }
        is_open = !is_heading && !line.trim().is_empty();
    }
    passages
}
