//! The arguments of a tool or a prompt on the command line: words `name=value`, or one JSON object.
//!
//! Values stay the text that was typed, so that numbers keep all their digits.

use std::io;

use protomcp_schema::admits_member;
use protomcp_types::RawJson;
use serde_json::Value;

use crate::exit::Failure;
use crate::{json_names, text_file};

/// The arguments of a call.
#[derive(Debug)]
pub(super) enum Arguments {
    /// One object, as it was typed.
    Object(RawJson),
    /// Names and values.
    Words(Vec<(String, String)>),
}

impl Arguments {
    /// Reads the words of the command line; `-` is an object on standard input.
    pub(super) fn read(words: &[String]) -> Result<Self, Failure> {
        if let [word] = words {
            if word == "-" {
                let text = text_file::read_all(io::stdin().lock());
                return object(text.map_err(|error| Failure::failed(format!("cannot read standard input: {error}")))?);
            }
            let word = text_file::without_mark(word);
            if word.trim_start().starts_with('{') {
                return object(word.to_owned());
            }
        }
        let mut all: Vec<(String, String)> = Vec::new();
        for word in words {
            let wrong =
                || Failure::usage(format!("invalid argument \"{word}\": expected name=value, or one JSON object"));
            let (name, value) = word.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(wrong)?;
            if all.iter().any(|(known, _)| known == name) {
                return Err(twice(name));
            }
            all.push((name.to_owned(), value.to_owned()));
        }
        Ok(Self::Words(all))
    }

    /// True if the schema of the tool decides about a value: it can be read as JSON, and may be meant as text.
    pub(super) fn depend_on_schema(&self) -> bool {
        match self {
            Self::Object(_) => false,
            Self::Words(words) => words.iter().any(|(_, value)| is_ambiguous(value)),
        }
    }

    /// The arguments as an object. `schema`: of the tool's input, where it is known. A word is text if the schema allows a
    /// text, and does not allow the kind of JSON that the word is.
    pub(super) fn into_json(self, schema: Option<&Value>) -> RawJson {
        let words = match self {
            Self::Object(object) => return object,
            Self::Words(words) => words,
        };
        let members: Vec<String> = words
            .iter()
            .map(|(name, value)| {
                let json = RawJson::parse(value.clone()).ok();
                let json = json.filter(|json| schema.is_none_or(|schema| !is_text(schema, name, value, json)));
                format!("{}:{}", RawJson::text(name), json.unwrap_or_else(|| RawJson::text(value)))
            })
            .collect();
        RawJson::parse(format!("{{{}}}", members.join(","))).expect("names and values are JSON")
    }
}

impl Arguments {
    /// The arguments of a prompt, which are texts.
    pub(super) fn into_texts(self) -> RawJson {
        match self {
            Self::Object(object) => object,
            Self::Words(words) => {
                let member =
                    |(name, text): &(String, String)| format!("{}:{}", RawJson::text(name), RawJson::text(text));
                let members: Vec<String> = words.iter().map(member).collect();
                RawJson::parse(format!("{{{}}}", members.join(","))).expect("names and values are JSON")
            }
        }
    }
}

/// True for values such as `12345` and `{}`, which are JSON without being a text.
fn is_ambiguous(value: &str) -> bool {
    !value.trim_start().starts_with('"') && RawJson::parse(value.to_owned()).is_ok()
}

/// True if the schema allows this member to be the text of a word, but not the JSON that it is.
fn is_text(schema: &Value, name: &str, word: &str, json: &RawJson) -> bool {
    // A number that f64 cannot hold is still a number.
    let value = json.to().unwrap_or_else(|_| Value::from(f64::MAX));
    is_ambiguous(word) && !admits_member(schema, name, &value) && admits_member(schema, name, &Value::from(word))
}

fn object(text: String) -> Result<Arguments, Failure> {
    let wrong = |error| Failure::usage(format!("the arguments are not a JSON object: {error}"));
    if let Some(name) = json_names::repeated(&text).map_err(wrong)? {
        return Err(twice(&name));
    }
    RawJson::parse(text).map(Arguments::Object).map_err(wrong)
}

fn twice(name: &str) -> Failure {
    Failure::usage(format!("the argument \"{name}\" is given twice"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(words: &[&str], schema: &Value) -> Result<String, String> {
        let words: Vec<_> = words.iter().map(ToString::to_string).collect();
        let arguments = Arguments::read(&words).map_err(|failure| failure.to_string())?;
        Ok(arguments.into_json(Some(schema)).to_string())
    }

    #[test]
    fn arguments_are_words_or_one_object() {
        let any = json!({});
        for (words, expected) in [
            (&[][..], "{}"),
            (&["a=2", "name=Ada", "list=[1]", "e=", "q=a=b"], r#"{"a":2,"name":"Ada","list":[1],"e":"","q":"a=b"}"#),
            (&["n=\"3\""], r#"{"n":"3"}"#),
            (&[r#"{"a": {"b": 1}}"#], r#"{"a": {"b": 1}}"#),
            // Numbers keep their digits.
            (&["l=[123456789012345678901234567890]", "x=1e400"], r#"{"l":[123456789012345678901234567890],"x":1e400}"#),
        ] {
            assert_eq!(read(words, &any).as_deref(), Ok(expected));
        }
        for (words, why) in [
            (&["a"][..], "name=value"),
            (&["=1"], "name=value"),
            (&["{a"], "not a JSON object"),
            (&["a=1", "b=2", "a=3"], "\"a\" is given twice"),
            (&[r#"{"a": 1, "a": 2}"#], "\"a\" is given twice"),
        ] {
            assert!(read(words, &any).unwrap_err().contains(why), "{words:?}");
        }
    }

    #[test]
    fn arguments_of_prompts_are_texts() {
        for (words, expected) in [(&["n=1", "t=a"][..], r#"{"n":"1","t":"a"}"#), (&[r#"{"n": 1}"#], r#"{"n": 1}"#)] {
            let words: Vec<_> = words.iter().map(ToString::to_string).collect();
            assert_eq!(Arguments::read(&words).unwrap().into_texts().as_str(), expected);
        }
    }

    #[test]
    fn a_schema_decides_about_texts_that_look_like_numbers() {
        let schema = json!({"properties": {"zip": {"type": "string"}, "n": {"type": "integer"}, "any": {}}});
        let words = ["zip=12345", "n=1", "any=true"];
        assert_eq!(read(&words, &schema).as_deref(), Ok(r#"{"zip":"12345","n":1,"any":true}"#));
        assert_eq!(read(&["zip=\"a\""], &schema).as_deref(), Ok(r#"{"zip":"a"}"#));
        let depend =
            |word: &str| Arguments::read(&[word.to_owned()]).map(|read| read.depend_on_schema()).unwrap_or(false);
        assert!(depend("zip=12345") && depend("a=null") && !depend("a=text") && depend("a=[1]") && !depend("{}"));
    }

    #[test]
    fn a_word_is_text_where_the_schema_allows_no_other_kind() {
        let text = json!({"type": "string"});
        for (schema, word, expected) in [
            (json!({"anyOf": [text, {"type": "null"}]}), "12345", "\"12345\""),
            (json!({"anyOf": [text, {"type": "null"}]}), "null", "null"),
            (json!({"type": ["string", "integer"]}), "15", "15"),
            (json!({"type": ["string", "integer"]}), "1.5", "\"1.5\""),
            (json!({"enum": ["1", "2"]}), "1", "\"1\""),
            (text.clone(), "{}", "\"{}\""),
            (text.clone(), "[1]", "\"[1]\""),
            (text.clone(), "1e400", "\"1e400\""),
            // The error is about the kind that the schema names.
            (json!({"type": "string", "pattern": "^a"}), "1", "\"1\""),
            (json!({"anyOf": [text, {"type": "object", "required": ["x"]}]}), "{}", "{}"),
            (json!({"type": "integer"}), "1e400", "1e400"),
            (json!({"type": "integer"}), "1.5", "1.5"),
            (json!({"type": "integer"}), "x", "\"x\""),
            (json!({}), "2024", "2024"),
        ] {
            let all = json!({"properties": {"a": schema}});
            assert_eq!(read(&[&format!("a={word}")], &all), Ok(format!("{{\"a\":{expected}}}")), "{schema} {word}");
        }
    }
}
