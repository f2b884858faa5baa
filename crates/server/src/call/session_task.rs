//! One task of a session, shared between its call and the requests about it.
//!
//! [`TaskState`] decides. This file adds the lock, the notifications, and the requests that wait for the outcome.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use protomcp_types::{Notification, Params, Task, meta};
use tokio_util::sync::CancellationToken;

use crate::call::ended;
use crate::call::session_queue::SessionQueue;
use crate::records::cancel::Cancel;
use crate::records::overload;
use crate::records::task_update::TaskUpdate;
use crate::records::task_writer::TaskWriter;
use protomcp_session::{RequestKey, TaskOutcome, TaskState};

#[derive(Debug)]
pub(crate) struct SessionTask {
    id: String,
    queue: Arc<SessionQueue>,
    writer: TaskWriter,
    inner: Mutex<Inner>,
    ended: CancellationToken,
}

#[derive(Debug)]
struct Inner {
    state: TaskState,
    /// Cancels the call; `None`: it has ended, or has not begun.
    call: Option<Arc<dyn Cancel>>,
    /// Requests to the client that have no answer.
    questions: usize,
    /// Requests that wait for the end.
    waiting: Vec<RequestKey>,
}

impl SessionTask {
    pub(crate) fn new(state: TaskState, writer: TaskWriter, queue: Arc<SessionQueue>) -> Self {
        Self {
            id: state.id().to_owned(),
            queue,
            writer,
            inner: Mutex::new(Inner { state, call: None, questions: 0, waiting: Vec::new() }),
            ended: CancellationToken::new(),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The queue of the session that began it.
    pub(crate) fn queue(&self) -> &Arc<SessionQueue> {
        &self.queue
    }

    pub(crate) fn is_run_by(&self, call: Arc<dyn Cancel>) {
        self.inner().call = Some(call);
    }

    /// The task at this moment.
    pub(crate) fn task(&self) -> Task {
        self.inner().state.to_task()
    }

    pub(crate) fn is_running(&self) -> bool {
        self.inner().state.is_running()
    }

    /// Sets the status message, for people.
    pub(crate) fn set_message(&self, message: &str) {
        self.change(&mut self.inner(), |state, now| state.set_message(message, now));
    }

    /// The task asks its client, until the guard is dropped. `None`: it has ended.
    pub(crate) fn ask(self: &Arc<Self>) -> Option<AskGuard> {
        let mut inner = self.inner();
        if !inner.state.is_running() {
            return None;
        }
        // MCP 2025-11-25, basic/utilities/tasks: a client that waits for the result receives the questions there.
        let during = inner.waiting.first().cloned();
        inner.questions += 1;
        let questions = inner.questions;
        self.change(&mut inner, |state, now| state.set_questions(questions, now));
        Some(AskGuard { during, task: Arc::clone(self) })
    }

    /// Marks the parameters of a message as parameters of the task.
    pub(crate) fn mark(&self, params: Params) -> Params {
        meta::of_task(params, &self.id)
    }

    /// Marks a notification as one of the task.
    pub(crate) fn notice(&self, notification: Notification) -> Notification {
        Notification { params: self.mark(notification.params), ..notification }
    }

    /// Ends the task with the outcome of its call, or with a short one if there is no room for it; `None`: it has ended.
    pub(crate) fn end(&self, outcome: &TaskOutcome) -> Option<EndedTask> {
        let bytes = ended::weight(outcome);
        let result = |state: &mut TaskState, now| state.end(outcome.clone(), now);
        let short = |state: &mut TaskState, now| state.end(Ok(overload::result(bytes).into()), now);
        self.end_as(bytes, result, short)
    }

    /// Cancels the task; `text` is the result of its call. `None`: it has ended.
    pub(crate) fn cancel(&self, text: &str) -> Option<EndedTask> {
        let cancel = |state: &mut TaskState, now| state.cancel(Some(text), text, now);
        self.end_as(0, cancel, cancel)
    }

    /// The task is no longer kept. Requests that wait for its result get an error result.
    pub(crate) fn evict(&self) {
        let cancel = |state: &mut TaskState, now| state.cancel(None, "the task is gone", now);
        if let Some(EndedTask { call: Some(call), .. }) = self.end_as(0, cancel, cancel) {
            call.cancel();
        }
    }

    /// Ends the task, with a result of this many bytes or else with `short`.
    fn end_as(
        &self,
        bytes: usize,
        end: impl FnOnce(&mut TaskState, SystemTime) -> bool,
        short: impl FnOnce(&mut TaskState, SystemTime) -> bool,
    ) -> Option<EndedTask> {
        let (mut inner, now) = (self.inner(), SystemTime::now());
        let mut ended = inner.state.clone();
        if !end(&mut ended, now) {
            return None;
        }
        let evicted = match self.writer.end(&ended, bytes) {
            TaskUpdate::Kept { evicted } => evicted,
            TaskUpdate::NoRoom { evicted } => {
                ended = inner.state.clone();
                short(&mut ended, now);
                self.writer.write(&ended, None);
                evicted
            }
        };
        inner.state = ended;
        self.queue.task_status(&inner.state.to_task());
        self.ended.cancel();
        Some(EndedTask { call: inner.call.take(), evicted })
    }

    /// Waits for the end, on behalf of a request.
    pub(crate) async fn outcome(&self, key: &RequestKey) -> TaskOutcome {
        loop {
            let _waits = {
                let mut inner = self.inner();
                if let Some(outcome) = inner.state.outcome() {
                    return outcome.clone();
                }
                inner.waiting.push(key.clone());
                Waits { task: self, key }
            };
            self.ended.cancelled().await;
        }
    }

    /// Waits for the end.
    pub(crate) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Writes and sends the status after a change, under the lock, so that the store and the client receive changes in
    /// their order.
    fn change(&self, inner: &mut Inner, change: impl FnOnce(&mut TaskState, SystemTime) -> bool) {
        if change(&mut inner.state, SystemTime::now()) {
            self.writer.write(&inner.state, None);
            self.queue.task_status(&inner.state.to_task());
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task that has just ended.
#[derive(Debug)]
pub(crate) struct EndedTask {
    /// Cancels its call; `None`: it has not begun.
    pub(crate) call: Option<Arc<dyn Cancel>>,
    /// Other tasks, which the store has forgotten to make room for the result.
    pub(crate) evicted: Vec<String>,
}

/// An open question of a task.
#[derive(Debug)]
pub(crate) struct AskGuard {
    pub(crate) task: Arc<SessionTask>,
    /// The request together with which it is asked.
    pub(crate) during: Option<RequestKey>,
}

impl Drop for AskGuard {
    fn drop(&mut self) {
        let mut inner = self.task.inner();
        inner.questions -= 1;
        let questions = inner.questions;
        self.task.change(&mut inner, |state, now| state.set_questions(questions, now));
    }
}

/// A request that waits for the end of a task.
struct Waits<'a> {
    task: &'a SessionTask,
    key: &'a RequestKey,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.task.inner().waiting.retain(|other| other != self.key);
    }
}
