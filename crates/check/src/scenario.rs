//! Scenarios: steps with a server, and what is expected of each, as a value read from YAML.
//!
//! `run` carries a scenario out over a session; everything that decides (variables, comparisons, reports) is a pure
//! function next to it. `docs/scenarios.md` describes the format.

mod difference;
mod duration_text;
mod expectation;
mod matcher;
mod outcome;
mod questions;
mod roots;
mod run;
mod variables;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use protomcp_client::Client;
use protomcp_types::null_as_default;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_saphyr::{Error, UserMessageFormatter};

pub use expectation::Expectation;
pub use matcher::Matcher;
pub use outcome::{Outcome, Report, StepOutcome, Verdict};
pub use questions::{Question, Questions};
use roots::RootText;
pub use run::run;

/// The most steps of a scenario.
const MAX_STEPS: usize = 10_000;
/// The time of a step, unless the scenario says otherwise.
const STEP: Duration = Duration::from_secs(30);

/// Steps with one server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name in reports.
    #[serde(default)]
    pub name: Option<String>,
    /// Words by which scenarios are chosen.
    #[serde(default, deserialize_with = "null_as_default")]
    pub tags: Vec<String>,
    /// The time of each step that does not set one.
    #[serde(default = "usual", deserialize_with = "timeout")]
    pub timeout: Duration,
    /// The roots of the client at the beginning. `None`: it offers none.
    #[serde(default)]
    roots: Option<Vec<RootText>>,
    /// Values for `{{name}}` in the steps.
    #[serde(default, deserialize_with = "null_as_default")]
    pub variables: BTreeMap<String, Value>,
    /// The steps, in order. The first that fails is the last that runs.
    pub steps: Vec<Step>,
}

/// One request, or the wait for a notification, with the expected outcome.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its name in reports.
    #[serde(default)]
    pub name: Option<String>,
    /// Calls this tool.
    #[serde(default)]
    call: Option<String>,
    /// Reads this resource.
    #[serde(default)]
    read: Option<String>,
    /// Gets this prompt.
    #[serde(default)]
    prompt: Option<String>,
    /// Lists tools, resources, templates or prompts.
    #[serde(default)]
    list: Option<Kind>,
    /// Sends a request with this method.
    #[serde(default)]
    request: Option<String>,
    /// Waits for a notification with this method.
    #[serde(default)]
    wait: Option<String>,
    /// Changes the roots of the client to these.
    #[serde(default)]
    roots: Option<Vec<RootText>>,
    /// One page of a list: `true` is the first, a text the cursor of another.
    #[serde(default)]
    page: Option<Value>,
    /// The arguments of a call or a prompt.
    #[serde(default)]
    arguments: Option<Value>,
    /// The parameters of a request.
    #[serde(default)]
    params: Option<Value>,
    /// The questions of the server in the time of the step, in their order, with the answers.
    #[serde(default, deserialize_with = "null_as_default")]
    questions: Vec<Question>,
    /// The time of the step.
    #[serde(default, deserialize_with = "duration_text::read")]
    timeout: Option<Duration>,
    /// The expected outcome.
    #[serde(default, deserialize_with = "null_as_default")]
    expect: Expectation,
    /// Variables for later steps: the text of the result, or a pointer into it.
    #[serde(default, deserialize_with = "null_as_default")]
    save: BTreeMap<String, String>,
}

/// A list of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Tools,
    Resources,
    Templates,
    Prompts,
}

/// The action of a step. A value in place of seven options of which one is set.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    Call {
        tool: String,
        arguments: Value,
    },
    Read(String),
    Prompt {
        name: String,
        arguments: Value,
    },
    List(Kind),
    /// One page of a list: the first without a cursor.
    Page {
        list: Kind,
        cursor: Option<String>,
    },
    Request {
        method: String,
        params: Value,
    },
    Wait(String),
    Roots(Vec<RootText>),
}

/// The reason why a text is not a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioError(String);

/// The last words of an error before the library's names of its limits.
const TOO_LARGE: &str = "too large or too complex";

/// The place and the reason, without the lines around it.
fn reason(error: &Error) -> String {
    let text = error.render_with_formatter(&UserMessageFormatter);
    let line = text.lines().next().unwrap_or(&text).trim_start_matches("error: ");
    let end = line.find(TOO_LARGE).map_or(line.len(), |at| at + TOO_LARGE.len());
    line[..end].to_owned()
}

impl Scenario {
    /// Reads a scenario.
    ///
    /// # Errors
    /// If the text is not YAML, or not a scenario. The error names the line.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = serde_saphyr::from_str(text).map_err(|error| ScenarioError(reason(&error)))?;
        if scenario.steps.is_empty() {
            return Err(ScenarioError("it has no steps".into()));
        }
        if scenario.steps.len() > MAX_STEPS {
            return Err(ScenarioError(format!("it has more than {MAX_STEPS} steps")));
        }
        for (number, step) in scenario.steps.iter().enumerate() {
            let wrong = |why: String| ScenarioError(format!("step {}: {why}", number + 1));
            let action = step.action().map_err(wrong)?;
            if matches!(action, Action::Roots(_)) && scenario.roots.is_none() {
                let why = "a client has roots from the beginning: write `roots: []` at the top of the scenario";
                return Err(wrong(why.into()));
            }
            step.expect.check().map_err(wrong)?;
            step.questions.iter().try_for_each(Question::check).map_err(wrong)?;
        }
        Ok(scenario)
    }

    /// The client for this scenario: it can be asked if a step expects questions, and it offers roots if the scenario has
    /// some. [`run`] gets the same `questions`.
    ///
    /// # Errors
    /// If the text of a root names a variable that the scenario does not have.
    pub fn client(&self, client: Client, questions: &Questions) -> Result<Client, ScenarioError> {
        if let Some(roots) = &self.roots {
            client.set_roots(roots::filled(roots, &self.variables).map_err(ScenarioError)?);
            questions.offer_roots_of(&client);
        }
        let is_asked = self.steps.iter().any(|step| !step.questions.is_empty());
        Ok(if is_asked { questions.answered_by(client) } else { client })
    }

    /// The same with other values of variables.
    ///
    /// # Errors
    /// If the scenario has no variable of a name.
    pub fn with_variables(mut self, values: impl IntoIterator<Item = (String, Value)>) -> Result<Self, ScenarioError> {
        for (name, value) in values {
            match self.variables.get_mut(&name) {
                Some(known) => *known = value,
                None => return Err(ScenarioError(format!("it has no variable {name:?}"))),
            }
        }
        Ok(self)
    }
}

impl Step {
    pub(crate) fn action(&self) -> Result<Action, String> {
        let arguments = || self.arguments.clone().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        let actions = [
            self.call.clone().map(|tool| Action::Call { tool, arguments: arguments() }),
            self.read.clone().map(Action::Read),
            self.prompt.clone().map(|name| Action::Prompt { name, arguments: arguments() }),
            self.list.map(|list| self.listed(list)).transpose()?,
            self.request
                .clone()
                .map(|method| Action::Request { method, params: self.params.clone().unwrap_or_default() }),
            self.wait.clone().map(Action::Wait),
            self.roots.clone().map(Action::Roots),
        ];
        let mut found = actions.into_iter().flatten();
        let words = "call, read, prompt, list, request, wait or roots";
        let action = found.next().ok_or_else(|| format!("it needs one of {words}"))?;
        if found.next().is_some() {
            return Err(format!("it has more than one of {words}"));
        }
        if self.arguments.is_some() && !matches!(action, Action::Call { .. } | Action::Prompt { .. }) {
            return Err("arguments are for call and prompt".into());
        }
        if self.page.is_some() && self.list.is_none() {
            return Err("page is for list".into());
        }
        if self.params.is_some() && !matches!(action, Action::Request { .. }) {
            return Err("params are for request".into());
        }
        Ok(action)
    }

    /// The action for a list: all pages, or one.
    fn listed(&self, list: Kind) -> Result<Action, String> {
        match &self.page {
            None => Ok(Action::List(list)),
            Some(Value::Bool(true)) => Ok(Action::Page { list, cursor: None }),
            Some(Value::String(cursor)) => Ok(Action::Page { list, cursor: Some(cursor.clone()) }),
            Some(_) => Err("page is true for the first page, or the cursor of another".into()),
        }
    }

    pub(crate) fn timeout(&self, usual: Duration) -> Duration {
        self.timeout.unwrap_or(usual)
    }

    pub(crate) fn expectation(&self) -> &Expectation {
        &self.expect
    }

    pub(crate) fn questions(&self) -> &[Question] {
        &self.questions
    }

    pub(crate) fn saved(&self) -> &BTreeMap<String, String> {
        &self.save
    }
}

impl Action {
    /// The step in words, for one without a name.
    pub(crate) fn title(&self) -> String {
        match self {
            Self::Call { tool, .. } => format!("call {tool}"),
            Self::Read(uri) => format!("read {uri}"),
            Self::Prompt { name, .. } => format!("prompt {name}"),
            Self::List(kind) => format!("list {}", format!("{kind:?}").to_lowercase()),
            Self::Page { list, .. } => format!("list {}, one page", format!("{list:?}").to_lowercase()),
            Self::Request { method, .. } => format!("request {method}"),
            Self::Wait(method) => format!("wait for {method}"),
            Self::Roots(roots) => format!("set {} roots", roots.len()),
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScenarioError {}

fn usual() -> Duration {
    STEP
}

fn timeout<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    Ok(duration_text::read(deserializer)?.unwrap_or(STEP))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_scenario_is_read_with_its_defaults() {
        let text = "
name: a shop
tags: [quick]
timeout: 1m30s
variables: {city: Rome, count: 2}
steps:
  - list: tools
    expect: {names: [add, search]}
  - name: it adds
    call: add
    arguments: {a: 1, b: '{{count}}'}
    timeout: 500ms
    expect: {text: '3'}
    save: {sum: text}
";
        let scenario = Scenario::parse(text).unwrap();
        assert_eq!((scenario.name.as_deref(), scenario.timeout), (Some("a shop"), Duration::from_secs(90)));
        assert_eq!((&scenario.variables["count"], scenario.tags.as_slice()), (&json!(2), &["quick".to_owned()][..]));
        assert_eq!(scenario.steps[0].action(), Ok(Action::List(Kind::Tools)));
        let call = Action::Call { tool: "add".into(), arguments: json!({"a": 1, "b": "{{count}}"}) };
        assert_eq!(scenario.steps[1].action(), Ok(call));
        assert_eq!(scenario.steps[1].timeout(scenario.timeout), Duration::from_millis(500));
        let changed = scenario.clone().with_variables([("city".to_owned(), json!("Ulm"))]).unwrap();
        assert_eq!(changed.variables["city"], json!("Ulm"));
        let unknown = scenario.with_variables([("town".to_owned(), json!(""))]).unwrap_err();
        assert_eq!(unknown.to_string(), "it has no variable \"town\"");
    }

    #[test]
    fn members_that_are_null_count_as_absent() {
        let text = "
name:
timeout: null
variables: ~
steps:
  - call: add
    read: null
    arguments:
    params:
    timeout:
    expect: null
    save: null
  - list: tools
    expect: {text: null, at: null, notifications: null, changes: null}
  - call: add
    expect: {at: {/a: null}}
";
        let scenario = Scenario::parse(text).unwrap();
        assert_eq!((scenario.name.as_deref(), scenario.timeout), (None, STEP));
        assert!(scenario.variables.is_empty() && scenario.steps[0].saved().is_empty());
        let call = Action::Call { tool: "add".into(), arguments: json!({}) };
        assert_eq!(scenario.steps[0].action(), Ok(call));
        assert_eq!(scenario.steps[0].timeout(Duration::from_secs(5)), Duration::from_secs(5));
        let expected = |step: usize| format!("{:?}", scenario.steps[step].expectation());
        let nothing = format!("{:?}", Expectation::default());
        assert_eq!((expected(0), expected(1)), (nothing.clone(), nothing));
        // A value by its pointer is expected to be null.
        assert!(expected(2).contains("Equals(Null)"), "{}", expected(2));
    }

    #[test]
    fn faults_of_a_scenario_are_named() {
        for (text, part) in [
            ("steps: []", "it has no steps"),
            ("name: x", "steps"),
            ("steps: [{}]", "step 1: it needs one of call"),
            ("steps: [{call: a, read: b}]", "step 1: it has more than one of"),
            ("steps: [{list: tools}, {list: tools, arguments: {}}]", "step 2: arguments are for call"),
            ("steps: [{list: things}]", "things"),
            ("steps: [{call: a, timeout: soon}]", "soon"),
            ("steps: [{call: a, expects: {}}]", "expects"),
            ("steps: [{call: a, expect: {text: {matches: '('}}}]", "step 1: invalid pattern"),
            ("steps: [{call: a, questions: [{message: x}]}]", "step 1: a question needs one of form, reply or action"),
            ("steps: [{call: a, expect: {at: {x: 1}}}]", "step 1: \"x\" is not a JSON pointer"),
            ("steps: [{call: a, page: true}]", "step 1: page is for list"),
            ("steps: [{list: tools, page: 2}]", "step 1: page is true for the first page, or the cursor"),
            ("steps: [{roots: []}]", "step 1: a client has roots from the beginning"),
            ("{roots: [{url: x}], steps: [{roots: []}]}", "expected the URI of a root"),
            ("steps: [", "line"),
            ("steps: [{wait: 1s}]\n---\nsteps: []\n", "only single YAML document expected but multiple found"),
            ("steps: []\nsteps: []\n", "duplicate mapping key `steps` is not allowed here"),
        ] {
            let error = Scenario::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn a_scenario_with_too_many_aliases_is_refused_in_words() {
        let values = |of: &str| format!("[{}]", vec![of; 100].join(", "));
        let text =
            format!("variables: {{a: &a {}, b: &b {}, c: {}}}\nsteps: []\n", values("1"), values("*a"), values("*b"));
        let error = Scenario::parse(&text).unwrap_err().to_string();
        assert!(error.starts_with("line 1 ") && error.ends_with("document too large or too complex"), "{error}");
    }
}
