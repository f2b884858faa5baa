//! Calls that become tasks. A call stays one call to its caller: its task is polled until it has a result.
//!
//! In 2025-11-25 the client asks for a task, `tasks/get` gives its status and `tasks/result` its result; questions are
//! requests of the server (basic/utilities/tasks). In 2026-07-28 the server decides, and `tasks/get` gives status,
//! questions and result (extension `io.modelcontextprotocol/tasks`).

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use protomcp_types::{
    ErrorObject, GetTaskPayload, JsonBuf, JsonObject, Method, Notification, Params, RawJson, TaskRequest, TaskStatus,
};

use crate::client::ClientConnection;
use crate::client::call::{Call, CallState, MAX_GUESSES, TaskRef};
use crate::client::error::RequestError;
use crate::client::event::{ClientEvent, TaskNotice};
use crate::client::exchange::{Draft, Purpose};
use crate::client::failure::Failure;
use crate::client::rounds::questions;
use crate::outgoing::CallId;

impl ClientConnection {
    /// A result of the revisions with a session. The answer to a call that asked for a task may be one.
    pub(super) fn stateful_result(&mut self, now: Instant, id: CallId, body: JsonBuf) {
        let may_be_task = self.calls.get(id).is_some_and(|call| call.request.task.is_some());
        if !may_be_task {
            return self.finish(id, Ok(body));
        }
        let raw = body.into_raw();
        let task = JsonObject::from_raw(&raw).ok();
        let task = task.and_then(|members| JsonObject::from_raw(members.member("task")?).ok());
        match task {
            Some(task) => self.begin_task(now, id, &task),
            None => self.finish(id, Ok(raw.into())),
        }
    }

    pub(super) fn begin_task(&mut self, now: Instant, id: CallId, task: &JsonObject) {
        let Some(view) = TaskFacts::read(task) else { return self.invalid(id, "the task cannot be read") };
        let task_timeout = self.config.limits.task_timeout;
        self.calls.change(id, |call| {
            call.task =
                Some(TaskRef { id: view.id.clone(), interval: view.interval, asked: BTreeSet::new(), answers: None });
            let total = call.request.total_timeout.unwrap_or(task_timeout);
            call.until += total.saturating_sub(call.total);
            call.total = total.max(call.total);
        });
        let is_stateful = self.phase.server().is_some_and(|server| server.is_stateful());
        if view.status == TaskStatus::Working || is_stateful {
            return self.follow(now, id, view, task);
        }
        // A new task comes without its questions and its result.
        self.events.push_back(ClientEvent::Task { call: id, task: view.notice() });
        self.poll_task(now, id);
    }

    /// Does the next step of a task in this state.
    fn follow(&mut self, now: Instant, id: CallId, view: TaskFacts, members: &JsonObject) {
        let is_stateful = self.phase.server().is_some_and(|server| server.is_stateful());
        self.events.push_back(ClientEvent::Task { call: id, task: view.notice() });
        match (view.status, is_stateful) {
            (TaskStatus::Working, _) => self.poll_later(now, id, view.interval),
            // The questions come as requests of the server, and the result waits for them.
            (TaskStatus::InputRequired | TaskStatus::Completed | TaskStatus::Failed, true) => {
                self.fetch_result(now, id, &view.id);
            }
            (TaskStatus::Cancelled, _) => self.finish(id, Err(RequestError::TaskCancelled(view.message))),
            (TaskStatus::InputRequired, false) => self.task_asks(now, id, &view, members),
            (TaskStatus::Completed, false) => match members.member("result") {
                Some(result) => self.finish(id, Ok(result.clone().into())),
                None => self.poll_later(now, id, view.interval),
            },
            (TaskStatus::Failed, false) => match members.member("error").map(RawJson::to::<ErrorObject>) {
                Some(Ok(error)) => self.finish(id, Err(RequestError::Refused(error))),
                Some(Err(_)) => self.invalid(id, "the error of the task cannot be read"),
                None => self.poll_later(now, id, view.interval),
            },
        }
    }

    pub(super) fn poll_later(&mut self, now: Instant, id: CallId, interval: Duration) {
        self.calls.change(id, |call| {
            if let Some(task) = &mut call.task {
                task.interval = interval;
            }
            call.state = CallState::Polling(now + interval);
        });
    }

    /// Asks for the state of the task of a call, or sends the answers that the server has not confirmed.
    pub(super) fn poll_task(&mut self, now: Instant, id: CallId) {
        let Some(task) = self.calls.get(id).and_then(|call| call.task.as_ref()) else { return };
        if self.phase.server().is_none() {
            return self.poll_later(now, id, task.interval);
        }
        if let Some(responses) = task.answers.as_ref().map(|answers| answers.to_body().into_raw()) {
            let params = of_task(&task.id).with("inputResponses", responses).into();
            let number = self.send(Draft::new(Purpose::TaskUpdate(id), TaskRequest::UPDATE, params));
            return self.await_answer(now, id, number);
        }
        let params = of_task(&task.id).into();
        let number = self.send(Draft::new(Purpose::TaskState(id), TaskRequest::GET, params));
        self.await_answer(now, id, number);
    }

    fn fetch_result(&mut self, now: Instant, id: CallId, task: &str) {
        let params = of_task(task).into();
        let number = self.send(Draft::new(Purpose::TaskResult(id), GetTaskPayload::NAME, params));
        // The server answers when the task is over, which has the time of the task.
        let total = self.config.limits.task_timeout;
        self.calls.change(id, |call| call.state = CallState::Sent(number, now + total));
    }

    /// A request about a task has no answer. The server is asked again for as long as the call has time, unless it has
    /// refused.
    pub(super) fn task_unanswered(&mut self, now: Instant, number: u64, id: CallId, failure: Failure) {
        let is_lost = failure.is_session_lost();
        let count = |call: &mut Call| {
            call.repeats += 1;
            call.repeats > MAX_GUESSES
        };
        if failure.is_guessed_loss() && self.calls.change(id, count) == Some(true) {
            return self.finish(id, Err(failure.into()));
        }
        if is_lost {
            self.session_lost(now, number);
        }
        if !is_lost && !failure.is_passing() {
            return self.finish(id, Err(failure.into()));
        }
        let interval = self.calls.get(id).and_then(|call| call.task.as_ref()).map_or(POLL, |task| task.interval);
        self.poll_later(now, id, interval.max(POLL));
    }

    pub(super) fn task_state(&mut self, now: Instant, id: CallId, body: JsonBuf) {
        let Ok(members) = JsonObject::from_raw(&body.into_raw()) else {
            return self.invalid(id, "the task is not an object");
        };
        match TaskFacts::read(&members) {
            Some(view) => self.follow(now, id, view, &members),
            None => self.invalid(id, "the task cannot be read"),
        }
    }

    fn task_asks(&mut self, now: Instant, id: CallId, view: &TaskFacts, members: &JsonObject) {
        let mut questions = match members.member("inputRequests").map(questions) {
            Some(Some(questions)) => questions,
            Some(None) => return self.invalid(id, "inputRequests cannot be read"),
            None => return self.poll_later(now, id, view.interval),
        };
        let fresh = self.calls.change(id, |call| {
            // A key is never used again, so an answer may still be on its way to the server.
            let Some(task) = &mut call.task else { return false };
            questions.retain(|question| task.asked.insert(question.key.clone()));
            if questions.is_empty() {
                return false;
            }
            call.rounds += 1;
            call.state = CallState::Asking;
            true
        });
        let rounds = self.calls.get(id).map_or(0, |call| call.rounds);
        match fresh {
            Some(true) if rounds > self.config.limits.max_rounds => {
                self.cancel_task(id);
                self.finish(id, Err(RequestError::TooManyRounds(self.config.limits.max_rounds)));
            }
            Some(true) => self.ask(id, questions),
            Some(false) | None => self.poll_later(now, id, view.interval),
        }
    }

    pub(super) fn update_task(&mut self, now: Instant, id: CallId, responses: JsonObject) {
        self.set_answers(id, Some(responses));
        self.poll_task(now, id);
    }

    pub(super) fn task_updated(&mut self, now: Instant, id: CallId) {
        self.set_answers(id, None);
        self.poll_task(now, id);
    }

    fn set_answers(&mut self, id: CallId, answers: Option<JsonObject>) {
        self.calls.change(id, |call| {
            if let Some(task) = &mut call.task {
                task.answers = answers;
            }
        });
    }

    /// The server announces a change: there is no need to wait for the next poll.
    pub(super) fn task_announced(&mut self, now: Instant, notification: Notification) {
        let task = notification.params.member("taskId").and_then(|id| id.to::<String>().ok());
        if let Some(id) = task.and_then(|task| self.calls.polling(&task)) {
            self.poll_task(now, id);
        }
        self.events.push_back(ClientEvent::Notification(notification));
    }

    /// Cancels the task of a call, if it has become one. The answer does not matter.
    pub(super) fn cancel_task(&mut self, id: CallId) {
        let Some(params) = self.task_params(id) else { return };
        let number = self.send(Draft::new(Purpose::Ping, TaskRequest::CANCEL, params));
        self.exchanges.forget(number);
    }

    fn task_params(&self, id: CallId) -> Option<Params> {
        Some(of_task(&self.calls.get(id)?.task.as_ref()?.id).into())
    }
}

fn of_task(task: &str) -> JsonObject {
    JsonObject::new().with("taskId", RawJson::text(task))
}

/// The members of a task that both eras have.
#[derive(Debug)]
struct TaskFacts {
    id: String,
    status: TaskStatus,
    message: Option<String>,
    interval: Duration,
}

impl TaskFacts {
    fn read(members: &JsonObject) -> Option<Self> {
        let millis = |name: &str| members.member(name).and_then(|raw| raw.to::<u64>().ok());
        let interval = millis("pollIntervalMs").or_else(|| millis("pollInterval")).map_or(POLL, Duration::from_millis);
        Some(Self {
            id: members.member("taskId")?.to().ok()?,
            status: members.member("status")?.to().ok()?,
            message: members.member("statusMessage").and_then(|raw| raw.to().ok()),
            interval: interval.clamp(SHORTEST_POLL, LONGEST_POLL),
        })
    }

    fn notice(&self) -> TaskNotice {
        TaskNotice { id: self.id.clone(), status: self.status, message: self.message.clone() }
    }
}

/// The time between two polls if the server names none, and its bounds.
const POLL: Duration = Duration::from_secs(1);
const SHORTEST_POLL: Duration = Duration::from_millis(10);
const LONGEST_POLL: Duration = Duration::from_secs(60);
