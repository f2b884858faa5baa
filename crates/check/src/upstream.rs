//! The rules for definitions that `pmcp validate` of version 0.3.1 has, with their words.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::definition::ToolDefinition;
use crate::report::Strictness;

/// A fault of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// The name of the tool; may be empty.
    pub tool: String,
    /// The fault, in words.
    pub issue: String,
}

/// The shortest description in bytes that strict rules accept.
const MIN_DESCRIPTION: usize = 10;

/// Names that say nothing, refused by strict rules.
const GENERIC: [&str; 8] = ["test", "tool1", "foo", "bar", "baz", "temp", "tmp", "example"];

/// The faults of these definitions, in their order.
pub(crate) fn issues(tools: &[ToolDefinition], strictness: Strictness) -> Vec<Issue> {
    let (mut seen, mut described) = (HashSet::new(), HashMap::new());
    let mut all = Vec::new();
    for tool in tools {
        let mut found = |issue: String| all.push(Issue { tool: tool.name.clone(), issue });
        if tool.name.is_empty() {
            found("empty tool name".to_owned());
        } else if !is_name(&tool.name) {
            found(format!("invalid name \"{}\": must match [a-zA-Z_][a-zA-Z0-9_]*", tool.name));
        } else if !seen.insert(tool.name.as_str()) {
            found("duplicate tool name".to_owned());
        }
        if tool.description.is_empty() {
            found("no description".to_owned());
        }
        if !tool.input_text.is_empty()
            && let Err(error) = serde_json::from_str::<Map<String, Value>>(&tool.input_text)
        {
            found(format!("invalid input schema JSON: {error}"));
        }
        if strictness == Strictness::Strict {
            about_description(tool, &mut described).into_iter().for_each(&mut found);
            if GENERIC.contains(&tool.name.to_lowercase().as_str()) {
                found(format!("generic name \"{}\"", tool.name));
            }
        }
    }
    all
}

/// The reasons for which a model cannot use a description. `described` has the descriptions of earlier tools.
fn about_description<'a>(tool: &'a ToolDefinition, described: &mut HashMap<&'a str, &'a str>) -> Vec<String> {
    let (name, text) = (tool.name.as_str(), tool.description.as_str());
    let mut all = Vec::new();
    if text.len() < MIN_DESCRIPTION {
        all.push(format!("description too short ({} chars, minimum {MIN_DESCRIPTION})", text.len()));
    }
    if repeats_name(name, text) {
        all.push(format!("description says no more than the name: \"{text}\""));
    }
    if is_placeholder(text) {
        all.push(format!("description is a placeholder: \"{text}\""));
    }
    if !text.is_empty() && letters(&without_tags(text)).is_empty() {
        all.push("description has no words, only markup".to_owned());
    }
    match described.get(text.trim()) {
        Some(other) if *other != name => all.push(format!("same description as \"{other}\"")),
        None if !text.trim().is_empty() => _ = described.insert(text.trim(), name),
        Some(_) | None => {}
    }
    all
}

/// Texts that stand for a description, by their letters.
const PLACEHOLDERS: [&str; 15] = [
    "todo",
    "tbd",
    "fixme",
    "xxx",
    "placeholder",
    "description",
    "adescription",
    "tooldescription",
    "descriptionhere",
    "adddescription",
    "adddescriptionhere",
    "yourdescriptionhere",
    "insertdescriptionhere",
    "nodescription",
    "nodescriptionprovided",
];

/// Marks of work that is left.
const MARKS: [&str; 4] = ["TODO:", "TBD:", "FIXME:", "XXX:"];

/// True if a description is still to be written. A list of things to do may be called "Todo".
fn is_placeholder(text: &str) -> bool {
    PLACEHOLDERS.contains(&letters(text).as_str())
        || MARKS.iter().any(|mark| text.contains(mark))
        || text.to_lowercase().contains("lorem ipsum")
}

/// The text without `<…>`, as HTML and XML have it.
fn without_tags(text: &str) -> String {
    let mut depth = 0_usize;
    text.chars()
        .filter(|c| {
            let is_outside = depth == 0 && *c != '<';
            match c {
                '<' => depth += 1,
                '>' => depth = depth.saturating_sub(1),
                _ => {}
            }
            is_outside
        })
        .collect()
}

/// The letters and digits of a text, in lower case.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// True if a description is the words of the name, such as "Get user." for `get_user`: a model learns nothing from it.
fn repeats_name(name: &str, description: &str) -> bool {
    let (name, description) = (letters(name), letters(description));
    !description.is_empty() && name == description
}

/// `^[a-zA-Z_][a-zA-Z0-9_.]*$`: dots are fine although the message omits them.
fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(strictness: Strictness, tools: &[(&str, &str, &str)], expected: &[(&str, &str)]) {
        let tools: Vec<_> = tools
            .iter()
            .map(|(name, description, schema)| ToolDefinition::registered(name, description, schema, None))
            .collect();
        let issues = issues(&tools, strictness);
        let found: Vec<_> = issues.iter().map(|found| (found.tool.as_str(), found.issue.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_rule_has_its_words() {
        let name = "invalid name \"get-x\": must match [a-zA-Z_][a-zA-Z0-9_]*";
        let digit = "invalid name \"1a\": must match [a-zA-Z_][a-zA-Z0-9_]*";
        for (tools, expected) in [
            (&[("add", "Adds.", ""), ("group.add", "Adds.", "{}"), ("_x", "X.", "{}")][..], &[][..]),
            (&[("", "Adds.", "")], &[("", "empty tool name")]),
            (&[("get-x", "Gets.", "")], &[("get-x", name)]),
            (&[("1a", "One.", "")], &[("1a", digit)]),
            (&[("a", "A.", ""), ("a", "A.", "")], &[("a", "duplicate tool name")]),
            // Repeated names are reported only where the name is otherwise valid.
            (&[("get-x", "Gets.", ""), ("get-x", "Gets.", "")], &[("get-x", name), ("get-x", name)]),
            (&[("a", "", "")], &[("a", "no description")]),
            (
                &[("a", "A.", "[]")],
                &[("a", "invalid input schema JSON: invalid type: sequence, expected a map at line 1 column 0")],
            ),
            (
                &[("a", "", "{")],
                &[
                    ("a", "no description"),
                    ("a", "invalid input schema JSON: EOF while parsing an object at line 1 column 1"),
                ],
            ),
            (&[("test", "short", "")], &[]),
        ] {
            check(Strictness::Usual, tools, expected);
        }
    }

    #[test]
    fn strict_rules_want_words_that_say_something() {
        for (tool, expected) in [
            (("search", "Ten bytes.", ""), &[][..]),
            (("search", "Nine byte", ""), &[("search", "description too short (9 chars, minimum 10)")]),
            (
                ("search", "", ""),
                &[("search", "no description"), ("search", "description too short (0 chars, minimum 10)")],
            ),
            (("Tmp", "A file for a moment.", ""), &[("Tmp", "generic name \"Tmp\"")]),
            (
                ("get_user_name", "Get user name.", ""),
                &[("get_user_name", "description says no more than the name: \"Get user name.\"")],
            ),
        ] {
            check(Strictness::Strict, &[tool], expected);
        }
    }

    #[test]
    fn descriptions_that_a_model_cannot_use_are_named() {
        for (description, issue) in [
            ("Lists what is to do: todo items.", None),
            ("Returns <b>bold</b> text, and a < b.", None),
            ("Add description here", Some("description is a placeholder: \"Add description here\"")),
            ("Gets it. TODO: say more", Some("description is a placeholder: \"Gets it. TODO: say more\"")),
            ("<div><br/></div>", Some("description has no words, only markup")),
            ("--- *** ---", Some("description has no words, only markup")),
        ] {
            let expected: Vec<_> = issue.iter().map(|issue| ("search", *issue)).collect();
            check(Strictness::Strict, &[("search", description, "")], &expected);
        }
        let tools = [("one", "Gets the user.", ""), ("two", "Gets the user. ", ""), ("one", "Gets the user.", "")];
        let expected = [("two", "same description as \"one\""), ("one", "duplicate tool name")];
        check(Strictness::Strict, &tools, &expected);
    }
}
