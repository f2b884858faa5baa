//! One task with a session: what it says of itself, what it asks, and what it comes to.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use protomcp_types::{CallToolResult, ErrorObject, Notification, Params, Task, TaskStatus, meta};
use tokio::sync::SetOnce;
use tokio_util::sync::CancellationToken;

use crate::cancel::Cancel;
use crate::session_queue::SessionQueue;
use crate::task_text::{cut, first_text};
use protomcp_session::{RequestKey, TaskOptions};

#[derive(Debug)]
pub(crate) struct Running {
    id: String,
    /// Of the session that began it.
    queue: Arc<SessionQueue>,
    state: Mutex<State>,
    outcome: SetOnce<Result<CallToolResult, ErrorObject>>,
    /// Cancelled when the task is no longer kept.
    gone: CancellationToken,
}

#[derive(Debug)]
struct State {
    task: Task,
    /// Cancels the call; `None`: it has ended.
    call: Option<Arc<dyn Cancel>>,
    /// Questions that the host has not answered.
    questions: usize,
    /// Requests that wait for the end.
    waiting: Vec<RequestKey>,
}

impl Running {
    pub(super) fn new(id: &str, options: TaskOptions, queue: Arc<SessionQueue>) -> Self {
        let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let mut task = Task::begin(id, Some(millis(options.ttl)), SystemTime::now());
        task.poll_interval = Some(millis(options.poll_interval));
        Self {
            id: id.to_owned(),
            queue,
            state: Mutex::new(State { task, call: None, questions: 0, waiting: Vec::new() }),
            outcome: SetOnce::new(),
            gone: CancellationToken::new(),
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn is_run_by(&self, call: Arc<dyn Cancel>) {
        self.state().call = Some(call);
    }

    /// As it is now.
    pub(super) fn task(&self) -> Task {
        self.state().task.clone()
    }

    /// True if it goes on.
    pub(crate) fn goes_on(&self) -> bool {
        !self.state().task.status.is_terminal()
    }

    /// Sets the status message, for people.
    pub(crate) fn set_message(&self, message: &str) {
        let mut state = self.state();
        if state.task.status.is_terminal() || state.task.status_message.as_deref() == Some(message) {
            return;
        }
        let status = state.task.status;
        self.tell(&mut state, status, Some(cut(message)));
    }

    /// It asks its host something, until the guard is dropped. `None`: it has ended.
    pub(crate) fn asks(self: &Arc<Self>) -> Option<Asking> {
        let mut state = self.state();
        if state.task.status.is_terminal() {
            return None;
        }
        state.questions += 1;
        if state.questions == 1 {
            let message = state.task.status_message.clone();
            self.tell(&mut state, TaskStatus::InputRequired, message);
        }
        // MCP 2025-11-25, basic/utilities/tasks: a host that waits for the result hears the questions there.
        Some(Asking { during: state.waiting.first().cloned(), task: Arc::clone(self) })
    }

    /// Parameters of a message that belongs to it.
    pub(crate) fn mark(&self, params: Params) -> Params {
        meta::of_task(params, &self.id)
    }

    /// Tells its host something.
    pub(crate) fn notice(&self, notification: Notification) -> Notification {
        Notification { params: self.mark(notification.params), ..notification }
    }

    /// Ends it, unless it has ended. `keep` finds room for its outcome, or returns a short one in its place. Returns
    /// what cancels the call.
    pub(super) fn end<T>(
        &self,
        status: TaskStatus,
        message: Option<String>,
        outcome: Result<CallToolResult, ErrorObject>,
        keep: impl FnOnce() -> (Option<CallToolResult>, T),
    ) -> Option<(Arc<dyn Cancel>, T)> {
        let mut state = self.state();
        let call = state.call.take()?;
        let (short, kept) = keep();
        let (status, message, outcome) = match short {
            Some(short) => (TaskStatus::Failed, first_text(&short), Ok(short)),
            None => (status, message, outcome),
        };
        // It is set here only, and only once.
        let _first = self.outcome.set(outcome);
        self.tell(&mut state, status, message.map(|message| cut(&message)));
        Some((call, kept))
    }

    /// Waits for the end, on behalf of a request.
    pub(super) async fn outcome(&self, key: &RequestKey) -> Result<CallToolResult, ErrorObject> {
        if let Some(outcome) = self.outcome.get() {
            return outcome.clone();
        }
        self.state().waiting.push(key.clone());
        let _waits = Waits { task: self, key };
        self.outcome.wait().await.clone()
    }

    /// Waits for the end.
    pub(crate) async fn ended(&self) {
        self.outcome.wait().await;
    }

    pub(super) fn forget(&self) {
        self.gone.cancel();
    }

    pub(super) async fn forgotten(&self) {
        self.gone.cancelled().await;
    }

    /// Under the lock, so that the host hears of changes in their order.
    fn tell(&self, state: &mut State, status: TaskStatus, message: Option<String>) {
        state.task.update(status, message, SystemTime::now());
        self.queue.task_status(&state.task);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question of a task that is open.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(crate) task: Arc<Running>,
    /// The request together with which it is asked.
    pub(crate) during: Option<RequestKey>,
}

impl Drop for Asking {
    fn drop(&mut self) {
        let mut state = self.task.state();
        state.questions -= 1;
        if state.questions == 0 && !state.task.status.is_terminal() {
            let message = state.task.status_message.clone();
            self.task.tell(&mut state, TaskStatus::Working, message);
        }
    }
}

/// A request that waits for the end of a task.
struct Waits<'a> {
    task: &'a Running,
    key: &'a RequestKey,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.task.state().waiting.retain(|other| other != self.key);
    }
}
