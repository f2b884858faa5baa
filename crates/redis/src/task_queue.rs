//! The writes of tasks that wait or are under way, each task's one after the other.
//!
//! A write is the whole record, or its removal, so of the writes of a task that wait only the latest one is sent.
//!
//! ```text
//!  entered ─▶ waits, in place of an earlier one ─▶ under way ─▶ done
//!                                    ▲                 │ no answer
//!                                    └─────────────────┘ unless a later one waits, or someone awaits the outcome
//! ```

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use protomcp_server::{StoreError, TaskRecord};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The most tasks: the ones that are kept, and the ones whose removal is not over.
pub(crate) const MAX_TASKS: usize = 16_384;

/// The outcome of a write.
pub(crate) type Written = Result<(), StoreError>;

/// A write of a task.
#[derive(Debug, Clone)]
pub(crate) enum TaskWrite {
    Put(Box<TaskRecord>),
    Remove,
}

/// The writes of all tasks of this process.
#[derive(Debug, Default)]
pub(crate) struct TaskQueue {
    tasks: HashMap<Arc<str>, Entry>,
    /// Tasks with a write that waits while none is under way.
    ready: VecDeque<Arc<str>>,
    /// The number of the last write that was entered, of any task: a task that was removed may be inserted again.
    last: u64,
}

/// A task that this process has inserted.
#[derive(Debug)]
struct Entry {
    /// The end of its time.
    until: Instant,
    waits: Option<TaskWrite>,
    /// The one that awaits its insertion.
    inserted: Option<oneshot::Sender<Written>>,
    under_way: Option<Sending>,
    /// The write that waits has been sent before, and waits for its time.
    has_failed: bool,
    /// The number of the last write that was entered.
    entered: u64,
    /// The number of the last write that is over.
    over: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sending {
    Put,
    Remove,
}

/// A write that is to be sent.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) id: Arc<str>,
    pub(crate) write: TaskWrite,
    pub(crate) until: Instant,
    /// Writes that are entered later have higher numbers.
    pub(crate) number: u64,
    /// It was sent before, without an answer.
    pub(crate) is_late: bool,
    inserted: Option<oneshot::Sender<Written>>,
}

impl Started {
    /// True if the write waits again after a failure.
    pub(crate) fn is_repeated(&self) -> bool {
        self.inserted.is_none()
    }
}

impl TaskQueue {
    /// Enters a new task; `None`: there are too many.
    pub(crate) fn insert(&mut self, task: TaskRecord, until: Instant) -> Option<oneshot::Receiver<Written>> {
        let id: Arc<str> = task.id().into();
        if self.tasks.len() >= MAX_TASKS && !self.tasks.contains_key(&id) {
            return None;
        }
        let (inserted, outcome) = oneshot::channel();
        let new = Entry { until, waits: None, inserted: None, under_way: None, has_failed: false, entered: 0, over: 0 };
        let entry = self.tasks.entry(Arc::clone(&id)).or_insert(new);
        (entry.until, entry.inserted) = (until, Some(inserted));
        self.enter(&id, TaskWrite::Put(Box::new(task)));
        // A client waits for it, and for no other write.
        if let Some(place) = self.ready.iter().rposition(|ready| *ready == id) {
            self.ready.remove(place);
            self.ready.push_front(id);
        }
        Some(outcome)
    }

    /// Enters the record of a task that was inserted.
    pub(crate) fn update(&mut self, task: TaskRecord) {
        let id: Arc<str> = task.id().into();
        if !self.is_removed(&id) {
            self.enter(&id, TaskWrite::Put(Box::new(task)));
        }
    }

    /// Enters the removal of a task that was inserted. Nothing awaits its insertion from now on.
    pub(crate) fn remove(&mut self, id: &str) {
        if let Some(entry) = self.tasks.get_mut(id) {
            entry.inserted = None;
            self.enter(&id.into(), TaskWrite::Remove);
        }
    }

    fn enter(&mut self, id: &Arc<str>, write: TaskWrite) {
        let Some(entry) = self.tasks.get_mut(id) else { return };
        self.last += 1;
        entry.entered = self.last;
        let is_ready = entry.waits.replace(write).is_some() && !entry.has_failed;
        entry.has_failed = false;
        if !is_ready && entry.under_way.is_none() {
            self.ready.push_back(Arc::clone(id));
        }
    }

    /// The next write that is to be sent.
    pub(crate) fn start(&mut self) -> Option<Started> {
        loop {
            let id = self.ready.pop_front()?;
            let Some(entry) = self.tasks.get_mut(&id) else { continue };
            if entry.under_way.is_some() {
                continue;
            }
            let Some(write) = entry.waits.take() else { continue };
            let sending = if matches!(write, TaskWrite::Remove) { Sending::Remove } else { Sending::Put };
            entry.under_way = Some(sending);
            let (until, number, inserted) = (entry.until, entry.entered, entry.inserted.take());
            return Some(Started {
                until,
                number,
                is_late: std::mem::take(&mut entry.has_failed),
                inserted,
                id,
                write,
            });
        }
    }

    /// A write has this outcome. One that failed and is to be repeated waits for [`TaskQueue::repeat`].
    pub(crate) fn finish(&mut self, started: Started, written: Written) {
        let is_repeated = started.is_repeated();
        let Started { id, write, inserted, number, .. } = started;
        if let Some(inserted) = inserted {
            // The one who waited may have gone.
            let _gone = inserted.send(written);
        }
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        (entry.under_way, entry.over) = (None, number);
        if written.is_err() && is_repeated && entry.waits.is_none() {
            (entry.waits, entry.has_failed) = (Some(write), true);
            return;
        } else if entry.waits.is_none() && matches!(write, TaskWrite::Remove) {
            self.tasks.remove(&id);
            return;
        }
        if entry.waits.is_some() {
            self.ready.push_back(id);
        }
    }

    /// The write of a task that has failed may be sent again now.
    pub(crate) fn repeat(&mut self, id: &Arc<str>) {
        if self.tasks.get(id).is_some_and(|entry| entry.has_failed && entry.under_way.is_none()) {
            self.ready.push_back(Arc::clone(id));
        }
    }

    /// True if a task of this process is to be removed.
    pub(crate) fn is_removed(&self, id: &str) -> bool {
        self.tasks.get(id).is_some_and(|entry| match &entry.waits {
            Some(write) => matches!(write, TaskWrite::Remove),
            None => entry.under_way == Some(Sending::Remove),
        })
    }

    /// The number of the last write of a task.
    pub(crate) fn last(&self, id: &str) -> u64 {
        self.tasks.get(id).map_or(0, |entry| entry.entered)
    }

    /// True if the write of a task with this number, or a later one, is over or has failed.
    pub(crate) fn is_over(&self, id: &str, number: u64) -> bool {
        self.tasks.get(id).is_none_or(|entry| entry.over >= number)
    }

    /// The tasks with writes that wait or are under way.
    pub(crate) fn unwritten(&self) -> usize {
        let is_unwritten = |entry: &&Entry| entry.waits.is_some() || entry.under_way.is_some();
        self.tasks.values().filter(is_unwritten).count()
    }

    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use protomcp_server::{NodeId, Owner, TaskEra, TaskKey, TaskOptions, TaskState};

    use super::*;

    const AWAY: Written = Err(StoreError::Unavailable);

    fn task(id: &str, message: &str) -> TaskRecord {
        let mut state = TaskState::new(TaskEra::Stateless, id, TaskOptions::default(), SystemTime::now());
        state.set_message(message, SystemTime::now());
        let (key, node) = (TaskKey::Principal(None), NodeId::new("a"));
        TaskRecord { key, owner: Owner::Local, node, state, questions: None, size: 0 }
    }

    /// The write as text.
    fn text(started: &Started) -> String {
        match &started.write {
            TaskWrite::Put(task) => format!("{} {}", started.id, task.state.message().unwrap_or_default()),
            TaskWrite::Remove => format!("{} removed", started.id),
        }
    }

    #[test]
    fn the_latest_write_of_a_task_is_sent_after_the_one_under_way() {
        let (mut queue, until) = (TaskQueue::default(), Instant::now());
        let mut inserted = queue.insert(task("1", "a"), until).unwrap();
        let first = queue.start().unwrap();
        for message in ["b", "c"] {
            queue.update(task("1", message));
        }
        assert!(!queue.has_ready() && queue.start().is_none(), "one of a task is under way at a time");
        assert_eq!(text(&first), "1 a");
        queue.finish(first, Ok(()));
        assert_eq!(inserted.try_recv(), Ok(Ok(())));
        let second = queue.start().unwrap();
        assert_eq!(text(&second), "1 c");
        let last = queue.last("1");
        assert!(!queue.is_over("1", last) && queue.is_over("1", 1) && queue.unwritten() == 1);
        queue.finish(second, Ok(()));
        assert!(queue.is_over("1", last) && queue.unwritten() == 0 && queue.start().is_none());
    }

    #[test]
    fn a_task_that_was_not_inserted_is_not_written() {
        let mut queue = TaskQueue::default();
        queue.update(task("1", "a"));
        queue.remove("1");
        assert!(queue.start().is_none() && queue.is_over("1", 1));
    }

    #[test]
    fn a_change_that_fails_waits_unless_a_later_one_does() {
        let mut queue = TaskQueue::default();
        let mut inserted = queue.insert(task("1", "a"), Instant::now()).unwrap();
        let first = queue.start().unwrap();
        assert!(!first.is_repeated());
        queue.finish(first, AWAY);
        assert_eq!(inserted.try_recv(), Ok(AWAY));
        assert!(queue.start().is_none(), "the one that awaits it decides");

        queue.update(task("1", "b"));
        let change = queue.start().unwrap();
        assert!(change.is_repeated());
        queue.finish(change, AWAY);
        assert!(queue.is_over("1", queue.last("1")), "nothing waits for the store to come back");
        assert!(queue.start().is_none() && queue.unwritten() == 1, "it waits for its time");
        queue.repeat(&"1".into());
        let again = queue.start().unwrap();
        assert!(again.is_late && text(&again) == "1 b", "{again:?}");
        queue.update(task("1", "c"));
        queue.finish(again, AWAY);
        let last = queue.start().unwrap();
        assert!(!last.is_late && text(&last) == "1 c", "{last:?}");
        queue.finish(last, AWAY);
        queue.update(task("1", "d"));
        queue.repeat(&"1".into());
        assert_eq!(text(&queue.start().unwrap()), "1 d", "a later change does not wait for the time of an earlier one");
        assert!(queue.start().is_none());
    }

    #[test]
    fn a_task_is_removed_after_its_writes_and_forgotten_then() {
        let mut queue = TaskQueue::default();
        let mut inserted = queue.insert(task("1", "a"), Instant::now()).unwrap();
        queue.remove("1");
        assert!(inserted.try_recv().is_err(), "nothing awaits it");
        queue.update(task("1", "late"));
        let removal = queue.start().unwrap();
        assert_eq!(text(&removal), "1 removed");
        assert!(queue.is_removed("1"));
        queue.finish(removal, AWAY);
        queue.repeat(&"1".into());
        let removal = queue.start().unwrap();
        queue.update(task("1", "late"));
        assert!(queue.is_removed("1"), "it is not brought back");

        // The same id once more, while its removal is under way.
        queue.insert(task("1", "b"), Instant::now()).unwrap();
        queue.finish(removal, Ok(()));
        assert!(!queue.is_removed("1"));
        let second = queue.start().unwrap();
        assert_eq!(text(&second), "1 b");
        queue.finish(second, Ok(()));
        queue.remove("1");
        let removal = queue.start().unwrap();
        queue.finish(removal, Ok(()));
        assert!(queue.tasks.is_empty() && queue.is_over("1", 9));
    }

    #[test]
    fn tasks_are_bounded() {
        let mut queue = TaskQueue::default();
        for number in 0..MAX_TASKS {
            queue.insert(task(&number.to_string(), ""), Instant::now()).unwrap();
        }
        assert!(queue.insert(task("more", ""), Instant::now()).is_none());
        queue.remove("0");
        while let Some(started) = queue.start() {
            queue.finish(started, Ok(()));
        }
        assert!(queue.insert(task("more", ""), Instant::now()).is_some());
    }
}
