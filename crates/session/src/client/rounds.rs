//! Results, and the rounds of questions before them (MCP 2026-07-28, basic, results, and basic/patterns/mrtr).

use std::collections::BTreeMap;
use std::time::Instant;

use protomcp_types::{ErrorObject, JsonBuf, JsonObject, Kind, Params, RawJson};

use crate::client::ClientConnection;
use crate::client::call::{CallState, Round};
use crate::client::error::RequestError;
use crate::client::event::{ClientEvent, ServerQuestion};
use crate::outgoing::CallId;

impl ClientConnection {
    /// A result of the stateless revision, which says of which kind it is.
    pub(super) fn stateless_result(&mut self, now: Instant, id: CallId, body: JsonBuf) {
        let raw = body.into_raw();
        let Ok(members) = JsonObject::from_raw(&raw) else {
            return self.invalid(id, "the result is not an object");
        };
        let kind = members.member("resultType").map(RawJson::to::<String>);
        match kind {
            // Servers of earlier revisions do not write it.
            None => self.finish(id, Ok(raw.into())),
            Some(Ok(kind)) if kind == "complete" => self.finish(id, Ok(raw.into())),
            Some(Ok(kind)) if kind == "input_required" => self.input_required(id, &members),
            Some(Ok(kind)) if kind == "task" => self.begin_task(now, id, &members),
            Some(_) => self.invalid(id, "the result is of an unknown type"),
        }
    }

    fn input_required(&mut self, id: CallId, members: &JsonObject) {
        let most = self.config.limits.max_rounds;
        let state = members.member("requestState").cloned();
        if state.as_ref().is_some_and(|state| state.kind() != Kind::String) {
            return self.invalid(id, "requestState is not a string");
        }
        let questions = match members.member("inputRequests").map(questions) {
            Some(None) => return self.invalid(id, "inputRequests cannot be read"),
            Some(Some(questions)) => questions,
            None if state.is_none() => return self.invalid(id, "an input request without questions and state"),
            None => Vec::new(),
        };
        let rounds = self.calls.change(id, |call| {
            call.rounds += 1;
            call.round = Round { responses: None, state };
            call.state = CallState::Asking;
            call.rounds
        });
        match rounds {
            Some(rounds) if rounds > most => self.finish(id, Err(RequestError::TooManyRounds(most))),
            Some(_) => self.ask(id, questions),
            None => {}
        }
    }

    /// Passes questions on, unless the client does not answer one of them.
    pub(super) fn ask(&mut self, id: CallId, questions: Vec<ServerQuestion>) {
        let refusal = questions.iter().find_map(|question| self.refusal(question));
        match refusal {
            Some(refusal) => self.answer_inputs_with(id, refusal),
            None => self.events.push_back(ClientEvent::Input { call: id, questions }),
        }
    }

    /// Continues a call after [`ClientEvent::Input`] with the answers by key. An error fails the call, because a round
    /// of answers has no place for it.
    pub fn answer_inputs(&mut self, now: Instant, id: CallId, answers: Result<BTreeMap<String, RawJson>, ErrorObject>) {
        if self.calls.get(id).is_none_or(|call| call.state != CallState::Asking) {
            return;
        }
        let answers = match answers {
            Ok(answers) => answers,
            Err(error) => return self.answer_inputs_with(id, error),
        };
        let mut responses = JsonObject::new();
        for (key, answer) in answers {
            responses.insert(key, answer);
        }
        if self.calls.get(id).is_some_and(|call| call.task.is_some()) {
            return self.update_task(now, id, responses);
        }
        self.calls.change(id, |call| {
            call.round.responses = Some(responses).filter(|responses| !responses.is_empty());
            call.state = CallState::Waiting;
        });
        self.dispatch(now, id);
    }

    fn answer_inputs_with(&mut self, id: CallId, error: ErrorObject) {
        self.cancel_task(id);
        self.finish(id, Err(RequestError::NoInput(error)));
    }

    pub(super) fn invalid(&mut self, id: CallId, why: &str) {
        self.finish(id, Err(RequestError::InvalidAnswer(why.to_owned())));
    }
}

/// The questions of a server, by key; `None` if they cannot be read.
pub(super) fn questions(raw: &RawJson) -> Option<Vec<ServerQuestion>> {
    let read = |(key, request): (&str, &RawJson)| {
        let mut members = JsonObject::from_raw(request).ok()?;
        let method = members.take("method")?.to().ok()?;
        let params = match members.take("params") {
            Some(params) => Params::Named(JsonObject::from_raw(&params).ok()?),
            None => Params::Absent,
        };
        Some(ServerQuestion { key: key.to_owned(), method, params })
    };
    JsonObject::from_raw(raw).ok()?.iter().map(read).collect()
}
