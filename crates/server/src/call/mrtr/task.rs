//! A call that continues as a task: no request waits for it, and clients ask for its status.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, MutexGuard, Weak};
use std::time::SystemTime;

use protomcp_types::{ErrorObject, JsonBuf, RawJson};

use crate::call::ended::{self, Ended, Outcome};
use crate::call::mrtr::{Inner, MultiRoundTrip};
use crate::call::session_queue::SessionQueue;
use crate::records::cancel::Cancel;
use protomcp_session::{Detached, TaskOptions, TaskState, TaskView};

/// The server that keeps a task.
pub(crate) trait TaskNotifier: fmt::Debug + Send + Sync {
    /// Writes a task that has changed to the store. Called under its lock, in the order of its changes.
    fn write(&self, task: &TaskState, questions: Option<JsonBuf>);

    /// Writes a task that has ended with a result of this many bytes. Returns false if there is no room for it.
    fn end(&self, task: &TaskState, size: usize) -> bool;

    /// Notifies the clients that listen for the task.
    fn changed(&self, id: &str);
}

/// A task that runs. It does not keep the memory of its call.
#[derive(Debug, Clone)]
pub(crate) struct StatelessTask {
    mrtr: Arc<MultiRoundTrip>,
    call: Weak<dyn Cancel>,
}

impl StatelessTask {
    pub(crate) fn new(mrtr: &Arc<MultiRoundTrip>, call: Weak<dyn Cancel>) -> Self {
        Self { mrtr: Arc::clone(mrtr), call }
    }

    pub(crate) fn mrtr(&self) -> &MultiRoundTrip {
        &self.mrtr
    }

    /// Cancels the call, unless it has ended.
    pub(crate) fn cancel(&self) {
        if let Some(call) = self.call.upgrade() {
            call.cancel();
        }
    }
}

impl MultiRoundTrip {
    /// The call cannot become a task. Returns its outcome if it has ended.
    pub(crate) fn stay(&self, queue: &SessionQueue) -> Option<Ended> {
        self.inner().trips.stay(|outcome| queue.settle(outcome))
    }

    /// The call becomes a task, or has ended as one. `None`: it has not asked for that.
    pub(crate) fn detach(&self, id: &str, options: TaskOptions, notifier: Arc<dyn TaskNotifier>) -> Option<TaskView> {
        let mut inner = self.inner();
        let Detached { outcome } = inner.trips.detach(id, options, SystemTime::now())?;
        inner.notifier = Some(notifier);
        let has_ended = outcome.is_some();
        outcome.into_iter().for_each(|outcome| inner.end_task(outcome));
        let view = inner.trips.view();
        if has_ended {
            notify(inner);
        } else {
            inner.write();
        }
        view
    }

    /// The task as its client sees it; `None`: the call is not a task.
    pub(crate) fn view(&self) -> Option<TaskView> {
        self.inner().trips.view()
    }

    /// The client answers questions of the task. The others stay open.
    pub(crate) fn answer(&self, answers: BTreeMap<String, RawJson>) {
        let mut inner = self.inner();
        let answers = inner.trips.answer(answers, SystemTime::now());
        inner.answer_all(answers);
        notify(inner);
    }

    /// Ends the task, unless it has ended. Returns true if its call must be cancelled.
    pub(crate) fn cancel(&self) -> bool {
        let mut inner = self.inner();
        let is_cancelled = inner.trips.cancel(SystemTime::now());
        if is_cancelled {
            inner.answers.clear();
            inner.write_end();
            notify(inner);
        }
        is_cancelled
    }

    /// Ends the task with this error, unless it has ended.
    pub(crate) fn fail(&self, error: ErrorObject) {
        let mut inner = self.inner();
        if inner.trips.task().is_some_and(TaskState::is_running) {
            inner.answers.clear();
            inner.end_task(Some(Err(error)));
            notify(inner);
        }
    }
}

impl Inner {
    /// Ends the task with the outcome of its call, or with a short error if there is no room for it.
    pub(super) fn end_task(&mut self, outcome: Outcome) {
        let (Some(task), Some(notifier)) = (self.trips.task(), &self.notifier) else { return };
        let (bytes, now) = (outcome.as_ref().map_or(0, ended::weight), SystemTime::now());
        let mut ended = task.clone();
        ended.end_call(outcome.clone(), now);
        let is_kept = notifier.end(&ended, bytes);
        let outcome = outcome.map(|answer| if is_kept { answer } else { ended::in_place_of(&answer, bytes) });
        self.trips.end_task(outcome, now);
        if !is_kept {
            self.write_end();
        }
    }

    /// Writes the task to the store, if the call is one and has not ended. The end is written with its size.
    pub(super) fn write(&self) {
        if let (Some(task), Some(notifier)) = (self.trips.task().filter(|task| task.is_running()), &self.notifier) {
            notifier.write(task, self.trips.asked());
        }
    }

    /// Writes a task that has ended without a result that needs room.
    fn write_end(&self) {
        if let (Some(task), Some(notifier)) = (self.trips.task(), &self.notifier) {
            notifier.end(task, 0);
        }
    }
}

/// Writes the task, releases the lock, and notifies the clients that listen for the task, if the call is one.
pub(super) fn notify(inner: MutexGuard<'_, Inner>) {
    let (Some(task), Some(notifier)) = (inner.trips.task(), &inner.notifier) else { return };
    let (id, notifier) = (task.id().to_owned(), Arc::clone(notifier));
    inner.write();
    drop(inner);
    notifier.changed(&id);
}
