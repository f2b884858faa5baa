//! One task of a session, shared between its call and the requests about it.
//!
//! [`TaskState`] decides. This file adds the lock, the notifications, and the requests that wait for the outcome.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use protomcp_types::{Notification, Params, Task, meta};
use tokio_util::sync::CancellationToken;

use crate::cancel::Cancel;
use crate::session_queue::SessionQueue;
use protomcp_session::{RequestKey, TaskEra, TaskOptions, TaskOutcome, TaskState};

#[derive(Debug)]
pub(crate) struct SessionTask {
    id: String,
    /// Of the session that began it.
    queue: Arc<SessionQueue>,
    inner: Mutex<Inner>,
    ended: CancellationToken,
    /// Cancelled when the task is no longer kept.
    gone: CancellationToken,
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
    pub(super) fn new(id: &str, options: TaskOptions, queue: Arc<SessionQueue>) -> Self {
        let state = TaskState::new(TaskEra::Session, id, options, SystemTime::now());
        Self {
            id: id.to_owned(),
            queue,
            inner: Mutex::new(Inner { state, call: None, questions: 0, waiting: Vec::new() }),
            ended: CancellationToken::new(),
            gone: CancellationToken::new(),
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn is_run_by(&self, call: Arc<dyn Cancel>) {
        self.inner().call = Some(call);
    }

    /// The task at this moment.
    pub(super) fn task(&self) -> Task {
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

    /// Marks the parameters of a message as those of the task.
    pub(crate) fn mark(&self, params: Params) -> Params {
        meta::of_task(params, &self.id)
    }

    /// Marks a notification as one of the task.
    pub(crate) fn notice(&self, notification: Notification) -> Notification {
        Notification { params: self.mark(notification.params), ..notification }
    }

    /// Ends the task, unless it has ended. Returns the handle that cancels its call.
    pub(super) fn end(&self, end: impl FnOnce(&mut TaskState, SystemTime) -> bool) -> Option<Arc<dyn Cancel>> {
        let mut inner = self.inner();
        if !self.change(&mut inner, end) {
            return None;
        }
        self.ended.cancel();
        inner.call.take()
    }

    /// Waits for the end, on behalf of a request.
    pub(super) async fn outcome(&self, key: &RequestKey) -> TaskOutcome {
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

    pub(super) fn forget(&self) {
        self.gone.cancel();
    }

    pub(super) async fn forgotten(&self) {
        self.gone.cancelled().await;
    }

    /// Sends the status after a change, under the lock, so that the client receives changes in their order. Returns
    /// true if there was one.
    fn change(&self, inner: &mut Inner, change: impl FnOnce(&mut TaskState, SystemTime) -> bool) -> bool {
        let changes = change(&mut inner.state, SystemTime::now());
        if changes {
            self.queue.task_status(&inner.state.to_task());
        }
        changes
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
