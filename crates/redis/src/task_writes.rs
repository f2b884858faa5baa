//! Writes the tasks of this process to a store.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use protomcp_server::{FencingToken, StoreError, TaskRecord};
use protomcp_types::RawJson;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep, timeout_at};

use crate::connection::Connection;
use crate::keys::{KeyNames, SessionName};
use crate::script::{self, Call};
use crate::seal::Seal;
use crate::task_queue::{MAX_TASKS, Started, TaskQueue, TaskWrite, Written};

/// The most writes under way.
const WORKERS: usize = 64;

/// The pause before a write that has failed is sent again.
const RETRY: Duration = Duration::from_secs(1);

/// The time for which a removal is remembered, in milliseconds.
const REMEMBERED: u64 = 60_000;

/// The writes of the tasks of this process, and the records in the store.
#[derive(Debug)]
pub(crate) struct TaskWrites {
    connection: Arc<Connection>,
    names: KeyNames,
    seal: Arc<Seal>,
    state: Mutex<State>,
    /// A write is over.
    over: Notify,
}

#[derive(Debug, Default)]
struct State {
    queue: TaskQueue,
    workers: usize,
    /// Tasks that were written later than their notices were sent.
    late: HashSet<Arc<str>>,
}

impl TaskWrites {
    pub(crate) fn new(connection: Arc<Connection>, names: KeyNames, seal: Arc<Seal>) -> Arc<Self> {
        Arc::new(Self { connection, names, seal, state: Mutex::default(), over: Notify::new() })
    }

    /// The names of keys and channels.
    pub(crate) fn names(&self) -> &KeyNames {
        &self.names
    }

    /// Enters a new task; `None`: there are too many.
    pub(crate) fn insert(self: &Arc<Self>, task: TaskRecord) -> Option<oneshot::Receiver<Written>> {
        let until = Instant::now() + task.state.options().ttl;
        let mut state = self.state();
        let inserted = state.queue.insert(task, until);
        self.wake(&mut state);
        inserted
    }

    /// Enters the record of a task that was inserted.
    pub(crate) fn update(self: &Arc<Self>, task: TaskRecord) {
        let mut state = self.state();
        state.queue.update(task);
        self.wake(&mut state);
    }

    /// Enters the removal of a task that was inserted.
    pub(crate) fn remove(self: &Arc<Self>, id: &str) {
        let mut state = self.state();
        state.queue.remove(id);
        self.wake(&mut state);
    }

    /// Waits until the writes of a task are over or have failed, for as long as a request may take.
    pub(crate) async fn settled(&self, id: &str) {
        let number = self.state().queue.last(id);
        self.wait(|queue| queue.is_over(id, number)).await;
    }

    /// Waits until all writes are over, for as long as a request may take. Returns the number of tasks whose writes are
    /// not.
    pub(crate) async fn flushed(&self) -> usize {
        self.wait(|queue| queue.unwritten() == 0).await;
        self.state().queue.unwritten()
    }

    /// The next task that was written after a failure: notices of it were sent before.
    pub(crate) async fn late(&self) -> Arc<str> {
        loop {
            let over = self.over.notified();
            let late = {
                let mut state = self.state();
                let id = state.late.iter().next().cloned();
                id.and_then(|id| state.late.take(&id))
            };
            match late {
                Some(id) => return id,
                None => over.await,
            }
        }
    }

    async fn wait(&self, is_over: impl Fn(&TaskQueue) -> bool) {
        let deadline = self.connection.deadline();
        loop {
            let over = self.over.notified();
            let is_over = is_over(&self.state().queue);
            if is_over || timeout_at(deadline, over).await.is_err() {
                return;
            }
        }
    }

    /// The record of a task in the store, of any process. A task that this process has removed is not found.
    pub(crate) async fn find(&self, id: &str) -> Result<Option<TaskRecord>, StoreError> {
        if self.state().queue.is_removed(id) {
            return Ok(None);
        }
        let name = name_of(id);
        let key = self.names.task(&name);
        let mut command = redis::cmd("HGET");
        command.arg(&key).arg("d");
        let sealed: Option<Vec<u8>> = self.connection.query(Call::Command(command), self.connection.deadline()).await?;
        let text = sealed.and_then(|sealed| self.seal.open(&name, &key, &sealed));
        let record = text.and_then(|text| TaskRecord::from_json(&RawJson::parse(text).ok()?));
        Ok(record.filter(|record| record.id() == id))
    }

    fn wake(self: &Arc<Self>, state: &mut State) {
        if state.workers < WORKERS && state.queue.has_ready() {
            state.workers += 1;
            self.connection.runtime().spawn(work(Arc::clone(self)));
        }
    }

    /// The next write; `None`: there is none, and one worker less.
    fn start(&self) -> Option<Started> {
        let mut state = self.state();
        let started = state.queue.start();
        if started.is_none() {
            state.workers -= 1;
        }
        started
    }

    async fn send(&self, started: &Started) -> Written {
        let name = name_of(&started.id);
        let key = self.names.task(&name);
        match &started.write {
            TaskWrite::Put(record) => {
                let left = started.until.saturating_duration_since(Instant::now()).as_millis();
                if left == 0 {
                    return Ok(());
                }
                let text = record.to_json().into_raw();
                let sealed = self.seal.keys().seal(&name, &key, FencingToken::FIRST, text.as_bytes());
                let call = script::PUT.call(vec![key]).arg(started.number).arg(sealed);
                let call = call.arg(u64::try_from(left).unwrap_or(u64::MAX));
                self.connection.query::<i64>(call, self.connection.deadline()).await?;
            }
            TaskWrite::Remove => {
                let call = script::REMOVE.call(vec![key]).arg(started.number).arg(REMEMBERED);
                self.connection.query::<i64>(call, self.connection.deadline()).await?;
            }
        }
        Ok(())
    }

    fn finish(self: &Arc<Self>, started: Started, written: Written) {
        let (id, is_late) = (Arc::clone(&started.id), started.is_late && written.is_ok());
        let is_repeated = written.is_err() && started.is_repeated();
        {
            let mut state = self.state();
            state.queue.finish(started, written);
            if is_late && state.late.len() < MAX_TASKS {
                state.late.insert(Arc::clone(&id));
            }
        }
        if is_repeated {
            let stores = Arc::downgrade(self);
            self.connection.runtime().spawn(async move {
                sleep(RETRY).await;
                if let Some(writes) = stores.upgrade() {
                    let mut state = writes.state();
                    state.queue.repeat(&id);
                    writes.wake(&mut state);
                }
            });
        }
        self.over.notify_waiters();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task is sealed like a value of a session, whose id it cannot have.
fn name_of(id: &str) -> SessionName {
    SessionName::of(&format!("task {id}"))
}

/// Sends writes until none is left.
async fn work(writes: Arc<TaskWrites>) {
    while let Some(started) = writes.start() {
        let written = writes.send(&started).await;
        writes.finish(started, written);
    }
}
