//! A call that goes on as a task: no request waits for it, and clients ask for its status.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, MutexGuard, Weak};
use std::time::SystemTime;

use protomcp_types::{ErrorObject, RawJson};

use crate::cancel::Cancel;
use crate::ended::{self, Ended, Outcome};
use crate::mrtr::{Inner, MultiRoundTrip, ReplyTarget};
use crate::task_text::cut;
use protomcp_session::{Extensions, InputRequests, ServerResult, TaskDetail, TaskOptions, TaskView};

/// The task that a call becomes.
#[derive(Debug)]
pub(super) struct Detached {
    pub(super) id: String,
    options: TaskOptions,
    created: SystemTime,
    pub(super) updated: SystemTime,
    /// A status message for people.
    message: Option<String>,
    is_cancelled: bool,
    /// Told of each change.
    pub(super) notifier: Arc<dyn TaskNotifier>,
    /// Those of all its questions; none is used twice.
    pub(super) keys: HashSet<String>,
}

/// The server around tasks.
pub(crate) trait TaskNotifier: fmt::Debug + Send + Sync {
    /// A task has changed.
    fn changed(&self, id: &str);

    /// A task has ended, with a result of so many bytes. `false`: there is no room for it.
    fn ended(&self, id: &str, size: usize) -> bool;
}

/// A task as it is looked after: it does not keep what its call needs.
#[derive(Debug, Clone)]
pub(crate) struct StatelessTask {
    mrtr: Arc<MultiRoundTrip>,
    call: Weak<dyn Cancel>,
    known: Extensions,
}

impl StatelessTask {
    pub(crate) fn new(mrtr: &Arc<MultiRoundTrip>, call: Weak<dyn Cancel>, known: Extensions) -> Self {
        Self { mrtr: Arc::clone(mrtr), call, known }
    }

    pub(crate) fn mrtr(&self) -> &MultiRoundTrip {
        &self.mrtr
    }

    pub(crate) fn extensions(&self) -> &Extensions {
        &self.known
    }

    /// Cancels the call, unless it has ended.
    pub(crate) fn cancel(&self) {
        if let Some(call) = self.call.upgrade() {
            call.cancel();
        }
    }
}

impl MultiRoundTrip {
    /// True if the call may go on as a task.
    pub(crate) fn may_be_task(&self) -> bool {
        self.may_be_task
    }

    /// True if the call is a task, or about to be one.
    pub(crate) fn is_task(&self) -> bool {
        let inner = self.inner();
        inner.wants_task || inner.task.is_some()
    }

    /// The call wants to go on as a task. Returns the request that is to be answered with it; `None`: it wants that
    /// already, or belongs to no request.
    pub(crate) fn want_task(&self) -> Option<ReplyTarget> {
        let mut inner = self.inner();
        if inner.has_ended || inner.is_parked || inner.task.is_some() || inner.wants_task {
            return None;
        }
        let target = inner.target.clone()?;
        inner.wants_task = true;
        Some(target)
    }

    /// The call cannot go on as a task. Returns its outcome, when it has ended.
    pub(crate) fn stay(&self) -> Option<Ended> {
        let mut inner = self.inner();
        inner.wants_task = false;
        inner.outcome.take()
    }

    /// The call goes on as a task, or has ended as one. `None`: it does not want to.
    pub(crate) fn detach(&self, id: String, options: TaskOptions, notifier: Arc<dyn TaskNotifier>) -> Option<TaskView> {
        let mut inner = self.inner();
        if !std::mem::take(&mut inner.wants_task) {
            return None;
        }
        let keys = inner.open.iter().map(|open| open.asked.key.clone()).collect();
        let now = SystemTime::now();
        let message = inner.said.take();
        if let Some(Ended { outcome, .. }) = inner.outcome.take() {
            // It has ended in between.
            inner.keep_result(&id, &*notifier, outcome);
        }
        inner.task =
            Some(Detached { id, options, created: now, updated: now, message, is_cancelled: false, notifier, keys });
        let view = inner.view();
        if inner.has_ended {
            told(inner);
        }
        view
    }

    /// Sets the status message, for people.
    pub(crate) fn set_task_message(&self, message: &str) {
        let mut inner = self.inner();
        let Inner { has_ended, wants_task, said, task, .. } = &mut *inner;
        match task {
            Some(task) if !*has_ended && !task.is_cancelled && task.message.as_deref() != Some(message) => {
                task.message = Some(cut(message));
                task.updated = SystemTime::now();
                told(inner);
            }
            None if *wants_task => *said = Some(cut(message)),
            Some(_) | None => {}
        }
    }

    /// The status of the task; `None`: it is not a task.
    pub(crate) fn view(&self) -> Option<TaskView> {
        self.inner().view()
    }

    /// Answers to what the task has asked. The others stay open; what was not asked means nothing.
    pub(crate) fn answer(&self, mut answers: BTreeMap<String, RawJson>) {
        let mut inner = self.inner();
        for open in std::mem::take(&mut inner.open) {
            match answers.remove(&open.asked.key) {
                Some(answer) => drop(open.answer.send(Ok(answer))),
                None => inner.open.push(open),
            }
        }
        if let Some(task) = &mut inner.task {
            task.updated = SystemTime::now();
        }
        told(inner);
    }

    /// Ends the task unless it has ended. Whether the call is to be told.
    pub(crate) fn cancel(&self) -> bool {
        let mut inner = self.inner();
        let is_running = !inner.has_ended;
        if let Some(task) = inner.task.as_mut().filter(|task| is_running && !task.is_cancelled) {
            task.is_cancelled = true;
            task.message = Some("the task was cancelled by the host".to_owned());
            task.updated = SystemTime::now();
            told(inner);
            return true;
        }
        false
    }
}

impl Inner {
    /// Keeps what the task has come to, if there is room.
    pub(super) fn keep_result(&mut self, id: &str, notifier: &dyn TaskNotifier, outcome: Outcome) {
        let bytes = outcome.as_ref().map_or(0, ended::weight);
        let is_kept = notifier.ended(id, bytes);
        let outcome = outcome.map(|answer| if is_kept { answer } else { ended::in_place_of(&answer, bytes) });
        // Results of tasks have a bound of their own.
        self.outcome = Some(Ended { outcome, room: None });
    }

    fn view(&self) -> Option<TaskView> {
        let task = self.task.as_ref()?;
        let asked = || self.open.iter().map(|open| open.asked.clone()).collect();
        let detail = match self.outcome.as_ref().map(|ended| &ended.outcome) {
            _ if task.is_cancelled => TaskDetail::Cancelled,
            Some(None) => TaskDetail::Cancelled,
            Some(Some(Ok(ServerResult::InputRequired(_)))) => {
                TaskDetail::Failed(ErrorObject::internal("a task cannot be answered with questions"))
            }
            Some(Some(Ok(result))) => TaskDetail::Completed(result.clone()),
            Some(Some(Err(error))) => TaskDetail::Failed(error.clone()),
            None if self.open.is_empty() => TaskDetail::Working,
            None => TaskDetail::Asking(InputRequests::of(asked())),
        };
        let Detached { id, options, created, updated, message, .. } = task;
        // MCP 2026-07-28, extension tasks: one that has failed says why.
        let message = match &detail {
            TaskDetail::Failed(error) => Some(error.message.to_string()),
            TaskDetail::Working | TaskDetail::Asking(_) | TaskDetail::Completed(_) | TaskDetail::Cancelled => {
                message.clone()
            }
        };
        Some(TaskView { id: id.clone(), options: *options, created: *created, updated: *updated, message, detail })
    }
}

/// Lets go of the lock, and says that the task has changed, if it is one.
pub(super) fn told(inner: MutexGuard<'_, Inner>) {
    let Some((id, notifier)) = inner.task.as_ref().map(|task| (task.id.clone(), task.notifier.clone())) else { return };
    drop(inner);
    notifier.changed(&id);
}
