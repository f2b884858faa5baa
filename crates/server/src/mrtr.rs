//! One stateless call that may ask its host something: over how many connections it goes, and what it waits for
//! (MCP 2026-07-28, basic/patterns/mrtr). It may also go on as a task (`mrtr/task`).
//!
//! ```text
//!            asks; its request is answered with the questions
//!   Held ──────────────────────────────────────────────────────▶ Parked
//!    ▲   ◀──────────────────────────────────────────────────────   │
//!    │       another request brings the answers                    │ it ends without them
//!    ▼                                                             ▼
//!  answered                                                      kept for the next request, until its time is up
//! ```

mod task;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use protomcp_types::{CallToolResult, ClientCapabilities, ErrorObject, RawJson};
use tokio::sync::oneshot;

use crate::call_info::CallInfo;
use crate::ended::{Ended, Outcome};
use crate::mrtr::task::{Detached, told};
use crate::session_queue::SessionQueue;
use protomcp_session::{
    AskError, InputRequest, InputRequests, InputRequired, InputResponses, RequestBinding, ServerResult,
};

pub(crate) use crate::mrtr::task::{StatelessTask, TaskNotifier};

/// The part of a call that asks, beside its context.
#[derive(Debug)]
pub(crate) struct MultiRoundTrip {
    state: Option<String>,
    max_questions: usize,
    /// True if host and server know tasks, and the request may become one.
    may_be_task: bool,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// The request that the call belongs to now, or belonged to last; `None`: it has ended as a task.
    target: Option<ReplyTarget>,
    /// The request that states of the call are bound to.
    binding: Option<Arc<RequestBinding>>,
    is_parked: bool,
    /// Asked, and not answered.
    open: Vec<Open>,
    /// Came with the first request, and not used yet.
    given: BTreeMap<String, RawJson>,
    /// The number of questions asked, by kind.
    counts: BTreeMap<&'static str, u32>,
    last: u64,
    /// The capabilities that the client would have had to declare, and the questions that were refused for the lack of it.
    missing: Option<(ClientCapabilities, BTreeSet<&'static str>)>,
    own: Option<InputRequired>,
    /// Its outcome, if it has ended without a request.
    outcome: Option<Ended>,
    has_ended: bool,
    /// True if it is about to go on as a task.
    wants_task: bool,
    /// Its last status message until then.
    said: Option<String>,
    /// The task that it has become, if it goes on as one.
    task: Option<Detached>,
}

/// Where a call reports to.
#[derive(Debug, Clone)]
pub(crate) struct ReplyTarget {
    pub(crate) queue: Arc<SessionQueue>,
    pub(crate) info: CallInfo,
}

#[derive(Debug)]
struct Open {
    number: u64,
    asked: InputRequest,
    until: Instant,
    answer: oneshot::Sender<Result<RawJson, AskError>>,
}

/// A question that was asked.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) number: u64,
    pub(crate) answer: oneshot::Receiver<Result<RawJson, AskError>>,
}

/// The state of a call whose client has come back.
#[derive(Debug)]
pub(crate) enum Resumed {
    /// It goes on.
    Running,
    /// It goes on, and still waits for other answers, which are to be asked for again.
    Asking,
    /// It has ended.
    Ended(Box<Ended>),
}

impl MultiRoundTrip {
    pub(crate) fn new(
        binding: RequestBinding,
        target: ReplyTarget,
        state: Option<String>,
        given: BTreeMap<String, RawJson>,
        max_questions: usize,
        may_be_task: bool,
    ) -> Self {
        let inner = Inner {
            target: Some(target),
            binding: Some(Arc::new(binding)),
            is_parked: false,
            open: Vec::new(),
            given,
            counts: BTreeMap::new(),
            last: 0,
            missing: None,
            own: None,
            outcome: None,
            has_ended: false,
            wants_task: false,
            said: None,
            task: None,
        };
        Self { state, max_questions, may_be_task, inner: Mutex::new(inner) }
    }

    /// Reports something, if the call belongs to a request.
    pub(crate) fn with_reply_target(&self, report: impl FnOnce(&ReplyTarget)) {
        let inner = self.inner();
        let is_there = !inner.is_parked && !inner.wants_task && inner.task.is_none();
        if let Some(target) = inner.target.as_ref().filter(|_| is_there) {
            report(target);
        }
    }

    /// The state of the handler.
    pub(crate) fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// The answers that came with the request, without the used ones.
    pub(crate) fn given(&self) -> InputResponses {
        InputResponses::of(self.inner().given.clone())
    }

    /// Asks; all questions leave together. A key that is empty is chosen here, in the same way each time.
    pub(crate) fn ask(&self, questions: Vec<InputRequest>, until: Instant) -> Result<Vec<Waiting>, AskError> {
        let mut inner = self.inner();
        if inner.has_ended {
            return Err(AskError::Gone);
        }
        let Inner { target, is_parked, open, given, counts, last, missing, wants_task, task, .. } = &mut *inner;
        let target = target.as_ref().ok_or(AskError::Gone)?;
        let capabilities = &target.info.client.capabilities;
        let mut all_met = Ok(());
        for asked in &questions {
            let need = asked.need().ok_or(AskError::NotSupported(asked.method))?;
            if !need.is_met_by(capabilities) {
                let (required, mut refused) = missing.take().unwrap_or_default();
                refused.insert(asked.method);
                *missing = Some((required.and(&need.to_capabilities()), refused));
                all_met = Err(AskError::NotSupported(asked.method));
            }
        }
        all_met?;
        if open.len() + questions.len() > self.max_questions {
            return Err(AskError::TooMany);
        }
        let mut waiting = Vec::with_capacity(questions.len());
        let mut is_open = false;
        for asked in questions {
            let mut asked = asked.stateless();
            if asked.key.is_empty() {
                let kind = asked.need().map_or("question", |need| need.kind());
                let count = counts.entry(kind).or_default();
                *count += 1;
                asked.key = format!("{kind}-{count}");
            }
            let is_used = |key: &str| {
                let is_open = open.iter().any(|other| other.asked.key == key);
                is_open || task.as_ref().is_some_and(|task| task.keys.contains(key))
            };
            while is_used(&asked.key) {
                asked.key.push('\'');
            }
            if let Some(task) = task {
                task.keys.insert(asked.key.clone());
                task.updated = SystemTime::now();
            }
            *last += 1;
            let (answer, receiver) = oneshot::channel();
            waiting.push(Waiting { number: *last, answer: receiver });
            match given.remove(&asked.key).filter(|given| (asked.check)(given).is_ok()) {
                Some(given) => drop(answer.send(Ok(given))),
                None => {
                    is_open = true;
                    open.push(Open { number: *last, asked, until, answer });
                }
            }
        }
        if is_open && !*is_parked && !*wants_task && task.is_none() {
            target.queue.asked(target.info.key.clone());
        }
        told(inner);
        Ok(waiting)
    }

    /// The answer is no longer needed.
    pub(crate) fn withdraw(&self, number: u64) {
        let mut inner = self.inner();
        let before = inner.open.len();
        inner.open.retain(|open| open.number != number);
        if inner.open.len() < before {
            told(inner);
        }
    }

    /// The call leaves its request, which is answered with these questions. `enter` takes it in until then, or says
    /// that there is no room; then the questions fail. `None`: nothing is to be asked.
    pub(crate) fn park<T>(&self, enter: impl FnOnce(Instant) -> Option<T>) -> Option<(InputRequests, Instant, T)> {
        let mut inner = self.inner();
        inner.open.retain(|open| !open.answer.is_closed());
        let until = inner.open.iter().map(|open| open.until).max()?;
        let Some(place) = enter(until) else {
            for open in inner.open.drain(..) {
                drop(open.answer.send(Err(AskError::TooMany)));
            }
            return None;
        };
        inner.is_parked = true;
        let questions = InputRequests::of(inner.open.iter().map(|open| open.asked.clone()).collect());
        Some((questions, until, place))
    }

    /// Fails the open questions: no client can come back for them.
    pub(crate) fn give_up(&self) {
        self.inner().open.clear();
    }

    /// True if these answers can be read.
    pub(crate) fn check(&self, answers: &BTreeMap<String, RawJson>) -> Result<(), ErrorObject> {
        for open in &self.inner().open {
            let Some(answer) = answers.get(&open.asked.key) else { continue };
            (open.asked.check)(answer).map_err(|why| {
                ErrorObject::invalid_params(format!("invalid params: inputResponses[{:?}]: {why}", open.asked.key))
            })?;
        }
        Ok(())
    }

    /// The host has come back with these answers, in another request.
    pub(crate) fn resume(&self, target: ReplyTarget, mut answers: BTreeMap<String, RawJson>) -> Resumed {
        let mut inner = self.inner();
        inner.target = Some(target);
        inner.is_parked = false;
        if let Some(ended) = inner.outcome.take() {
            return Resumed::Ended(Box::new(ended));
        }
        for open in std::mem::take(&mut inner.open) {
            match answers.remove(&open.asked.key) {
                Some(answer) => drop(open.answer.send(Ok(answer))),
                None => inner.open.push(open),
            }
        }
        if inner.open.is_empty() { Resumed::Running } else { Resumed::Asking }
    }

    /// The input that the handler requires before it can answer.
    pub(crate) fn require(&self, required: InputRequired) {
        self.inner().own = Some(required);
    }

    /// The call has ended. Returns where its outcome is to go; `None`: it is kept for the client to come back.
    pub(crate) fn finish(&self, outcome: Outcome, queue: &SessionQueue) -> Option<(ReplyTarget, Ended)> {
        let mut inner = self.inner();
        let outcome = inner.conclude(outcome);
        inner.has_ended = true;
        inner.open.clear();
        if let Some(task) = &mut inner.task {
            task.updated = SystemTime::now();
            let (id, notifier) = (task.id.clone(), task.notifier.clone());
            // Its request has been answered, and needs no memory.
            (inner.target, inner.binding) = (None, None);
            inner.keep_result(&id, &*notifier, outcome);
            told(inner);
            return None;
        }
        let ended = queue.settle(outcome);
        if inner.is_parked || inner.wants_task {
            inner.outcome = Some(ended);
            return None;
        }
        inner.target.clone().map(|target| (target, ended))
    }

    /// The request that states of the call are bound to; `None`: it has ended as a task, and has none.
    pub(crate) fn binding(&self) -> Option<Arc<RequestBinding>> {
        self.inner().binding.clone()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn conclude(&mut self, outcome: Outcome) -> Outcome {
        let outcome = outcome?;
        let failed = match &outcome {
            Ok(ServerResult::CallTool(result)) => result.is_error,
            Ok(_) => false,
            Err(_) => true,
        };
        if failed && let Some(own) = self.own.take() {
            return Some(Ok(ServerResult::InputRequired(own)));
        }
        // MCP 2026-07-28, basic: who cannot go on without asking says what the client would have to be able to do. A tool
        // that could, and failed for another reason, does not say that it was refused.
        if failed && let Some((missing, refused)) = self.missing.take() {
            let says = |result: &CallToolResult, method| {
                result.content.as_str().contains(&AskError::NotSupported(method).to_string())
            };
            let is_why = match &outcome {
                Ok(ServerResult::CallTool(result)) => refused.iter().any(|method| says(result, method)),
                Ok(_) | Err(_) => true,
            };
            if is_why {
                return Some(Err(ErrorObject::missing_capability(&missing)));
            }
        }
        Some(outcome)
    }
}
