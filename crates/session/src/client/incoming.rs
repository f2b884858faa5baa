//! Messages of the server: answers, requests and notifications.

use std::time::Instant;

use protomcp_types::{
    ErrorObject, JsonBuf, Message, Method, Notification, Ping, Progress, ProgressToken, Request, RequestId,
    RequiredCapability, Response, method,
};

use crate::client::ClientConnection;
use crate::client::call::{CallState, MAX_GUESSES};
use crate::client::config::Channel;
use crate::client::event::{AnswerFacts, ClientEvent, ServerQuestion, Transmit};
use crate::client::exchange::Purpose;
use crate::client::failure::Failure;
use crate::client::identity::members;
use crate::client::phase::Phase;
use crate::no_answer::NoAnswer;
use crate::outgoing::CallId;

impl ClientConnection {
    pub(super) fn answered(&mut self, now: Instant, response: Response, facts: AnswerFacts) {
        if response.id.is_none() && facts.no_answer == Some(NoAnswer::SessionLost) {
            return self.check_session();
        }
        let Some((number, purpose)) = self.exchanges.answered(response.id.as_ref()) else {
            self.events.push_back(ClientEvent::Ignored("an answer to nothing that was asked"));
            return;
        };
        self.ended(now, number, purpose, response.outcome.map_err(|error| Failure::new(error, facts)));
    }

    /// An exchange has ended.
    pub(super) fn ended(&mut self, now: Instant, number: u64, purpose: Purpose, outcome: Result<JsonBuf, Failure>) {
        match (purpose, outcome) {
            (Purpose::Open, outcome) => self.opened(now, number, outcome),
            (Purpose::Ping, Err(failure)) if failure.is_session_lost() => self.session_lost(now, number),
            // Any word of the server counts, also a refusal.
            (Purpose::Ping, _) => {}
            (Purpose::Listen, outcome) => self.listen_ended(now, number, outcome),
            (Purpose::Call(id), outcome) => self.call_answered(now, number, id, outcome),
            (Purpose::TaskState(id), Ok(body)) => self.task_state(now, id, body),
            (Purpose::TaskResult(id), Ok(body)) => self.finish(id, Ok(body)),
            (Purpose::TaskUpdate(id), Ok(_)) => self.task_updated(now, id),
            (Purpose::TaskState(id) | Purpose::TaskResult(id) | Purpose::TaskUpdate(id), Err(failure)) => {
                self.task_unanswered(now, number, id, failure);
            }
        }
    }

    fn call_answered(&mut self, now: Instant, number: u64, id: CallId, outcome: Result<JsonBuf, Failure>) {
        let is_stateful = self.phase.server().is_none_or(|server| server.is_stateful());
        match outcome {
            Ok(body) if is_stateful => self.stateful_result(now, id, body),
            Ok(body) => self.stateless_result(now, id, body),
            Err(failure) if failure.is_session_lost() && is_stateful && self.may_repeat(id, &failure) => {
                self.calls.change(id, |call| {
                    call.state = CallState::Waiting;
                    call.repeats += 1;
                });
                self.session_lost(now, number);
                self.dispatch(now, id);
            }
            Err(failure) => self.finish(id, Err(failure.into())),
        }
    }

    /// A request that was not executed is sent again, but not for ever to a server that loses each session.
    fn may_repeat(&self, id: CallId, failure: &Failure) -> bool {
        let most = if failure.is_guessed_loss() { MAX_GUESSES } else { MAX_REPEATS };
        self.calls.get(id).is_some_and(|call| call.repeats < most && call.task.is_none())
    }

    /// False if there are no requests of the server (MCP 2026-07-28, basic/transports).
    pub(super) fn answers_requests(&self) -> bool {
        let is_session = self.phase.server().is_none_or(|server| server.is_stateful());
        is_session || self.config.channel != Channel::Exchanges
    }

    pub(super) fn request(&mut self, request: Request) {
        let Request { id, method, params } = request;
        let is_session = self.phase.server().is_none_or(|server| server.is_stateful());
        if !self.answers_requests() {
            self.events.push_back(ClientEvent::Ignored("a request of a stateless server"));
            return;
        }
        let question = ServerQuestion { key: String::new(), method: method.into_owned(), params };
        let refusal = match question.method.as_str() {
            Ping::NAME => return self.send_response(id, Ok(JsonBuf::empty_object())),
            _ if self.incoming.has(&id) => Some(ErrorObject::invalid_request(format!("id {id} is already in use"))),
            _ if !matches!(self.phase, Phase::Open(_)) => {
                Some(ErrorObject::invalid_request("requests are invalid during session initialization"))
            }
            method if !is_session => Some(ErrorObject::method_not_found(method)),
            _ => {
                let refusal = self.refusal(&question);
                let undeclared = refusal.as_ref().map(|_| ClientEvent::Refused(question.method.clone()));
                self.events.extend(undeclared);
                refusal
            }
        };
        if let Some(refusal) = refusal {
            return self.send_response(id, Err(refusal));
        }
        match self.incoming.open(id, question.params.weight()) {
            Ok(key) => self.events.push_back(ClientEvent::Question(key, question)),
            Err(id) => {
                self.send_response(id, Err(ErrorObject::internal("too many requests in flight, try again later")));
            }
        }
    }

    /// The error for a question that the client does not answer.
    pub(super) fn refusal(&self, question: &ServerQuestion) -> Option<ErrorObject> {
        let params = members(question.params.clone());
        let capabilities = &self.config.capabilities;
        match RequiredCapability::of(&question.method, &params) {
            Some(required) if required.is_met_by(capabilities) => None,
            // The method is there, but not with these parameters (MCP 2025-11-25, client/elicitation, error handling).
            Some(required) if capabilities.capability(required.kind()).is_some() => Some(ErrorObject::invalid_params(
                format!("invalid params: the client does not support this kind of {}", required.kind()),
            )),
            Some(_) | None => Some(ErrorObject::method_not_found(&question.method)),
        }
    }

    pub(super) fn send_response(&mut self, id: RequestId, outcome: Result<JsonBuf, ErrorObject>) {
        self.transmits.push_back(Transmit::Send(Message::Response(Response { id: Some(id), outcome })));
    }

    pub(super) fn notification(&mut self, now: Instant, notification: Notification) {
        match notification.method.as_ref() {
            method::PROGRESS => self.progress(now, &notification),
            method::CANCELLED => self.withdrawn(now, &notification),
            method::SUBSCRIPTION_ACKNOWLEDGED => self.acknowledged(now, &notification),
            method::TASK_STATUS | method::TASK_CHANGED => self.task_announced(now, notification),
            _ if self.is_late(&notification) => {
                self.events.push_back(ClientEvent::Ignored("a notification of a subscription that is over"));
            }
            _ if matches!(self.phase, Phase::Open(_)) => self.events.push_back(ClientEvent::Notification(notification)),
            _ => self.events.push_back(ClientEvent::Ignored("a notification before the connection is open")),
        }
    }

    /// MCP 2025-11-25, basic/utilities/progress: tokens of active requests only, and each report exceeds the last.
    fn progress(&mut self, now: Instant, notification: &Notification) {
        let call = Progress::from_notification(notification).and_then(|(token, progress)| {
            let id = *self.tokens.get(&number(&token)?)?;
            Some((id, progress))
        });
        let Some((id, progress)) = call else {
            self.events.push_back(ClientEvent::Ignored("progress of nothing that is running"));
            return;
        };
        let default = self.config.limits.timeout;
        let is_new = self.calls.change(id, |call| {
            if let CallState::Sent(_, until) = &mut call.state {
                // The time for the result of a task is longer.
                *until = (*until).max(now + call.request.timeout.unwrap_or(default));
            }
            let is_new = call.last_progress.is_none_or(|last| progress.progress > last);
            if is_new {
                call.last_progress = Some(progress.progress);
            }
            is_new
        });
        self.events.push_back(match is_new {
            Some(true) => ClientEvent::Progress { call: id, progress },
            Some(false) | None => ClientEvent::Ignored("progress that does not increase"),
        });
    }

    fn withdrawn(&mut self, now: Instant, notification: &Notification) {
        let id = notification.params.member("requestId").and_then(RequestId::from_raw);
        // MCP 2026-07-28, basic/utilities/cancellation: a server cancels the subscription that it ends.
        let stream = id.as_ref().and_then(|id| u64::try_from(id.as_integer()?).ok());
        if let Some(request) = stream.filter(|request| self.listening.has(*request)) {
            self.exchanges.forget(request);
            return self.listen_ended(now, request, Ok(JsonBuf::empty_object()));
        }
        let key = id.and_then(|id| self.incoming.cancel(&id));
        self.events.push_back(match key {
            Some(key) => ClientEvent::Withdrawn(key),
            None => ClientEvent::Ignored("cancels nothing that is running"),
        });
    }
}

fn number(token: &ProgressToken) -> Option<u64> {
    u64::try_from(token.as_integer()?).ok()
}

/// The sessions that a request may lose before it fails.
const MAX_REPEATS: u32 = 3;
