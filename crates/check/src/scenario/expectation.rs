//! The expected outcome of a step.

use std::collections::BTreeMap;

use protomcp_types::null_as_default;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::scenario::matcher::Matcher;
use crate::scenario::variables::filled;

/// The expected outcome of a step. Without one, the request must succeed, and a tool must not report an error.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The texts of the content, one after the other, each on its own lines.
    #[serde(default)]
    text: Option<Matcher>,
    /// The tool reports an error: true, or its text.
    #[serde(default)]
    error: Option<Matcher>,
    /// The request fails: true, or the message of the error.
    #[serde(default)]
    fails: Option<Matcher>,
    /// Values in the result, by JSON pointers.
    #[serde(default, deserialize_with = "null_as_default")]
    at: BTreeMap<String, Matcher>,
    /// The names in a list, in any order.
    #[serde(default)]
    names: Option<Matcher>,
    /// The whole result.
    #[serde(default)]
    result: Option<Matcher>,
    /// Notifications that arrive in the time of the step, by their methods, with their parameters.
    #[serde(default, deserialize_with = "null_as_default")]
    notifications: BTreeMap<String, Matcher>,
    /// Lists that the server says have changed: tools, resources, prompts.
    #[serde(default, deserialize_with = "null_as_default")]
    changes: Vec<String>,
}

/// The answer to the request of a step.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    /// A result.
    Result(Value),
    /// The code and the message of an error.
    Failed { code: Option<i64>, message: String },
}

impl Expectation {
    /// Checks pointers, patterns and schemas.
    pub(super) fn check(&self) -> Result<(), String> {
        for pointer in self.at.keys() {
            if !pointer.is_empty() && !pointer.starts_with('/') {
                return Err(format!("{pointer:?} is not a JSON pointer, such as /content/0/text"));
            }
        }
        let known = ["tools", "resources", "prompts"];
        if let Some(other) = self.changes.iter().find(|change| !known.contains(&change.as_str())) {
            return Err(format!("changes of {other:?}: expected tools, resources or prompts"));
        }
        let single = [&self.text, &self.error, &self.fails, &self.names, &self.result].into_iter().flatten();
        let mut all = single.chain(self.at.values()).chain(self.notifications.values());
        all.try_for_each(Matcher::is_valid)
    }

    /// With the values of variables.
    pub(super) fn filled(&self, variables: &BTreeMap<String, Value>) -> Result<Self, String> {
        let fill = |value: &Value| filled(value, variables);
        let one = |matcher: &Option<Matcher>| matcher.as_ref().map(|matcher| matcher.map(&fill)).transpose();
        let named = |all: &BTreeMap<String, Matcher>| -> Result<BTreeMap<String, Matcher>, String> {
            all.iter().map(|(name, matcher)| Ok((name.clone(), matcher.map(&fill)?))).collect()
        };
        Ok(Self {
            text: one(&self.text)?,
            error: one(&self.error)?,
            fails: one(&self.fails)?,
            at: named(&self.at)?,
            names: one(&self.names)?,
            result: one(&self.result)?,
            notifications: named(&self.notifications)?,
            changes: self.changes.clone(),
        })
    }

    /// The differences between an answer and what is expected.
    pub(super) fn differences(&self, answer: &Answer) -> Vec<String> {
        let result = match (answer, &self.fails) {
            (Answer::Failed { message, .. }, None) => return vec![format!("the request failed: {message}")],
            (Answer::Failed { code, message }, Some(expected)) => {
                return compared("fails", told(expected, message, *code)).into_iter().collect();
            }
            (Answer::Result(_), Some(_)) => return vec!["fails: expected an error, got a result".into()],
            (Answer::Result(result), None) => result,
        };
        let texts = texts(result);
        let mut all = Vec::new();
        all.extend(match (&self.error, result["isError"] == true) {
            (None | Some(Matcher::Equals(Value::Bool(false))), true) => {
                Some(format!("the tool reports an error: {texts}"))
            }
            (None | Some(Matcher::Equals(Value::Bool(false))), false) => None,
            (Some(_), false) => Some("error: expected an error of the tool, got a result".into()),
            (Some(expected), true) => compared("error", told(expected, &texts, None)),
        });
        let check = |what: &str, matcher: &Option<Matcher>, value: &Value| {
            compared(what, matcher.as_ref().map_or(Ok(()), |matcher| matcher.check(Some(value))))
        };
        all.extend(check("text", &self.text, &Value::String(texts)));
        all.extend(check("result", &self.result, result));
        if let Some(matcher) = &self.names {
            all.extend(compared("names", named(matcher, &names(result))));
        }
        for (pointer, matcher) in &self.at {
            all.extend(compared(pointer, matcher.check(result.pointer(pointer))));
        }
        all
    }

    /// The methods of expected notifications, with their matchers.
    pub(super) fn awaited(&self) -> Vec<(String, Option<&Matcher>)> {
        let changes = self.changes.iter().map(|list| (format!("notifications/{list}/list_changed"), None));
        changes.chain(self.notifications.iter().map(|(method, matcher)| (method.clone(), Some(matcher)))).collect()
    }
}

/// Compares an error: `true` is any, a number is a code, another value the message.
fn told(expected: &Matcher, message: &str, code: Option<i64>) -> Result<(), String> {
    match expected {
        Matcher::Equals(Value::Bool(true)) => Ok(()),
        Matcher::Equals(Value::Number(_)) => expected.check(code.map(|code| json!(code)).as_ref()),
        expected => expected.check(Some(&json!(message))),
    }
}

/// Compares names, whose order does not count.
fn named(matcher: &Matcher, names: &[String]) -> Result<(), String> {
    let sorted = |value: &Value| match value.as_array() {
        Some(all) => {
            let mut all = all.clone();
            all.sort_by_key(Value::to_string);
            Value::Array(all)
        }
        None => value.clone(),
    };
    let found = sorted(&json!(names));
    match matcher {
        Matcher::Equals(expected) => Matcher::Equals(sorted(expected)).check(Some(&found)),
        other => other.check(Some(&found)),
    }
}

fn compared(what: &str, outcome: Result<(), String>) -> Option<String> {
    outcome.err().map(|why| format!("{what}: {why}"))
}

/// The texts of a result: of its content, of a resource, or of the messages of a prompt.
pub(super) fn texts(result: &Value) -> String {
    let blocks = ["content", "contents"].iter().filter_map(|member| result[member].as_array()).flatten();
    let messages = result["messages"].as_array().into_iter().flatten().map(|message| &message["content"]);
    let text = |block: &Value| Some(block["text"].as_str().or_else(|| block["resource"]["text"].as_str())?.to_owned());
    blocks.chain(messages).filter_map(text).collect::<Vec<_>>().join("\n")
}

/// The names in a list: of tools and prompts; URIs of resources and templates.
fn names(result: &Value) -> Vec<String> {
    let lists =
        ["tools", "prompts", "resources", "resourceTemplates"].iter().filter_map(|list| result[list].as_array());
    let name = |item: &Value| {
        let name = item.get("uri").or_else(|| item.get("uriTemplate")).or_else(|| item.get("name"));
        name.and_then(Value::as_str).map(ToOwned::to_owned)
    };
    lists.flatten().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: Value, answer: &Answer, differences: &[&str]) {
        let expected: Expectation = serde_json::from_value(expected).unwrap();
        expected.check().unwrap();
        assert_eq!(expected.differences(answer), differences);
    }

    fn result(value: Value) -> Answer {
        Answer::Result(value)
    }

    #[test]
    fn results_are_compared_part_by_part() {
        let five = result(json!({"content": [{"type": "text", "text": "5"}], "structuredContent": {"sum": 5}}));
        check(json!({}), &five, &[]);
        check(json!({"text": "5", "at": {"/structuredContent/sum": 5}, "error": false}), &five, &[]);
        check(
            json!({"text": "6", "at": {"/structuredContent/sum": 6, "/x": 1}}),
            &five,
            &[
                "text: expected \"6\", got \"5\"",
                "/structuredContent/sum: expected 6, got 5",
                "/x: expected 1, got nothing",
            ],
        );
        check(json!({"fails": true}), &five, &["fails: expected an error, got a result"]);
        check(json!({"error": true}), &five, &["error: expected an error of the tool, got a result"]);
        check(json!({"result": {"contains": {"structuredContent": {"sum": 5}}}}), &five, &[]);
    }

    #[test]
    fn errors_are_expected_or_not() {
        let error = result(json!({"isError": true, "content": [{"type": "text", "text": "no disk"}]}));
        check(json!({}), &error, &["the tool reports an error: no disk"]);
        check(json!({"error": true, "text": {"contains": "disk"}}), &error, &[]);
        check(json!({"error": {"contains": "disk"}}), &error, &[]);
        check(json!({"error": "x"}), &error, &["error: expected \"x\", got \"no disk\""]);
        let failed = Answer::Failed { code: Some(-32602), message: "unknown tool".into() };
        check(json!({}), &failed, &["the request failed: unknown tool"]);
        for expected in [json!(true), json!(-32602), json!({"contains": "unknown"})] {
            check(json!({"fails": expected}), &failed, &[]);
        }
        check(json!({"fails": -1}), &failed, &["fails: expected -1, got -32602"]);
    }

    #[test]
    fn names_of_a_list_have_no_order() {
        let list = result(json!({"tools": [{"name": "b"}, {"name": "a"}]}));
        check(json!({"names": ["a", "b"]}), &list, &[]);
        check(json!({"names": {"contains": "a"}}), &list, &[]);
        check(json!({"names": {"not": {"contains": "c"}}}), &list, &[]);
        check(json!({"names": ["a"]}), &list, &["names: expected [\"a\"], got [\"a\",\"b\"]"]);
        check(json!({"names": ["u"]}), &result(json!({"resources": [{"uri": "u", "name": "x"}]})), &[]);
    }

    #[test]
    fn variables_are_filled_in_everywhere() {
        let expected: Expectation =
            serde_json::from_value(json!({"text": "{{n}}!", "at": {"/a": "{{n}}"}, "error": {"matches": "^{{n}}"}}))
                .unwrap();
        let filled = expected.filled(&BTreeMap::from([("n".to_owned(), json!(5))])).unwrap();
        assert_eq!(filled.text, Some(Matcher::Equals(json!("5!"))));
        assert_eq!(filled.at["/a"], Matcher::Equals(json!(5)));
        assert_eq!(filled.error, Some(Matcher::Matches("^5".into())));
    }
}
