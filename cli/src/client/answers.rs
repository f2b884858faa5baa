//! Answers of the command line to the forms of a server.

use std::sync::{Arc, Mutex, PoisonError};

use protomcp_types::{Elicit, ElicitAction, ElicitResult, ElicitWay, ErrorObject, RawJson, one_line};
use serde_json::{Map, Value};

use crate::args::client::Answer;
use crate::client::form::{Form, given, value};

/// The most fields of forms that are kept for a warning.
const MAX_FIELDS: usize = 100;

/// The answers, and the fields that forms have had.
#[derive(Debug, Clone, Default)]
pub(super) struct Answers {
    given: Vec<Answer>,
    fields: Arc<Mutex<Vec<String>>>,
}

impl Answers {
    pub(super) fn new(given: Vec<Answer>) -> Self {
        Self { given, fields: Arc::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Answers a form with these values, by the names of its fields.
    ///
    /// # Errors
    /// For a page, and for a form with a field that has no value, or the wrong one. The log says so, too: a server may keep it
    /// to itself.
    pub(super) fn fill_in(&self, question: &Elicit) -> Result<ElicitResult, ErrorObject> {
        let filled_in = match &question.way {
            ElicitWay::Form { requested_schema } => self.content(&Form::read(requested_schema)),
            ElicitWay::Url { .. } => Err("it asks to open a page".to_owned()),
        };
        let content = filled_in.map_err(|why| {
            let why = one_line(&format!("the question {:?} has no answer: {why}", question.message)).into_owned();
            tracing::warn!("{why}");
            ErrorObject::internal(why)
        })?;
        Ok(ElicitResult { action: ElicitAction::Accept, content: RawJson::of(&content).ok(), meta: None })
    }

    fn content(&self, form: &Form) -> Result<Map<String, Value>, String> {
        let mut content = Map::new();
        self.note(form);
        for (name, field) in &form.fields {
            let is_required = form.required.contains(name);
            let value = match self.given.iter().rev().find(|(known, _)| known == name) {
                Some((_, text)) => given(text, field, is_required),
                None => value("", field, is_required),
            };
            content
                .extend(value.map_err(|why| format!("--answer {name}=…: {why}"))?.map(|value| (name.clone(), value)));
        }
        Ok(content)
    }

    fn note(&self, form: &Form) {
        let mut fields = self.fields.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, _) in &form.fields {
            if fields.len() < MAX_FIELDS && !fields.contains(name) {
                fields.push(name.clone());
            }
        }
    }

    /// Warns of the answers that no form has used.
    pub(super) fn warn_of_unused(&self) {
        for warning in self.unused() {
            tracing::warn!("{warning}");
        }
    }

    fn unused(&self) -> Vec<String> {
        let fields = self.fields.lock().unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<_> = self.given.iter().map(|(name, _)| name).filter(|name| !fields.contains(name)).collect();
        names.dedup();
        let why = match fields.as_slice() {
            [] => "the server has asked for nothing".to_owned(),
            known => one_line(&format!("no form has this field; there are {}", known.join(", "))).into_owned(),
        };
        names.into_iter().map(|name| format!("--answer {name}=… has no effect: {why}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answers(pairs: &[(&str, &str)]) -> Answers {
        Answers::new(pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
    }

    fn question() -> Elicit {
        let schema = r#"{"type": "object", "required": ["name", "sure"], "properties": {
            "name": {"type": "string"}, "age": {"type": "integer", "default": 30}, "sure": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}}}"#;
        Elicit::form("Who?", RawJson::parse(schema).unwrap())
    }

    #[test]
    fn a_form_is_filled_in_by_the_command_line() {
        let pairs = [("name", "Bob"), ("name", "Ada"), ("sure", "yes"), ("tags", "a,b"), ("other", "x")];
        let answer = answers(&pairs).fill_in(&question()).unwrap();
        assert_eq!(answer.action, ElicitAction::Accept);
        let content = json!({"name": "Ada", "age": 30, "sure": true, "tags": ["a", "b"]});
        assert_eq!(answer.content.unwrap().to::<Value>().unwrap(), content);
        for (pairs, why) in [
            (&[("name", "Ada")][..], "\"Who?\" has no answer: --answer sure=…: a value is required"),
            (&[("name", "Ada"), ("sure", "perhaps")], "--answer sure=…: expected yes or no"),
        ] {
            let error = answers(pairs).fill_in(&question()).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        assert!(answers(&[]).fill_in(&Elicit::url("Sign in", "https://example.com/x", "1")).is_err());
    }

    #[test]
    fn an_empty_answer_is_a_text_where_it_is_admitted() {
        let schema =
            r#"{"type": "object", "required": ["note"], "properties": {"note": {"type": "string", "minLength": 0}}}"#;
        let question = Elicit::form("Why?", RawJson::parse(schema).unwrap());
        let answer = answers(&[("note", "")]).fill_in(&question).unwrap();
        assert_eq!(answer.content.unwrap().to::<Value>().unwrap(), json!({"note": ""}));
        assert!(answers(&[]).fill_in(&question).is_err());
    }

    #[test]
    fn an_answer_without_a_field_is_named() {
        let given = answers(&[("name", "Ada"), ("sur", "yes"), ("sur", "no")]);
        assert_eq!(
            given.unused(),
            ["name", "sur"]
                .map(|name| { format!("--answer {name}=… has no effect: the server has asked for nothing") })
        );
        assert!(given.fill_in(&question()).is_err());
        let why = "no form has this field; there are name, age, sure, tags";
        assert_eq!(given.unused(), [format!("--answer sur=… has no effect: {why}")]);
    }
}
