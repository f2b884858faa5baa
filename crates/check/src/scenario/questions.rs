//! Questions of a server in the time of a step, and the answers that the step has for them.

use std::collections::{BTreeMap, VecDeque};
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protomcp_client::Client;
use protomcp_types::{
    CreateMessage, CreateMessageResult, Elicit, ElicitAction, ElicitResult, ErrorObject, RawJson, Role, Root,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::scenario::matcher::Matcher;
use crate::scenario::variables::{filled, filled_text};

/// The most differences of one step. A server can ask without end.
const MAX_DIFFERENCES: usize = 100;

/// A question that a step expects, with its answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The words: of a form, or of the last message to a model.
    #[serde(default)]
    message: Option<Matcher>,
    /// The values of a form.
    #[serde(default)]
    form: Option<Value>,
    /// The reply of a model.
    #[serde(default)]
    reply: Option<String>,
    /// The action of a user who does not fill in the form.
    #[serde(default)]
    action: Option<ElicitAction>,
}

/// The questions of a session. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Questions(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    expected: VecDeque<Question>,
    /// The client whose roots steps change. Its clones share them.
    client: Option<Client>,
    differences: Vec<String>,
}

impl Question {
    /// Checks the answer and the pattern.
    pub(super) fn check(&self) -> Result<(), String> {
        let given = [self.form.is_some(), self.reply.is_some(), self.action.is_some()];
        if given.into_iter().filter(|is_given| *is_given).count() != 1 {
            return Err("a question needs one of form, reply or action".into());
        }
        if self.form.as_ref().is_some_and(|form| !form.is_object()) {
            return Err("the form of a question has the names of its fields with their values".into());
        }
        if self.action == Some(ElicitAction::Accept) {
            return Err("the action of a question is decline or cancel; form accepts it".into());
        }
        self.message.as_ref().map_or(Ok(()), Matcher::is_valid)
    }

    /// With the values of variables.
    pub(super) fn filled(&self, variables: &BTreeMap<String, Value>) -> Result<Self, String> {
        let fill = |value: &Value| filled(value, variables);
        Ok(Self {
            message: self.message.as_ref().map(|matcher| matcher.map(&fill)).transpose()?,
            form: self.form.as_ref().map(fill).transpose()?,
            reply: self.reply.as_deref().map(|text| filled_text(text, variables)).transpose()?,
            action: self.action,
        })
    }
}

impl Questions {
    /// The client, which answers questions with the answers of the steps.
    #[must_use]
    pub(super) fn answered_by(&self, client: Client) -> Client {
        let (forms, models) = (self.clone(), self.clone());
        client
            .on_elicit(move |question, _| ready(forms.fill_in(&question)))
            .on_sample(move |question, _| ready(models.reply(&question)))
    }

    /// Lets steps change the roots of this client and its clones.
    pub(super) fn offer_roots_of(&self, client: &Client) {
        self.lock().client = Some(client.clone());
    }

    /// Changes the roots of the client.
    pub(super) fn set_roots(&self, roots: Vec<Root>) {
        let client = self.lock().client.clone();
        if let Some(client) = client {
            client.set_roots(roots);
        }
    }

    /// Begins a step with these questions.
    pub(super) fn expect(&self, questions: Vec<Question>) {
        let mut state = self.lock();
        state.expected = questions.into();
        state.differences.clear();
    }

    /// Ends the step: the differences between the questions and those that were expected.
    pub(super) fn differences(&self) -> Vec<String> {
        let mut state = self.lock();
        let mut all = std::mem::take(&mut state.differences);
        let left = std::mem::take(&mut state.expected).len();
        if left > 0 {
            all.push(format!("questions: {left} more expected, and the server has not asked"));
        }
        all
    }

    fn fill_in(&self, asked: &Elicit) -> Result<ElicitResult, ErrorObject> {
        let question = self.next(&asked.message)?;
        let (action, content) = match (question.form, question.action) {
            (Some(form), _) => (ElicitAction::Accept, RawJson::of(&form).ok()),
            (None, Some(action)) => (action, None),
            (None, None) => return Err(self.differ("the server asks its user with a form, and the step has a reply")),
        };
        Ok(ElicitResult { action, content, meta: None })
    }

    fn reply(&self, asked: &CreateMessage) -> Result<CreateMessageResult, ErrorObject> {
        let question = self.next(&last_text(&asked.messages))?;
        let Some(text) = question.reply else {
            return Err(self.differ("the server asks a model, and the step has an answer to a form"));
        };
        let content = RawJson::of(&json!({"type": "text", "text": text})).unwrap_or(RawJson::EMPTY_OBJECT);
        let (role, model, stop_reason) = (Role::Assistant, "scenario".to_owned(), Some("endTurn".to_owned()));
        Ok(CreateMessageResult { role, content, model, stop_reason, meta: None })
    }

    /// The next expected question, whose words are compared.
    fn next(&self, words: &str) -> Result<Question, ErrorObject> {
        let expected = self.lock().expected.pop_front();
        let Some(question) = expected else {
            return Err(self.differ(&format!("the server asks {words:?}, and the step has no answer to it")));
        };
        if let Some(Err(why)) = question.message.as_ref().map(|matcher| matcher.check(Some(&json!(words)))) {
            self.differ(&format!("message: {why}"));
        }
        Ok(question)
    }

    fn differ(&self, why: &str) -> ErrorObject {
        let mut state = self.lock();
        if state.differences.len() < MAX_DIFFERENCES {
            state.differences.push(format!("questions: {why}"));
        }
        ErrorObject::internal(why.to_owned())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The text of the last message.
fn last_text(messages: &RawJson) -> String {
    let messages: Vec<Value> = messages.to().unwrap_or_default();
    let Some(content) = messages.last().map(|message| &message["content"]) else { return String::new() };
    let blocks = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice);
    blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(value: Value) -> Question {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn questions_are_answered_in_their_order() {
        let questions = Questions::default();
        questions.expect(vec![
            question(json!({"message": {"contains": "name"}, "form": {"name": "Ann"}})),
            question(json!({"action": "decline"})),
            question(json!({"message": "Sum it up", "reply": "short"})),
        ]);
        let form = |words: &str| Elicit::form(words, RawJson::EMPTY_OBJECT);
        let accepted = questions.fill_in(&form("Your name?")).unwrap();
        assert_eq!(accepted.content.unwrap().to::<Value>().unwrap(), json!({"name": "Ann"}));
        assert_eq!(questions.fill_in(&form("Sure?")).unwrap().action, ElicitAction::Decline);
        let messages = json!([{"role": "user", "content": {"type": "text", "text": "Sum it up"}}]);
        let asked = CreateMessage::new(RawJson::of(&messages).unwrap(), 10);
        assert_eq!(questions.reply(&asked).unwrap().content.to::<Value>().unwrap()["text"], "short");
        assert_eq!(questions.differences(), Vec::<String>::new());
    }

    #[test]
    fn each_difference_of_a_question_is_named() {
        let form = Elicit::form("Your name?", RawJson::EMPTY_OBJECT);
        for (expected, difference) in [
            (vec![], "questions: the server asks \"Your name?\", and the step has no answer to it"),
            (vec![json!({"message": "Age?", "form": {}})], "questions: message: expected \"Age?\", got \"Your name?\""),
            (vec![json!({"reply": "x"})], "questions: the server asks its user with a form, and the step has a reply"),
            (
                vec![json!({"form": {}}), json!({"form": {}})],
                "questions: 1 more expected, and the server has not asked",
            ),
        ] {
            let questions = Questions::default();
            questions.expect(expected.into_iter().map(question).collect());
            let _answered = questions.fill_in(&form);
            assert_eq!(questions.differences(), [difference]);
            assert!(questions.differences().is_empty(), "they belong to one step");
        }
    }

    #[test]
    fn an_answer_is_one_of_three() {
        for (value, part) in [
            (json!({}), "one of form, reply or action"),
            (json!({"form": {}, "reply": "x"}), "one of form, reply or action"),
            (json!({"form": "x"}), "names of its fields"),
            (json!({"action": "accept"}), "decline or cancel"),
            (json!({"form": {}, "message": {"matches": "("}}), "invalid pattern"),
        ] {
            let why = question(value.clone()).check().unwrap_err();
            assert!(why.contains(part), "{value}: {why}");
        }
        let variables = BTreeMap::from([("name".to_owned(), json!("Ann"))]);
        let filled = question(json!({"message": "{{name}}?", "form": {"a": "{{name}}"}})).filled(&variables).unwrap();
        assert_eq!((filled.message, filled.form), (Some(Matcher::Equals(json!("Ann?"))), Some(json!({"a": "Ann"}))));
    }
}
