//! One stateless call that may ask its client: the request that it belongs to, and its open questions (MCP 2026-07-28,
//! basic/patterns/mrtr, and extension tasks).
//!
//! ```text
//!             park: its request is answered with the questions
//!  Attached ─────────────────────────────────────────────────▶ Parked
//!   │ │  ▲  ◀─────────────────────────────────────────────────   │
//!   │ │  │    resume: another request brings the answers         │ finish
//!   │ │  │ stay                                                  ▼
//!   │ │ Detaching ──────▶ Task                                 Kept ──▶ Ended
//!   │ └───▲  want_task     detach: its request is answered with the task
//!   │ finish
//!   └─────▶ Ended
//! ```
//!
//! A call that ends while it is parked or detaching keeps its outcome until the client or the server has decided.

mod questions;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use protomcp_types::{ErrorObject, JsonBuf, RawJson};

use crate::ask_error::AskError;
use crate::client_info::ClientInfo;
use crate::input::{InputRequest, InputRequests, InputRequired};
use crate::mrtr::questions::Questions;
use crate::request::ServerResult;
use crate::request_state::RequestBinding;
use crate::task_state::{TaskEra, TaskState};
use crate::task_view::{TaskOptions, TaskView};

pub use crate::mrtr::questions::AskedInput;

/// The outcome of a call; `None`: it was dropped after it had been cancelled.
pub type CallOutcome = Option<Result<ServerResult, ErrorObject>>;

/// One call as a value. `T` is the request that it belongs to, `E` an outcome that waits for its client.
#[derive(Debug)]
pub struct RoundTrips<T, E> {
    place: Place<T, E>,
    /// The client of the last request.
    client: Arc<ClientInfo>,
    /// The request that states of the call are bound to; `None`: it has ended as a task.
    binding: Option<RequestBinding>,
    questions: Questions,
    /// The input that the handler requires before it can answer.
    required: Option<InputRequired>,
}

#[derive(Debug)]
enum Place<T, E> {
    /// Its request waits for the answer.
    Attached(T),
    /// Its request was answered with the open questions.
    Parked(T),
    /// It has asked to continue as a task, with this status message.
    Detaching { target: T, message: Option<String> },
    /// It has ended while it was detaching.
    EndedDetaching { message: Option<String>, outcome: CallOutcome },
    /// It continues as a task.
    Task {
        state: TaskState,
        #[expect(dead_code, reason = "it holds the bytes of the request until the call has ended")]
        target: Option<T>,
    },
    /// It has ended while it was parked.
    Kept(E),
    /// Its outcome was taken.
    Ended,
}

/// The questions that a call has asked, and their effect.
#[derive(Debug)]
pub struct Asked<T> {
    /// The questions in order.
    pub inputs: Vec<AskedInput>,
    /// The request to answer with them; `None`: they wait for another request, or for the client of a task.
    pub target: Option<T>,
}

/// The state of a call whose client has returned.
#[derive(Debug)]
pub enum Resumed<E> {
    /// It continues with these answers.
    Running(Vec<(u64, RawJson)>),
    /// It continues with these answers, and its other questions are sent again.
    Asking(Vec<(u64, RawJson)>),
    /// It has ended.
    Ended(E),
}

/// The destination of the outcome of a call.
#[derive(Debug)]
pub enum Finished<T, E> {
    /// The request that waits for it.
    Reply(T, E),
    /// It is kept for the client, or until the server has made it a task. A task that has ended before needs none.
    Kept,
    /// The task, which [`RoundTrips::end_task`] ends.
    Task(CallOutcome),
}

/// A call that has become a task.
#[derive(Debug)]
pub struct Detached {
    /// Its outcome, if it has ended in between: for [`RoundTrips::end_task`].
    pub outcome: Option<CallOutcome>,
}

impl<T: Clone, E> RoundTrips<T, E> {
    /// A call that its first request begins. `given`: answers that came along. At most `max_questions` are open.
    pub fn new(
        target: T,
        client: Arc<ClientInfo>,
        binding: RequestBinding,
        given: BTreeMap<String, RawJson>,
        max_questions: usize,
    ) -> Self {
        let questions = Questions::new(given, max_questions);
        Self { place: Place::Attached(target), client, binding: Some(binding), questions, required: None }
    }

    /// The request that waits for the answer.
    #[must_use]
    pub fn target(&self) -> Option<&T> {
        match &self.place {
            Place::Attached(target) => Some(target),
            _ => None,
        }
    }

    /// The request that states of the call are bound to; `None`: the call has ended as a task.
    #[must_use]
    pub fn binding(&self) -> Option<&RequestBinding> {
        self.binding.as_ref()
    }

    /// Answers that came with the first request, and that no question has used.
    #[must_use]
    pub fn given(&self) -> &BTreeMap<String, RawJson> {
        self.questions.given()
    }

    /// True if the call is a task, or asks to become one.
    #[must_use]
    pub fn is_task(&self) -> bool {
        matches!(self.place, Place::Task { .. } | Place::Detaching { .. } | Place::EndedDetaching { .. })
    }

    /// The task; `None`: the call is not a task.
    #[must_use]
    pub fn task(&self) -> Option<&TaskState> {
        match &self.place {
            Place::Task { state, .. } => Some(state),
            _ => None,
        }
    }

    /// The task as its client sees it; `None`: the call is not a task.
    #[must_use]
    pub fn view(&self) -> Option<TaskView> {
        self.task().map(|task| task.view(self.asked()))
    }

    /// The `inputRequests` of the open questions; `None`: there are none.
    #[must_use]
    pub fn asked(&self) -> Option<JsonBuf> {
        (self.questions.len() > 0).then(|| self.questions.requests().to_body())
    }

    /// Asks the client. `until`: the time at which the questions expire.
    ///
    /// # Errors
    /// [`AskError::Gone`] after the end of the call or its task; the errors of the questions.
    pub fn ask(&mut self, inputs: Vec<InputRequest>, until: Instant, now: SystemTime) -> Result<Asked<T>, AskError> {
        let is_over = match &self.place {
            Place::Attached(_) | Place::Parked(_) | Place::Detaching { .. } => false,
            Place::Task { state, .. } => !state.is_running(),
            Place::EndedDetaching { .. } | Place::Kept(_) | Place::Ended => true,
        };
        if is_over {
            return Err(AskError::Gone);
        }
        let inputs = self.questions.ask(inputs, until, &self.client.capabilities)?;
        self.count_questions(now);
        let is_open = inputs.iter().any(|input| input.answer.is_none());
        Ok(Asked { target: self.target().filter(|_| is_open).cloned(), inputs })
    }

    /// Takes a question back. Returns true if it was open.
    pub fn withdraw(&mut self, number: u64, now: SystemTime) -> bool {
        let is_withdrawn = self.questions.withdraw(number);
        if is_withdrawn {
            self.count_questions(now);
        }
        is_withdrawn
    }

    /// Takes all questions back, because no client can answer them. Returns their numbers.
    pub fn withdraw_all(&mut self) -> Vec<u64> {
        self.questions.clear()
    }

    /// The time until which the call can be parked; `None`: it has no questions for the request that it belongs to.
    #[must_use]
    pub fn parks_until(&self) -> Option<Instant> {
        self.target().and_then(|_| self.questions.until())
    }

    /// Parks the call. Returns the questions that its request is answered with.
    pub fn park(&mut self) -> InputRequests {
        self.change(|place| match place {
            Place::Attached(target) => Place::Parked(target),
            other => other,
        });
        self.questions.requests()
    }

    /// Checks that the answers can be read.
    ///
    /// # Errors
    /// −32602 for an answer that is not one to its question.
    pub fn check(&self, answers: &BTreeMap<String, RawJson>) -> Result<(), ErrorObject> {
        self.questions.check(answers)
    }

    /// The client has returned with another request, and with these answers.
    pub fn resume(&mut self, target: T, client: Arc<ClientInfo>, answers: BTreeMap<String, RawJson>) -> Resumed<E> {
        self.client = client;
        let mut kept = None;
        self.change(|place| match place {
            Place::Attached(_) | Place::Parked(_) => Place::Attached(target),
            Place::Kept(outcome) => {
                kept = Some(outcome);
                Place::Ended
            }
            other => other,
        });
        if let Some(outcome) = kept {
            return Resumed::Ended(outcome);
        }
        let answers = self.questions.answer(answers);
        if self.questions.len() == 0 { Resumed::Running(answers) } else { Resumed::Asking(answers) }
    }

    /// The handler requires this input before it can answer.
    pub fn require(&mut self, required: InputRequired) {
        self.required = Some(required);
    }

    /// The call asks to continue as a task. Returns the request that is to be answered with it; `None`: it has asked
    /// before, or belongs to no request.
    pub fn want_task(&mut self) -> Option<T> {
        let target = self.target()?.clone();
        self.place = Place::Detaching { target: target.clone(), message: None };
        Some(target)
    }

    /// The call cannot become a task. Returns its outcome if it has ended; `settle` prepares it for its request.
    pub fn stay(&mut self, settle: impl FnOnce(CallOutcome) -> E) -> Option<E> {
        let mut ended = None;
        self.change(|place| match place {
            Place::Detaching { target, .. } => Place::Attached(target),
            Place::EndedDetaching { outcome, .. } => {
                ended = Some(settle(outcome));
                Place::Ended
            }
            other => other,
        });
        ended
    }

    /// The call becomes a task; `None`: it has not asked for that.
    pub fn detach(&mut self, id: &str, options: TaskOptions, now: SystemTime) -> Option<Detached> {
        let mut state = TaskState::new(TaskEra::Stateless, id, options, now);
        let (target, message, outcome) = match std::mem::replace(&mut self.place, Place::Ended) {
            Place::Detaching { target, message } => (Some(target), message, None),
            Place::EndedDetaching { message, outcome } => {
                self.binding = None;
                (None, message, Some(outcome))
            }
            other => {
                self.place = other;
                return None;
            }
        };
        if let Some(message) = message {
            state.set_message(&message, now);
        }
        self.place = Place::Task { state, target };
        self.questions.keep_keys();
        self.count_questions(now);
        Some(Detached { outcome })
    }

    /// Sets the status message of the task. Returns true if it has changed.
    pub fn set_message(&mut self, text: &str, now: SystemTime) -> bool {
        match &mut self.place {
            Place::Task { state, .. } => state.set_message(text, now),
            Place::Detaching { message, .. } => {
                *message = Some(text.to_owned());
                false
            }
            _ => false,
        }
    }

    /// The client answers questions of the task. The others stay open.
    pub fn answer(&mut self, answers: BTreeMap<String, RawJson>, now: SystemTime) -> Vec<(u64, RawJson)> {
        let answers = self.questions.answer(answers);
        self.count_questions(now);
        answers
    }

    /// The client cancels the task. Returns true if it was running.
    pub fn cancel(&mut self, now: SystemTime) -> bool {
        let Place::Task { state, .. } = &mut self.place else { return false };
        let is_cancelled = state.cancel(Some(TaskState::CANCELLED), TaskState::CANCELLED, now);
        if is_cancelled {
            self.questions.clear();
        }
        is_cancelled
    }

    /// The call has ended. `settle` prepares the outcome for the request that it goes to.
    pub fn finish(&mut self, outcome: CallOutcome, settle: impl FnOnce(CallOutcome) -> E) -> Finished<T, E> {
        let outcome = outcome.map(|outcome| self.conclude(outcome));
        self.questions.clear();
        let mut finished = Finished::Kept;
        let mut is_task = false;
        self.change(|place| match place {
            Place::Attached(target) => {
                finished = Finished::Reply(target, settle(outcome));
                Place::Ended
            }
            Place::Parked(_) => Place::Kept(settle(outcome)),
            Place::Detaching { message, .. } => Place::EndedDetaching { message, outcome },
            Place::Task { state, .. } => {
                is_task = true;
                if state.is_running() {
                    finished = Finished::Task(outcome);
                }
                Place::Task { state, target: None }
            }
            other => other,
        });
        if is_task {
            // Its request has been answered, and needs no memory.
            self.binding = None;
        }
        finished
    }

    /// Ends the task with the outcome of its call.
    pub fn end_task(&mut self, outcome: CallOutcome, now: SystemTime) {
        if let Place::Task { state, .. } = &mut self.place {
            state.end_call(outcome, now);
        }
    }

    /// Updates the number of questions of the task, if the call is one.
    fn count_questions(&mut self, now: SystemTime) {
        if let Place::Task { state, .. } = &mut self.place
            && state.is_running()
        {
            state.set_questions(self.questions.len(), now);
            state.touch(now);
        }
    }

    fn conclude(&mut self, outcome: Result<ServerResult, ErrorObject>) -> Result<ServerResult, ErrorObject> {
        let has_failed = match &outcome {
            Ok(ServerResult::CallTool(result)) => result.is_error,
            Ok(_) => false,
            Err(_) => true,
        };
        if !has_failed {
            return outcome;
        }
        if let Some(required) = self.required.take() {
            return Ok(ServerResult::InputRequired(required));
        }
        match self.questions.refusal(&outcome) {
            Some(refusal) => Err(refusal),
            None => outcome,
        }
    }

    fn change(&mut self, step: impl FnOnce(Place<T, E>) -> Place<T, E>) {
        self.place = step(std::mem::replace(&mut self.place, Place::Ended));
    }
}

#[cfg(test)]
mod tests;
