//! Several questions for the client together, its answers by key, and the state of a handler that keeps it with the
//! client.

use std::collections::BTreeMap;

use protomcp_types::{ClientMethod, JsonBuf, JsonObject, RawJson, RequiredCapability};

use crate::ask_error::AskError;

/// Several questions for the client, each under its own key; see `Context::ask_all` of the server.
///
/// ```
/// use protomcp_session::InputRequests;
/// use protomcp_types::{Elicit, ListRoots, RawJson};
///
/// let schema = RawJson::parse(r#"{"type":"object","properties":{"name":{"type":"string"}}}"#).unwrap();
/// let questions = InputRequests::new()
///     .with::<Elicit>("who", &Elicit::form("Who are you?", schema))
///     .with::<ListRoots>("where", &ListRoots::default());
/// assert_eq!(questions.keys().collect::<Vec<_>>(), ["who", "where"]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct InputRequests(Vec<InputRequest>);

/// The answers of the client, by key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InputResponses(BTreeMap<String, RawJson>);

/// The input that a handler requires before it can answer; see `Context::input_required` of the server.
#[derive(Debug, Clone, Default)]
pub struct InputRequired {
    /// The questions for the client. May be empty when there is a state: then the client simply sends the request
    /// again.
    pub questions: InputRequests,
    /// A text that the handler gets back with the answers. It travels signed, not encrypted.
    pub state: Option<String>,
}

/// One question as it is written.
#[derive(Debug, Clone)]
pub struct InputRequest {
    /// The key that the answer comes back under.
    pub key: String,
    /// The method of the question.
    pub method: &'static str,
    /// Its parameters.
    pub params: JsonObject,
    /// Checks an answer.
    pub check: InputCheck,
}

/// Checks that a value can be read as the answer.
pub type InputCheck = fn(&RawJson) -> Result<(), String>;

impl InputRequests {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a question; one with the same key is replaced.
    ///
    /// # Panics
    /// When the parameters do not serialize as an object.
    #[must_use]
    pub fn with<M: ClientMethod>(mut self, key: impl Into<String>, params: &M::Params) -> Self {
        let asked = InputRequest::of::<M>(key.into(), params);
        match self.0.iter_mut().find(|other| other.key == asked.key) {
            Some(other) => *other = asked,
            None => self.0.push(asked),
        }
        self
    }

    /// The keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|asked| asked.key.as_str())
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// These questions, in this order.
    pub fn of(asked: Vec<InputRequest>) -> Self {
        Self(asked)
    }

    /// The questions in order.
    pub fn asked(&self) -> &[InputRequest] {
        &self.0
    }

    /// The questions in order, taken out.
    pub fn into_asked(self) -> Vec<InputRequest> {
        self.0
    }

    /// Bytes of their parameters.
    pub fn weight(&self) -> usize {
        self.0.iter().map(|asked| asked.key.len() + asked.params.weight()).sum()
    }

    /// The `inputRequests` of a result (MCP 2026-07-28, basic/patterns/mrtr).
    pub fn to_body(&self) -> JsonBuf {
        let write = |asked: &InputRequest| {
            JsonBuf::object().text("method", asked.method).body("params", &asked.params.to_body()).finish()
        };
        self.0.iter().fold(JsonBuf::object(), |object, asked| object.body(&asked.key, &write(asked))).finish()
    }
}

impl InputRequired {
    /// The bytes that are kept of it.
    pub fn weight(&self) -> usize {
        self.questions.weight() + self.state.as_ref().map_or(0, String::len)
    }
}

impl InputRequest {
    /// One question.
    ///
    /// # Panics
    /// When the parameters do not serialize as an object.
    pub fn of<M: ClientMethod>(key: String, params: &M::Params) -> Self {
        let params = JsonObject::of(params).expect("the parameters of a method are an object");
        let check = |raw: &RawJson| raw.to::<M::Result>().map(drop).map_err(|error| error.to_string());
        Self { key, method: M::NAME, params, check }
    }

    /// The capability that the client must have; `None`: no request without a session may ask this.
    pub fn need(&self) -> Option<RequiredCapability> {
        RequiredCapability::of(self.method, &self.params)
    }

    /// The form of the stateless revision.
    pub fn stateless(mut self) -> Self {
        // MCP 2026-07-28, client/elicitation: the notification that a page is done no longer exists.
        self.params.take("elicitationId");
        self
    }
}

impl InputResponses {
    /// These answers, by key.
    pub fn of(answers: BTreeMap<String, RawJson>) -> Self {
        Self(answers)
    }

    /// The answer under a key.
    ///
    /// # Errors
    /// [`AskError::Gone`] when there is none; [`AskError::Unreadable`] when it answers something else.
    pub fn to<M: ClientMethod>(&self, key: &str) -> Result<M::Result, AskError> {
        let raw = self.0.get(key).ok_or(AskError::Gone)?;
        raw.to().map_err(|error| AskError::Unreadable(error.to_string()))
    }

    /// The answer under a key, as it was written.
    #[must_use]
    pub fn raw(&self, key: &str) -> Option<&RawJson> {
        self.0.get(key)
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
