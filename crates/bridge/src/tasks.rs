//! Tasks of hosts: calls that were answered with a task and go on (MCP 2025-11-25, basic/utilities/tasks).
//!
//! A task belongs to the session that began it and to the process that runs it: it ends, as failed, with the process,
//! and is forgotten with the session. While it runs it counts as a call in flight, so a graceful reload waits for it.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use protomcp_mcp::{SessionId, Sessions};
use protomcp_types::{CallTool, CallToolResult, ErrorObject, ProgressToken, RawJson, Task, TaskStatus};
use tokio::sync::SetOnce;
use tokio_util::sync::CancellationToken;

use crate::backend::convert;
use crate::callers::Caller;
use crate::calls::{Calls, Report};
use crate::convert::content;
use crate::failure::Failure;
use crate::tool::Tool;

/// Tasks that one session may have, ended ones included until they expire. One more is refused.
const TASKS_OF_A_SESSION: usize = 256;
/// Bytes that the results of one session's tasks may have together. Older ones are forgotten to make room.
const RESULTS_OF_A_SESSION: usize = 256 << 20;
/// For how long a task is kept unless the host wishes otherwise.
const KEPT: Duration = Duration::from_secs(60 * 60);
/// And at the most.
const KEPT_AT_MOST: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a host should wait before it asks again, in milliseconds.
const ASK_AGAIN: u64 = 500;

/// The tasks of all sessions.
#[derive(Debug)]
pub(crate) struct Tasks {
    sessions: Sessions,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    entries: HashMap<String, Entry>,
    /// Orders tasks by their beginning.
    last: u64,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    session: SessionId,
    task: Task,
    outcome: Outcome,
    /// Bytes of its result.
    size: usize,
    /// Cancelled when nobody wants the result any more.
    stop: CancellationToken,
    /// Cancelled when the task is forgotten.
    gone: CancellationToken,
}

/// What the call came to, once it is known.
pub(crate) type Outcome = Arc<SetOnce<CallToolResult>>;

/// A task that has just begun, in the hands of whoever runs it.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) task: Task,
    kept: Duration,
    stop: CancellationToken,
    gone: CancellationToken,
}

impl Tasks {
    pub(crate) fn new(sessions: Sessions) -> Self {
        Self { sessions, table: Mutex::default() }
    }

    /// A new task. `wish`: for how many milliseconds the host would like it to be kept.
    ///
    /// # Errors
    /// When the session has too many.
    pub(crate) fn begin(&self, session: SessionId, wish: Option<u64>) -> Result<Begun, ErrorObject> {
        let mut table = self.lock();
        if table.entries.values().filter(|entry| entry.session == session).count() >= TASKS_OF_A_SESSION {
            let text = format!("this session has {TASKS_OF_A_SESSION} tasks already; one has to expire first");
            return Err(ErrorObject::internal(text));
        }
        let kept = wish.map_or(KEPT, Duration::from_millis).min(KEPT_AT_MOST);
        let ttl = u64::try_from(kept.as_millis()).expect("a day has few milliseconds");
        let mut task = Task::begin(random_id(), Some(ttl), SystemTime::now());
        task.poll_interval = Some(ASK_AGAIN);
        table.last += 1;
        let gone = CancellationToken::new();
        let stop = gone.child_token();
        let entry = Entry {
            number: table.last,
            session,
            task: task.clone(),
            outcome: Outcome::default(),
            size: 0,
            stop: stop.clone(),
            gone: gone.clone(),
        };
        table.entries.insert(task.task_id.clone(), entry);
        Ok(Begun { task, kept, stop, gone })
    }

    /// A task of this session.
    ///
    /// # Errors
    /// −32602 when there is none of this id, or it belongs to somebody else.
    pub(crate) fn find(&self, session: SessionId, id: &str) -> Result<(Task, Outcome), ErrorObject> {
        let table = self.lock();
        let entry = table.entries.get(id).filter(|entry| entry.session == session);
        entry.map(|entry| (entry.task.clone(), Arc::clone(&entry.outcome))).ok_or_else(|| unknown(id))
    }

    /// The tasks of this session, oldest first.
    pub(crate) fn of(&self, session: SessionId) -> Vec<Task> {
        let table = self.lock();
        let mut entries: Vec<_> = table.entries.values().filter(|entry| entry.session == session).collect();
        entries.sort_unstable_by_key(|entry| entry.number);
        entries.into_iter().map(|entry| entry.task.clone()).collect()
    }

    /// What a running task says of itself.
    pub(crate) fn say(&self, id: &str, message: String) {
        let mut table = self.lock();
        let Some(entry) = table.entries.get_mut(id).filter(|entry| !entry.task.status.is_terminal()) else { return };
        if entry.task.status_message.as_ref() != Some(&message) {
            entry.task.update(TaskStatus::Working, Some(message), SystemTime::now());
            let (session, task) = (entry.session, entry.task.clone());
            drop(table);
            self.sessions.task_status(session, &task);
        }
    }

    /// A task has ended; what ended it first counts.
    pub(crate) fn end(&self, id: &str, status: TaskStatus, message: Option<String>, result: CallToolResult) {
        let mut table = self.lock();
        let Some(entry) = table.entries.get_mut(id).filter(|entry| !entry.task.status.is_terminal()) else { return };
        entry.task.update(status, message, SystemTime::now());
        entry.size = size(&result);
        // It is set here only, and only once.
        let _first = entry.outcome.set(result);
        let (session, task) = (entry.session, entry.task.clone());
        table.make_room(session, RESULTS_OF_A_SESSION);
        drop(table);
        self.sessions.task_status(session, &task);
    }

    /// The host does not want the result any more.
    ///
    /// # Errors
    /// −32602 when there is no such task, or it has ended.
    pub(crate) fn cancel(&self, session: SessionId, id: &str) -> Result<Task, ErrorObject> {
        let (task, _) = self.find(session, id)?;
        if task.status.is_terminal() {
            return Err(ErrorObject::invalid_params(format!("the task has ended already: {id}")));
        }
        let text = "the task was cancelled by the host";
        self.end(id, TaskStatus::Cancelled, Some(text.into()), CallToolResult::error(text));
        if let Some(entry) = self.lock().entries.get(id) {
            entry.stop.cancel();
        }
        self.find(session, id).map(|(task, _)| task)
    }

    /// Runs a call to its end, and keeps its result for the rest of its time.
    pub(crate) async fn run(
        self: Arc<Self>,
        calls: Arc<Calls>,
        tool: Arc<Tool>,
        call: CallTool,
        session: SessionId,
        token: Option<ProgressToken>,
        begun: Begun,
    ) {
        let Begun { task: Task { task_id, .. }, kept, stop, gone } = begun;
        let expiry = tokio::time::sleep(kept);
        tokio::pin!(expiry);
        let report = Arc::clone(&self).report_to(session, token, task_id.clone());
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = &mut expiry => return self.forget(&task_id),
            outcome = calls.call(&tool, call, Caller::Session(session), Some(report), Some(kept)) => {
                self.ended(&task_id, outcome);
            }
        }
        tokio::select! {
            () = gone.cancelled() => {}
            () = expiry => self.forget(&task_id),
        }
    }

    fn ended(&self, id: &str, outcome: Result<CallToolResult, Failure>) {
        match outcome {
            Ok(result) if !result.is_error => self.end(id, TaskStatus::Completed, None, result),
            // The task has failed when the result says so, too.
            Ok(result) => self.end(id, TaskStatus::Failed, content::only_text(&result.content), result),
            Err(failure) => self.end(id, TaskStatus::Failed, Some(failure.to_string()), failure.into_result()),
        }
    }

    /// Passes progress on to the host, as the state of the task and, if it gave a token, as progress. What does not grow
    /// is dropped.
    fn report_to(self: Arc<Self>, session: SessionId, token: Option<ProgressToken>, id: String) -> Report {
        let reached = Mutex::new(None);
        Arc::new(move |progress| {
            if !progress.message.is_empty() {
                self.say(&id, progress.message.clone());
            }
            let Some(token) = &token else { return };
            let mut reached = reached.lock().unwrap_or_else(PoisonError::into_inner);
            if reached.is_none_or(|reached| progress.progress > reached) {
                *reached = Some(progress.progress);
                self.sessions.task_progress(session, token, &convert(progress));
            }
        })
    }

    /// A task whose time is over. Whoever waits for its result hears that there is none.
    pub(crate) fn forget(&self, id: &str) {
        if let Some(entry) = self.lock().entries.remove(id) {
            let _first = entry.outcome.set(CallToolResult::error("the task has expired"));
            entry.gone.cancel();
        }
    }

    /// A session has ended: nobody asks for its tasks any more.
    pub(crate) fn close(&self, session: SessionId) {
        self.lock().entries.retain(|_, entry| {
            if entry.session == session {
                entry.gone.cancel();
            }
            entry.session != session
        });
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // Nothing in here can panic half-way through a change.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Forgets the oldest results of a session until the others have no more than so many bytes; the newest one stays.
    fn make_room(&mut self, session: SessionId, limit: usize) {
        let mut ended: Vec<_> =
            self.entries.iter().filter(|(_, entry)| entry.session == session && entry.size > 0).collect();
        ended.sort_unstable_by_key(|(_, entry)| std::cmp::Reverse(entry.number));
        let mut kept = 0;
        let mut too_many = Vec::new();
        for (index, (id, entry)) in ended.into_iter().enumerate() {
            kept += entry.size;
            if kept > limit && index > 0 {
                too_many.push(id.clone());
            }
        }
        for id in too_many {
            if let Some(entry) = self.entries.remove(&id) {
                entry.gone.cancel();
            }
        }
    }
}

fn size(result: &CallToolResult) -> usize {
    let CallToolResult { content, structured_content, meta, .. } = result;
    content.len() + structured_content.as_ref().map_or(0, RawJson::len) + meta.as_ref().map_or(0, RawJson::len)
}

fn unknown(id: &str) -> ErrorObject {
    ErrorObject::invalid_params(format!("unknown task: {id}"))
}

/// 128 bits that nobody guesses: each hasher has random keys.
fn random_id() -> String {
    let half = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", half(), half())
}

#[cfg(test)]
mod tests;
