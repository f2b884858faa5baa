//! The YAML at the beginning of a `SKILL.md`, as JSON.
//!
//! Clients compare each field of an entry with the file itself (SEP-2640, "Frontmatter Verification"), so the value is
//! read by YAML 1.2 alone: `yes` is text, and `<<` is a name like any other.

use std::str;

use protomcp_types::RawJson;
use serde_json::Value;
use serde_saphyr::{Error, MergeKeyPolicy, Options};
use thiserror::Error;

use crate::limits::{MAX_DESCRIPTION, MAX_FRONTMATTER, MAX_NAME, MAX_YAML_DEPTH, MAX_YAML_NODES};
use crate::yaml::to_json;

/// The most anchors of a frontmatter, and the most places that refer to them.
const MAX_ALIASES: usize = 64;

/// The frontmatter of a skill. It has a valid name and a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frontmatter {
    name: String,
    description: String,
    json: RawJson,
}

/// The reason why a `SKILL.md` has no valid frontmatter.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FrontmatterError {
    /// The file is not text.
    #[error("the file is not text in UTF-8")]
    NotText,
    /// The first line is not the mark of a frontmatter.
    #[error("the first line is not ---, which begins a frontmatter")]
    NoBeginning,
    /// No later line ends it.
    #[error("no line --- ends the frontmatter")]
    NoEnd,
    /// It has more than [`MAX_FRONTMATTER`] bytes.
    #[error("the frontmatter has more than {max} bytes", max = MAX_FRONTMATTER)]
    TooLong,
    /// It is not YAML, cannot be written as JSON, or exceeds a bound.
    #[error("the frontmatter cannot be read: {0}")]
    Yaml(String),
    /// It is not a mapping.
    #[error("the frontmatter is not a mapping, such as name: NAME")]
    NotAMapping,
    /// A field is missing, or is not text.
    #[error("the frontmatter has no field {0} with a text")]
    Missing(&'static str),
    /// The name breaks the rules of Agent Skills. Of a long one it is the beginning.
    #[error(
        "the name {0:?} is not valid: use 1 to {max} lower-case letters, digits and single hyphens between them",
        max = MAX_NAME
    )]
    Name(String),
    /// The description is empty, or longer than [`MAX_DESCRIPTION`] characters.
    #[error("the description is not valid: use 1 to {max} characters", max = MAX_DESCRIPTION)]
    Description,
}

impl Frontmatter {
    /// Reads the frontmatter of a document. A byte order mark in front of it is ignored.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn read(document: &[u8]) -> Result<Self, FrontmatterError> {
        let text = str::from_utf8(document).map_err(|_| FrontmatterError::NotText)?;
        // An empty line in place of the mark: the lines in errors are the ones of the file.
        let yaml = format!("\n{}", block(text)?);
        let value = to_json(&yaml, options()).map_err(|error| reason(&error))?;
        let Value::Object(fields) = &value else { return Err(FrontmatterError::NotAMapping) };
        let field = |name| fields.get(name).and_then(Value::as_str).ok_or(FrontmatterError::Missing(name));
        let (name, description) = (field("name")?, field("description")?);
        if !is_skill_name(name) {
            let end = name.char_indices().nth(MAX_NAME).map(|(end, _)| end);
            return Err(FrontmatterError::Name(
                end.map_or_else(|| name.to_owned(), |end| format!("{}…", &name[..end])),
            ));
        }
        if description.trim().is_empty() || description.chars().count() > MAX_DESCRIPTION {
            return Err(FrontmatterError::Description);
        }
        let json = RawJson::of(&value).map_err(|error| FrontmatterError::Yaml(error.to_string()))?;
        Ok(Self { name: name.to_owned(), description: description.to_owned(), json })
    }

    /// The name of the skill.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The description of the skill.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// All fields, as a JSON object.
    #[must_use]
    pub fn as_json(&self) -> &RawJson {
        &self.json
    }
}

/// The reason and its place, without the words of the library that are for programmers.
fn reason(error: &Error) -> FrontmatterError {
    let reason = match error.without_snippet() {
        Error::DuplicateMappingKey { .. } => "a name occurs twice".to_owned(),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => "it is too deep, or has too many values or anchors".to_owned(),
        Error::RecursiveReferencesRequireWeakTypes { .. } => "an anchor refers to itself".to_owned(),
        Error::NullIntoString { .. } => "a name is null: put it into quotation marks".to_owned(),
        // The place and the reason; the lines around it follow.
        error => error.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned(),
    };
    let place = error.location().filter(|_| !reason.contains(" line ")).map(|at| format!(" at line {}", at.line()));
    let hint = if reason.contains("mapping values") { ": put a text with a colon into quotation marks" } else { "" };
    FrontmatterError::Yaml(format!("{reason}{}{hint}", place.unwrap_or_default()))
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_YAML_DEPTH,
            max_nodes: MAX_YAML_NODES,
            max_events: 4 * MAX_YAML_NODES,
            max_aliases: MAX_ALIASES,
            max_anchors: MAX_ALIASES,
            max_documents: 1,
            max_total_scalar_bytes: MAX_FRONTMATTER,
            max_recorded_anchor_bytes: MAX_FRONTMATTER,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_YAML_NODES,
            max_replay_stack_depth: 8,
        },
        merge_keys: MergeKeyPolicy::AsOrdinary,
        strict_booleans: true,
        underscored_numbers_as_strings: true,
        with_snippet: false,
    }
}

/// The lines between the two marks.
fn block(document: &str) -> Result<&str, FrontmatterError> {
    let text = document.strip_prefix('\u{feff}').unwrap_or(document);
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if !is_mark(first) {
        return Err(FrontmatterError::NoBeginning);
    }
    let mut end = first.len();
    for line in lines {
        if is_mark(line) {
            return Ok(&text[first.len()..end]);
        }
        end += line.len();
        if end - first.len() > MAX_FRONTMATTER {
            return Err(FrontmatterError::TooLong);
        }
    }
    Err(FrontmatterError::NoEnd)
}

fn is_mark(line: &str) -> bool {
    line.trim_end() == "---"
}

/// The rules of Agent Skills for `name`.
fn is_skill_name(name: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    name.len() <= MAX_NAME && name.split('-').all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &str) -> Result<Frontmatter, FrontmatterError> {
        Frontmatter::read(format!("---\n{fields}\n---\nText.\n").as_bytes())
    }

    #[test]
    fn every_field_of_the_author_is_kept() {
        let fields =
            "name: a-1\ndescription: \"D: d\"\nlicense: MIT\nmetadata:\n  version: '1.10'\n  tags: [yes, 2, 1_0, null]";
        let frontmatter = read(fields).unwrap();
        let expected = serde_json::json!({
            "name": "a-1", "description": "D: d", "license": "MIT",
            "metadata": {"version": "1.10", "tags": ["yes", 2, "1_0", null]}
        });
        assert_eq!(serde_json::from_str::<Value>(frontmatter.as_json().as_str()).unwrap(), expected);
        assert_eq!((frontmatter.name(), frontmatter.description()), ("a-1", "D: d"));
    }

    /// YAML 1.2.2, section 10.3.2.
    #[test]
    fn numbers_are_read_by_the_core_schema() {
        let text = |text: &str| Value::from(text);
        for (written, expected) in [
            ("7", Value::from(7)),
            ("-12", Value::from(-12)),
            ("+12", Value::from(12)),
            ("017", Value::from(17)),
            ("-007", Value::from(-7)),
            ("00", Value::from(0)),
            ("0o17", Value::from(15)),
            ("0o18", text("0o18")),
            ("0x1f", Value::from(31)),
            ("0xFF", Value::from(255)),
            ("0b11", text("0b11")),
            ("0X1f", text("0X1f")),
            ("-0x1f", text("-0x1f")),
            ("+0o7", text("+0o7")),
            ("18446744073709551615", Value::from(u64::MAX)),
            ("-9223372036854775808", Value::from(i64::MIN)),
            ("18446744073709551616", text("18446744073709551616")),
            ("-9223372036854775809", text("-9223372036854775809")),
            ("0x10000000000000000", text("0x10000000000000000")),
            ("1.50", Value::from(1.5)),
            (".5", Value::from(0.5)),
            ("1e3", Value::from(1000.0)),
            ("0e1", Value::from(0.0)),
            ("1_000", text("1_000")),
            ("1.2.3", text("1.2.3")),
            ("2026-11-28", text("2026-11-28")),
            ("'017'", text("017")),
            ("\"0b11\"", text("0b11")),
            ("!!str 017", text("017")),
            ("!!int \"17\"", Value::from(17)),
            ("true", Value::from(true)),
            ("yes", text("yes")),
            ("~", Value::Null),
        ] {
            // Also as an anchor, behind an alias, and next to the marks of a list.
            let fields =
                format!("name: a\ndescription: é\nx: {written} # 9\ny: [ {written},{written} ]\nz: [&z {written}, *z]");
            let frontmatter = read(&fields).unwrap();
            let found: Value = serde_json::from_str(frontmatter.as_json().as_str()).unwrap();
            let pair = Value::from(vec![expected.clone(), expected.clone()]);
            assert_eq!((&found["x"], &found["y"], &found["z"]), (&expected, &pair, &pair), "{written}");
        }
    }

    #[test]
    fn marks_may_have_blanks_and_either_line_end() {
        for document in [
            "\u{feff}---\nname: a\ndescription: d\n---\n",
            "---\r\nname: a\r\ndescription: d\r\n---\r\nText",
            "--- \nname: a\ndescription: d\n---\t",
        ] {
            assert_eq!(Frontmatter::read(document.as_bytes()).unwrap().name(), "a", "{document:?}");
        }
    }

    #[test]
    fn documents_without_a_frontmatter_are_refused() {
        let long = format!("---\n# {}\n---\n", "x".repeat(MAX_FRONTMATTER));
        for (document, error) in [
            ("", FrontmatterError::NoBeginning),
            ("name: a\n---\n", FrontmatterError::NoBeginning),
            (" ---\nname: a\n---\n", FrontmatterError::NoBeginning),
            ("---\nname: a\ndescription: d\n", FrontmatterError::NoEnd),
            ("---\n---\n", FrontmatterError::NotAMapping),
            ("---\n- name\n---\n", FrontmatterError::NotAMapping),
            (long.as_str(), FrontmatterError::TooLong),
        ] {
            assert_eq!(Frontmatter::read(document.as_bytes()), Err(error), "{}", &document[..document.len().min(40)]);
        }
        assert_eq!(Frontmatter::read(b"---\nname: \xff\n---\n"), Err(FrontmatterError::NotText));
    }

    #[test]
    fn names_and_descriptions_keep_the_rules_of_agent_skills() {
        let long = "a".repeat(MAX_NAME + 1);
        for name in ["A", "a--b", "-a", "a-", "a_b", "a b", "é", "a/b", "..", &long] {
            let fields = format!("name: \"{name}\"\ndescription: d");
            assert!(matches!(read(&fields), Err(FrontmatterError::Name(_))), "{name}");
        }
        let named = |name: &str| read(&format!("name: {name}\ndescription: d")).unwrap_err().to_string();
        assert!(named(&long).contains(&format!("\"{}…\"", "a".repeat(MAX_NAME))), "{}", named(&long));
        assert!(named("a--b").contains("\"a--b\""), "{}", named("a--b"));
        let wordy = format!("name: a\ndescription: {}", "é".repeat(MAX_DESCRIPTION + 1));
        for (fields, error) in [
            ("description: d", FrontmatterError::Missing("name")),
            ("name: 7\ndescription: d", FrontmatterError::Missing("name")),
            ("name: a", FrontmatterError::Missing("description")),
            ("name: a\ndescription: ' '", FrontmatterError::Description),
            (wordy.as_str(), FrontmatterError::Description),
        ] {
            assert_eq!(read(fields), Err(error));
        }
        assert!(read(&format!("name: a\ndescription: {}", "é".repeat(MAX_DESCRIPTION))).is_ok());
    }

    #[test]
    fn the_reason_has_the_line_of_the_file() {
        for (fields, expected) in [
            ("name: a\ndescription: Use when: asked", "line 3"),
            ("name: a\ndescription: Use when: asked", "put a text with a colon into quotation marks"),
            ("name: a\nname: b\ndescription: d", "a name occurs twice at line 3"),
            ("name: a\ndescription: d\nx: &x [*x]", "an anchor refers to itself"),
        ] {
            let Err(FrontmatterError::Yaml(reason)) = read(fields) else { panic!("{fields} is read") };
            assert!(reason.contains(expected), "{reason}");
        }
    }

    #[test]
    fn yaml_is_bounded_and_has_one_meaning() {
        let deep = format!("name: a\ndescription: d\nx: {}{}", "[".repeat(40), "]".repeat(40));
        let many = format!("name: a\ndescription: d\nx: [{}]", "1,".repeat(MAX_YAML_NODES + 1));
        let bomb = "name: a\ndescription: d\na: &a [1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c \
                    [*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c]";
        for fields in [
            deep.as_str(),
            many.as_str(),
            bomb,
            "name: a\nname: b\ndescription: d",
            "name: a\ndescription: d\nx: .nan",
            "name: a\ndescription: d\nx: [1",
        ] {
            assert!(matches!(read(fields), Err(FrontmatterError::Yaml(_))), "{}", &fields[..fields.len().min(60)]);
        }
    }
}
