//! One stateless call that may ask its client, shared between its handler and the requests that it belongs to
//! (MCP 2026-07-28, basic/patterns/mrtr). It may also continue as a task (`mrtr/task`).
//!
//! [`RoundTrips`] decides. This file adds the lock, the channels of the answers, and the events for sessions.

mod outlet;
pub(crate) mod task;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use protomcp_types::{ErrorObject, Progress, RawJson};
use tokio::sync::oneshot;

use crate::call::call_info::CallInfo;
use crate::call::ended::{Ended, Outcome};
use crate::call::mrtr::task::{TaskNotifier, notify};
use crate::call::session_queue::SessionQueue;
use protomcp_session::{
    AskError, Asked, AskedInput, Finished, InputRequest, InputRequests, InputRequired, InputResponses, RequestBinding,
    RequestDigest, Resumed, RoundTrips, TaskOptions,
};

/// One stateless call that may ask its client.
#[derive(Debug)]
pub(crate) struct MultiRoundTrip {
    state: Option<String>,
    /// True if client and server know tasks, and the request may become one.
    may_be_task: bool,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    trips: RoundTrips<ReplyTarget, Ended>,
    /// The receivers of answers, by question.
    answers: HashMap<u64, oneshot::Sender<Result<RawJson, AskError>>>,
    /// The guards that hold the questions back.
    holds: usize,
    /// Notified of each change of the task that the call has become.
    notifier: Option<Arc<dyn TaskNotifier>>,
    /// The last progress since the request of the call was answered with questions, for the next one.
    progress: VecDeque<Progress>,
    /// It has asked to become a task while no request waited for it: the next one is answered with the task.
    wish: Option<TaskOptions>,
}

/// The reports of progress that wait for the next round. Older ones leave first.
const MAX_PROGRESS: usize = 32;

/// The bytes of a message in such a report. A longer one is left out.
const MAX_PROGRESS_MESSAGE: usize = 4096;

impl ReplyTarget {
    fn progress(&self, progress: &Progress) {
        if let Some(notification) = self.info.progress(progress) {
            self.queue.progress(&self.info.key, notification);
        }
    }
}

/// The request that a call belongs to, and the session that it came from.
#[derive(Debug, Clone)]
pub(crate) struct ReplyTarget {
    pub(crate) queue: Arc<SessionQueue>,
    pub(crate) info: Arc<CallInfo>,
}

/// A question that was asked.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) number: u64,
    pub(crate) answer: oneshot::Receiver<Result<RawJson, AskError>>,
}

/// The reaction of a call to the return of its client.
#[derive(Debug)]
pub(crate) enum Returned {
    /// It continues.
    Running,
    /// It continues, and its other questions are sent again.
    Asking,
    /// It has ended.
    Ended(Box<Ended>),
}

impl MultiRoundTrip {
    pub(crate) fn new(
        binding: RequestBinding,
        target: ReplyTarget,
        given: BTreeMap<String, RawJson>,
        max_questions: usize,
        may_be_task: bool,
    ) -> Self {
        let client = Arc::clone(&target.info.client);
        let trips = RoundTrips::new(target, client, binding, given, max_questions);
        let (answers, progress) = (HashMap::new(), VecDeque::new());
        let inner = Mutex::new(Inner { trips, answers, holds: 0, notifier: None, progress, wish: None });
        Self { state: None, may_be_task, inner }
    }

    /// Sets the state of the handler that the client has returned.
    pub(crate) fn with_state(mut self, state: Option<String>) -> Self {
        self.state = state;
        self
    }

    /// Reports something, if a request waits for the call.
    pub(crate) fn with_reply_target(&self, report: impl FnOnce(&ReplyTarget)) {
        if let Some(target) = self.inner().trips.target() {
            report(target);
        }
    }

    /// Sends progress. Between two rounds it waits for the next one. Returns false if it can be sent to no client.
    pub(crate) fn progress(&self, progress: &Progress) -> bool {
        let mut inner = self.inner();
        if inner.trips.is_task() || progress.progress.to_raw().is_none() {
            return false;
        }
        if inner.trips.parks_until().is_none()
            && let Some(target) = inner.trips.target().cloned()
        {
            inner.flush(&target);
            target.progress(progress);
        } else {
            inner.keep(progress.clone());
        }
        true
    }

    /// The state of the handler.
    pub(crate) fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// The answers that came with the request, without the used ones.
    pub(crate) fn given(&self) -> InputResponses {
        InputResponses::of(self.inner().trips.given().clone())
    }

    /// Asks the client; all questions are sent together.
    pub(crate) fn ask(&self, inputs: Vec<InputRequest>, until: Instant) -> Result<Vec<Waiting>, AskError> {
        let mut inner = self.inner();
        let Asked { inputs, target } = inner.trips.ask(inputs, until, SystemTime::now())?;
        let wait = |AskedInput { number, answer: given }| {
            let (sender, answer) = oneshot::channel();
            match given {
                Some(given) => drop(sender.send(Ok(given))),
                None => drop(inner.answers.insert(number, sender)),
            }
            Waiting { number, answer }
        };
        let waiting = inputs.into_iter().map(wait).collect();
        let is_held = inner.holds > 0;
        if let Some(ReplyTarget { queue, .. }) = target.filter(|_| !is_held) {
            queue.park();
        }
        notify(inner);
        Ok(waiting)
    }

    /// Holds questions back until [`release`](Self::release): the request is not answered with them yet.
    pub(crate) fn hold(&self) {
        self.inner().holds += 1;
    }

    /// Sends the questions that were held back, if no other guard holds them.
    pub(crate) fn release(&self) {
        let mut inner = self.inner();
        inner.holds -= 1;
        if inner.holds == 0
            && inner.trips.parks_until().is_some()
            && let Some(ReplyTarget { queue, .. }) = inner.trips.target()
        {
            queue.park();
        }
    }

    /// Takes a question back.
    pub(crate) fn withdraw(&self, number: u64) {
        let mut inner = self.inner();
        inner.answers.remove(&number);
        if inner.trips.withdraw(number, SystemTime::now()) {
            notify(inner);
        }
    }

    /// Parks the call: its request is answered with these questions. `enter` takes a slot until the given time; without
    /// one the questions fail. `None`: the call stays with its request, for good or while questions are held back.
    pub(crate) fn park<T>(&self, enter: impl FnOnce(Instant) -> Option<T>) -> Option<(InputRequests, Instant, T)> {
        let mut inner = self.inner();
        let until = inner.trips.parks_until().filter(|_| inner.holds == 0)?;
        let Some(slot) = enter(until) else {
            for number in inner.trips.withdraw_all() {
                inner.answer(number, Err(AskError::TooMany));
            }
            return None;
        };
        Some((inner.trips.park(), until, slot))
    }

    /// Fails the open questions: no client can return for them.
    pub(crate) fn give_up(&self) {
        let mut inner = self.inner();
        inner.trips.withdraw_all();
        inner.answers.clear();
    }

    /// Checks that these answers can be read.
    pub(crate) fn check(&self, answers: &BTreeMap<String, RawJson>) -> Result<(), ErrorObject> {
        self.inner().trips.check(answers)
    }

    /// The client has returned with these answers, in another request.
    pub(crate) fn resume(&self, target: &ReplyTarget, answers: BTreeMap<String, RawJson>) -> Returned {
        let mut inner = self.inner();
        let client = Arc::clone(&target.info.client);
        let resumed = inner.trips.resume(target.clone(), client, answers);
        if !matches!(resumed, Resumed::Asking(_)) {
            inner.flush(target);
        }
        let (answers, returned) = match resumed {
            Resumed::Running(answers) => (answers, Returned::Running),
            Resumed::Asking(answers) => (answers, Returned::Asking),
            Resumed::Ended(ended) => return Returned::Ended(Box::new(ended)),
        };
        if let Some(options) = inner.wish.take() {
            inner.want_task(options);
        }
        inner.answer_all(answers);
        returned
    }

    /// The handler requires this input before it can answer.
    pub(crate) fn require(&self, required: InputRequired) {
        self.inner().trips.require(required);
    }

    /// The call has ended. Returns the request that its outcome answers; `None`: it is kept for the client.
    pub(crate) fn finish(&self, outcome: Outcome, queue: &SessionQueue) -> Option<(ReplyTarget, Ended)> {
        let mut inner = self.inner();
        inner.answers.clear();
        match inner.trips.finish(outcome, |outcome| queue.settle(outcome)) {
            Finished::Reply(target, ended) => {
                inner.flush(&target);
                Some((target, ended))
            }
            Finished::Kept => None,
            Finished::Task(outcome) => {
                inner.end_task(outcome);
                notify(inner);
                None
            }
        }
    }

    /// The digest of the request that states of the call are bound to; `None`: the call has ended as a task.
    pub(crate) fn bound(&self) -> Option<RequestDigest> {
        self.inner().trips.binding().map(|binding| *binding.bound())
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// The call asks to become a task.
    fn want_task(&mut self, options: TaskOptions) {
        match self.trips.want_task() {
            Some(ReplyTarget { queue, .. }) => queue.detach(options),
            None if self.trips.is_task() => {}
            None => self.wish = Some(options),
        }
    }

    /// Keeps progress for the next round.
    fn keep(&mut self, progress: Progress) {
        if self.progress.len() == MAX_PROGRESS {
            self.progress.pop_front();
        }
        let message = progress.message.filter(|message| message.len() <= MAX_PROGRESS_MESSAGE);
        self.progress.push_back(Progress { message, ..progress });
    }

    /// Sends the progress that waits.
    fn flush(&mut self, target: &ReplyTarget) {
        self.progress.drain(..).for_each(|progress| target.progress(&progress));
    }

    fn answer(&mut self, number: u64, answer: Result<RawJson, AskError>) {
        if let Some(sender) = self.answers.remove(&number) {
            // The handler may drop the question at this moment.
            drop(sender.send(answer));
        }
    }

    fn answer_all(&mut self, answers: Vec<(u64, RawJson)>) {
        answers.into_iter().for_each(|(number, answer)| self.answer(number, Ok(answer)));
    }
}
