//! The questions of one call for its client: their keys, the answers that came along, and the ones that are open.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Instant;

use protomcp_types::{CallToolResult, ClientCapabilities, ErrorObject, RawJson};

use crate::ask_error::AskError;
use crate::input::{InputRequest, InputRequests};
use crate::request::ServerResult;

/// A question that was asked.
#[derive(Debug, PartialEq, Eq)]
pub struct AskedInput {
    /// Identifies the question within its call.
    pub number: u64,
    /// The answer, if the client has sent it along before.
    pub answer: Option<RawJson>,
}

#[derive(Debug, Default)]
pub(super) struct Questions {
    max: usize,
    /// Asked, and not answered.
    open: Vec<Open>,
    /// Answers that came with the first request, and that no question has used yet.
    given: BTreeMap<String, RawJson>,
    /// The number of questions asked, by kind.
    counts: BTreeMap<&'static str, u32>,
    /// The keys of all questions since the call became a task: none is used twice.
    used: Option<HashSet<String>>,
    last: u64,
    /// The capabilities that the client lacks, and the methods that were refused because of them.
    missing: Option<(ClientCapabilities, BTreeSet<&'static str>)>,
}

#[derive(Debug)]
struct Open {
    number: u64,
    input: InputRequest,
    until: Instant,
}

impl Questions {
    pub(super) fn new(given: BTreeMap<String, RawJson>, max: usize) -> Self {
        Self { max, given, ..Self::default() }
    }

    pub(super) fn given(&self) -> &BTreeMap<String, RawJson> {
        &self.given
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// The time of the last of them; `None`: none is open.
    pub(super) fn until(&self) -> Option<Instant> {
        self.open.iter().map(|open| open.until).max()
    }

    pub(super) fn requests(&self) -> InputRequests {
        InputRequests::of(self.open.iter().map(|open| open.input.clone()).collect())
    }

    /// Opens all of these, or none. A key that is empty is chosen here, the same in each run of the handler.
    pub(super) fn ask(
        &mut self,
        inputs: Vec<InputRequest>,
        until: Instant,
        capabilities: &ClientCapabilities,
    ) -> Result<Vec<AskedInput>, AskError> {
        self.require(&inputs, capabilities)?;
        if self.open.len() + inputs.len() > self.max {
            return Err(AskError::TooMany);
        }
        Ok(inputs.into_iter().map(|input| self.open(input, until)).collect())
    }

    /// Remembers each capability that the client lacks.
    fn require(&mut self, inputs: &[InputRequest], capabilities: &ClientCapabilities) -> Result<(), AskError> {
        let mut all_met = Ok(());
        for input in inputs {
            let need = input.need().ok_or(AskError::NotSupported(input.method))?;
            if !need.is_met_by(capabilities) {
                let (required, mut refused) = self.missing.take().unwrap_or_default();
                refused.insert(input.method);
                self.missing = Some((required.and(&need.to_capabilities()), refused));
                all_met = Err(AskError::NotSupported(input.method));
            }
        }
        all_met
    }

    fn open(&mut self, input: InputRequest, until: Instant) -> AskedInput {
        let mut input = input.stateless();
        self.choose_key(&mut input);
        self.last += 1;
        let number = self.last;
        let answer = self.given.remove(&input.key).filter(|given| (input.check)(given).is_ok());
        if answer.is_none() {
            self.open.push(Open { number, input, until });
        }
        AskedInput { number, answer }
    }

    fn choose_key(&mut self, input: &mut InputRequest) {
        if input.key.is_empty() {
            let kind = input.need().map_or("question", |need| need.kind());
            let count = self.counts.entry(kind).or_default();
            *count += 1;
            input.key = format!("{kind}-{count}");
        }
        let is_used = |key: &str| {
            self.open.iter().any(|other| other.input.key == key)
                || self.used.as_ref().is_some_and(|used| used.contains(key))
        };
        while is_used(&input.key) {
            input.key.push('\'');
        }
        if let Some(used) = &mut self.used {
            used.insert(input.key.clone());
        }
    }

    /// From here on no key is used twice.
    pub(super) fn keep_keys(&mut self) {
        self.used = Some(self.open.iter().map(|open| open.input.key.clone()).collect());
    }

    /// Takes a question back. Returns true if it was open.
    pub(super) fn withdraw(&mut self, number: u64) -> bool {
        let before = self.open.len();
        self.open.retain(|open| open.number != number);
        self.open.len() < before
    }

    /// Takes all questions back.
    pub(super) fn clear(&mut self) -> Vec<u64> {
        self.open.drain(..).map(|open| open.number).collect()
    }

    /// Reads each of the answers that an open question has.
    pub(super) fn check(&self, answers: &BTreeMap<String, RawJson>) -> Result<(), ErrorObject> {
        for Open { input, .. } in &self.open {
            let Some(answer) = answers.get(&input.key) else { continue };
            (input.check)(answer).map_err(|why| {
                ErrorObject::invalid_params(format!("invalid params: inputResponses[{:?}]: {why}", input.key))
            })?;
        }
        Ok(())
    }

    /// Closes the questions that have an answer here. Answers to other questions mean nothing.
    pub(super) fn answer(&mut self, mut answers: BTreeMap<String, RawJson>) -> Vec<(u64, RawJson)> {
        let mut closed = Vec::new();
        self.open.retain(|open| match answers.remove(&open.input.key) {
            Some(answer) => {
                closed.push((open.number, answer));
                false
            }
            None => true,
        });
        closed
    }

    /// The error for a call that has failed because a question was refused.
    ///
    /// MCP 2026-07-28, basic: a call that cannot continue without asking names the capabilities that the client lacks.
    /// A tool that could continue, and failed for another reason, does not mention the refusal.
    pub(super) fn refusal(&mut self, outcome: &Result<ServerResult, ErrorObject>) -> Option<ErrorObject> {
        let (missing, refused) = self.missing.take()?;
        let mentions = |result: &CallToolResult, method| {
            result.content.as_str().contains(&AskError::NotSupported(method).to_string())
        };
        let is_reason = match outcome {
            Ok(ServerResult::CallTool(result)) => refused.iter().any(|method| mentions(result, method)),
            Ok(_) | Err(_) => true,
        };
        is_reason.then(|| ErrorObject::missing_capability(&missing))
    }
}
