//! Carries a scenario out over a session. It sends, waits and measures; the other files compare.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use protomcp_client::{ClientSession, Cursors, NextPage, RequestError, ServerRequest};
use protomcp_types::{JsonObject, Params, RawJson};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::scenario::expectation::{Answer, Expectation, texts};
use crate::scenario::outcome::{Outcome, StepOutcome, Verdict};
use crate::scenario::questions::Questions;
use crate::scenario::roots::filled as filled_roots;
use crate::scenario::variables::{filled, filled_text};
use crate::scenario::{Action, Kind, Scenario, Step};
use crate::trace::{Direction, Trace, TraceEntry};

/// Runs a scenario. `trace` records the session, and `questions` are the questions to its client.
pub async fn run(
    scenario: &Scenario,
    name: &str,
    session: &ClientSession,
    trace: &Trace,
    questions: &Questions,
) -> Outcome {
    let (variables, usual) = (scenario.variables.clone(), scenario.timeout);
    let mut running = Running { session, trace, questions, variables, usual };
    let mut steps: Vec<StepOutcome> = Vec::with_capacity(scenario.steps.len());
    let mut has_failed = false;
    for step in &scenario.steps {
        let title = step.name.clone().or_else(|| step.action().ok().map(|action| action.title())).unwrap_or_default();
        if has_failed {
            steps.push(StepOutcome { name: title, verdict: Verdict::Skipped, took: Duration::ZERO });
            continue;
        }
        let began = Instant::now();
        let mut differences = running.step(step).await.unwrap_or_else(|why| vec![why]);
        differences.extend(questions.differences());
        let verdict = if differences.is_empty() { Verdict::Passed } else { Verdict::Failed(differences) };
        has_failed = matches!(verdict, Verdict::Failed(_));
        steps.push(StepOutcome { name: title, verdict, took: began.elapsed() });
    }
    let name = scenario.name.as_ref().map_or_else(|| name.to_owned(), |title| format!("{name}: {title}"));
    Outcome { name, steps }
}

struct Running<'a> {
    session: &'a ClientSession,
    trace: &'a Trace,
    questions: &'a Questions,
    variables: BTreeMap<String, Value>,
    usual: Duration,
}

impl Running<'_> {
    /// The differences of one step; an error if it cannot be carried out.
    async fn step(&mut self, step: &Step) -> Result<Vec<String>, String> {
        let (time, before) = (step.timeout(self.usual), self.trace.next());
        let expected = step.expectation().filled(&self.variables)?;
        let asked = step.questions().iter().map(|question| question.filled(&self.variables));
        self.questions.expect(asked.collect::<Result<_, _>>()?);
        let action = step.action()?;
        let late = |_| format!("it took longer than {time:?}");
        let deadline = tokio::time::Instant::now() + time;
        let answer = timeout(time, self.carry_out(&action, time, before)).await.map_err(late)??;
        let mut differences = expected.differences(&answer);
        if differences.is_empty() {
            let waiting = self.notifications(&expected, before);
            if tokio::time::timeout_at(deadline, waiting).await.is_err() {
                differences.push(self.missing(&expected, before));
            }
        }
        if let (Answer::Result(result), true) = (&answer, differences.is_empty()) {
            for (name, place) in step.saved() {
                let value = match place.as_str() {
                    "text" => Some(json!(texts(result))),
                    pointer => result.pointer(pointer).cloned(),
                };
                let value = value.ok_or_else(|| format!("save {name}: there is nothing at {place}"))?;
                self.variables.insert(name.clone(), value);
            }
        }
        Ok(differences)
    }

    /// Sends the request, or waits for the notification.
    async fn carry_out(&self, action: &Action, time: Duration, before: u64) -> Result<Answer, String> {
        let fill = |value: &Value| filled(value, &self.variables);
        let text = |text: &str| filled_text(text, &self.variables);
        let (method, params) = match action {
            Action::Call { tool, arguments } => {
                ("tools/call".to_owned(), json!({"name": text(tool)?, "arguments": fill(arguments)?}))
            }
            Action::Read(uri) => ("resources/read".to_owned(), json!({"uri": text(uri)?})),
            Action::Prompt { name, arguments } => {
                ("prompts/get".to_owned(), json!({"name": text(name)?, "arguments": fill(arguments)?}))
            }
            Action::Request { method, params } => (method.clone(), fill(params)?),
            Action::List(kind) => return self.list(*kind, time).await,
            Action::Page { list, cursor } => {
                let cursor = cursor.as_deref().map(text).transpose()?;
                (words(*list).0.to_owned(), cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor})))
            }
            Action::Roots(roots) => {
                self.questions.set_roots(filled_roots(roots, &self.variables)?);
                return Ok(Answer::Result(json!({})));
            }
            Action::Wait(method) => {
                let params = self.notification(method, before, |_| true).await;
                return Ok(Answer::Result(params));
            }
        };
        Ok(self.ask(&method, params, time).await)
    }

    async fn ask(&self, method: &str, params: Value, time: Duration) -> Answer {
        let (method, params): (Cow<'static, str>, _) = (Cow::Owned(method.to_owned()), params_of(&params));
        let other = ServerRequest::Other { method: method.clone(), params: params.clone() };
        let request = ServerRequest::read(method, params).unwrap_or(other);
        match self.session.forward(request).timeout(time).total_timeout(time).fresh().raw().await {
            Ok(result) => Answer::Result(result.to_value()),
            Err(RequestError::Refused(error)) => {
                Answer::Failed { code: Some(error.code), message: error.message.to_string() }
            }
            Err(error) => Answer::Failed { code: None, message: error.to_string() },
        }
    }

    /// All pages of a list, as one.
    async fn list(&self, kind: Kind, time: Duration) -> Result<Answer, String> {
        let (method, member) = words(kind);
        let (mut all, mut cursor, mut cursors) = (Vec::new(), None::<String>, Cursors::default());
        loop {
            let params = cursor.take().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
            let mut page = match self.ask(method, params, time).await {
                Answer::Result(page) => page,
                failed => return Ok(failed),
            };
            let next = match Option::<String>::deserialize(&page["nextCursor"]) {
                Ok(next) => cursors.next(next).map_err(|error| error.to_string())?,
                Err(error) => return Ok(Answer::Failed { code: None, message: format!("nextCursor: {error}") }),
            };
            if next != NextPage::Repeated {
                all.extend(page[member].as_array_mut().map(std::mem::take).unwrap_or_default());
            }
            match next {
                NextPage::At(next) => cursor = Some(next),
                NextPage::End | NextPage::Repeated => return Ok(Answer::Result(json!({member: all}))),
            }
        }
    }

    /// Waits until every expected notification has arrived.
    async fn notifications(&self, expected: &Expectation, before: u64) {
        for (method, matcher) in expected.awaited() {
            self.notification(&method, before, |params| {
                matcher.is_none_or(|matcher| matcher.check(Some(params)).is_ok())
            })
            .await;
        }
    }

    /// The parameters of a notification since a place in the trace.
    async fn notification(&self, method: &str, before: u64, fits: impl Fn(&Value) -> bool) -> Value {
        let mut place = before;
        loop {
            for entry in self.trace.since(place) {
                place = entry.seq + 1;
                if let Some(params) = params(&entry, method)
                    && fits(&params)
                {
                    return params;
                }
            }
            self.trace.wait(place).await;
        }
    }

    /// The notifications that have not arrived, in words.
    fn missing(&self, expected: &Expectation, before: u64) -> String {
        let entries = self.trace.since(before);
        let missing = expected.awaited().into_iter().filter_map(|(method, matcher)| {
            let seen: Vec<Value> = entries.iter().filter_map(|entry| params(entry, &method)).collect();
            let Some(matcher) = matcher else { return seen.is_empty().then(|| format!("no {method} has arrived")) };
            if seen.iter().any(|params| matcher.check(Some(params)).is_ok()) {
                return None;
            }
            Some(match seen.last() {
                None => format!("no {method} has arrived"),
                Some(last) => format!("{method}: {}", matcher.check(Some(last)).err().unwrap_or_default()),
            })
        });
        missing.collect::<Vec<_>>().join("\n")
    }
}

/// The method of a list, and the member of its result.
fn words(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Tools => ("tools/list", "tools"),
        Kind::Resources => ("resources/list", "resources"),
        Kind::Templates => ("resources/templates/list", "resourceTemplates"),
        Kind::Prompts => ("prompts/list", "prompts"),
    }
}

/// The parameters of a received notification with this method.
fn params(entry: &TraceEntry, method: &str) -> Option<Value> {
    if !entry.is_notification || entry.direction != Direction::Receive || entry.label != method {
        return None;
    }
    let message: Value = serde_json::from_str(&entry.raw).ok()?;
    Some(message.get("params").cloned().unwrap_or_else(|| json!({})))
}

fn params_of(value: &Value) -> Params {
    let members = RawJson::of(value).ok().and_then(|raw| JsonObject::from_raw(&raw).ok());
    members.map_or(Params::Absent, Params::Named)
}
